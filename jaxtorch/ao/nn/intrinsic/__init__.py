"""`torch.ao.nn.intrinsic`: layers that follow one another, held as one module."""

# ruff: noqa: F403 - the names of these modules are the package's
from ...._private_names.absent import absent as _absent
from . import modules as modules
from . import qat as qat
from . import quantized as quantized
from .modules import *
from .modules.fused import _FusedModule as _FusedModule

__all__ = []
__all__ += modules.__all__

globals().update(
    _absent(
        f"{__name__}.modules.fused",
        "ConvAdd2d ConvAddReLU2d LinearLeakyReLU LinearTanh",
        "jaxtorch quantises what fuse_modules puts together",
    )
)
