"""`torch.nn`: layers, losses, parameters, and the functions behind them."""

from __future__ import annotations

from typing import Any

from . import functional, init, modules, parameter, utils
from ._grouped import factory_kwargs
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "factory_kwargs"]
__all__ += ["functional", "init", "modules", "parameter", "utils"]
__all__ += modules.__all__


def __getattr__(name: str) -> Any:
    """Import a submodule that nothing has asked for yet."""
    import importlib
    import importlib.util

    if name == "DataParallel":
        return importlib.import_module(f"{__name__}.parallel").DataParallel
    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.nn' has no attribute '{name}': jaxtorch has no torch.nn.{name} yet")
