"""`torch.nn.parallel.replicate`: a module on several devices."""

from .data_parallel import replicate

__all__ = ["replicate"]
