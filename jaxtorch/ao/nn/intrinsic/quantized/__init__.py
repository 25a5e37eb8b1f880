"""`torch.ao.nn.intrinsic.quantized`: fused layers on integers."""

# ruff: noqa: F403 - the names of these modules are the package's
from . import modules as modules
from .modules import *

__all__ = []
__all__ += modules.__all__
