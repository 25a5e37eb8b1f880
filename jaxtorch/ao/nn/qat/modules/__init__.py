"""`torch.ao.nn.qat.modules`: layers whose weight is rounded in training."""

from .conv import Conv1d, Conv2d, Conv3d
from .linear import Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]
