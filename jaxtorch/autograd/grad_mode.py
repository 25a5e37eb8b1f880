"""`torch.autograd.grad_mode`."""

from .._core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import set_multithreading_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]
