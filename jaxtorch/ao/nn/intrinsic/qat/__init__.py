"""`torch.ao.nn.intrinsic.qat`: fused layers whose weight is rounded as quantising would, in training."""

from . import modules as modules
from .modules import (
    ConvBn1d,
    ConvBn2d,
    ConvBn3d,
    ConvBnReLU1d,
    ConvBnReLU2d,
    ConvBnReLU3d,
    ConvReLU2d,
    ConvReLU3d,
    LinearBn1d,
    LinearReLU,
    freeze_bn_stats,
    update_bn_stats,
)

__all__ = ["ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU2d", "ConvReLU3d",
           "LinearBn1d", "LinearReLU", "freeze_bn_stats", "update_bn_stats"]  # fmt: skip
