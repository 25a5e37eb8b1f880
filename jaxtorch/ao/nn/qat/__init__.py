"""`torch.ao.nn.qat`: layers whose weight is rounded as quantising would, in training."""

# ruff: noqa: F403 - the names of these modules are the package's
from . import modules as modules
from .modules import *

__all__ = []
__all__ += modules.__all__
