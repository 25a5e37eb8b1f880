"""`torch.ao.nn.intrinsic`: layers that follow one another, held as one module."""

from ...._absent import absent as _absent
from . import modules as modules
from . import qat as qat
from . import quantized as quantized
from .modules import (
    BNReLU2d,
    BNReLU3d,
    ConvBn1d,
    ConvBn2d,
    ConvBn3d,
    ConvBnReLU1d,
    ConvBnReLU2d,
    ConvBnReLU3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    LinearBn1d,
    LinearReLU,
)
from .modules.fused import _FusedModule as _FusedModule

__all__ = ["BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d",
           "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearReLU"]  # fmt: skip

globals().update(
    _absent(
        f"{__name__}.modules.fused",
        "ConvAdd2d ConvAddReLU2d LinearLeakyReLU LinearTanh",
        "jaxtorch quantises what fuse_modules puts together",
    )
)
