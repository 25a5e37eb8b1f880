"""`torch.ao.nn.intrinsic.qat.modules`: fused layers whose weight is rounded in training."""

# ruff: noqa: F403, F405 - the names of these modules are the package's
from .conv_fused import *
from .linear_fused import LinearBn1d
from .linear_relu import LinearReLU

__all__ = ["LinearBn1d", "LinearReLU"]
__all__ += conv_fused.__all__
