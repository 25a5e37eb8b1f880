"""`torch.autograd.variable`: the old name of tensors."""

from .._core.tensor import Tensor as Variable

__all__ = ["Variable"]
