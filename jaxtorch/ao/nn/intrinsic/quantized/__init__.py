"""`torch.ao.nn.intrinsic.quantized`: fused layers on integers."""

from . import modules as modules
from .modules import (
    BNReLU2d,
    BNReLU3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    LinearReLU,
)

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]  # fmt: skip
