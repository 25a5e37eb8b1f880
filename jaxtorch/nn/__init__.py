"""`torch.nn`: layers, losses, parameters, and the functions behind them."""

from __future__ import annotations

from . import functional, init, modules, parameter, utils
from ._linear_cross_entropy import LinearCrossEntropyOptions
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "LinearCrossEntropyOptions", "Parameter", "UninitializedBuffer", "UninitializedParameter"]
__all__ += ["functional", "init", "modules", "parameter", "utils"]
__all__ += modules.__all__
