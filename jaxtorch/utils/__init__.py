"""`torch.utils`: data loading and helpers around training."""

from __future__ import annotations

import importlib as _importlib
import importlib.util as _importlib_util
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .._tensor.swapping import swap_tensors as swap_tensors

if _TYPE_CHECKING:
    from . import data

__all__ = ["data", "set_module", "swap_tensors"]

_PRIVATE = ("_contextlib", "_python_dispatch", "_pytree")


def __getattr__(name: str) -> _Any:
    public = not name.startswith("_") or name in _PRIVATE
    if public and _importlib_util.find_spec(f"{__name__}.{name}") is not None:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}': jaxtorch has no torch.utils.{name} yet")


def set_module(obj: _Any, mod: str) -> None:
    """Set an object's `__module__`. TypeError unless it is a text."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
