"""`torch.ao.nn.intrinsic.modules`: float layers held as one module."""

# ruff: noqa: F403 - the names of these modules are the package's
from . import fused as fused
from .fused import *

__all__ = []
__all__ += fused.__all__
