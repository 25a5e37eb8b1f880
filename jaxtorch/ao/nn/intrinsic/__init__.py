"""`torch.ao.nn.intrinsic`: layers that follow one another, held as one module."""

# ruff: noqa: F403 - the names of these modules are the package's
from . import modules as modules
from . import qat as qat
from . import quantized as quantized
from .modules import *
from .modules.fused import _FusedModule as _FusedModule

__all__ = []
__all__ += modules.__all__
