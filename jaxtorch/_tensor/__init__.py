"""What a tensor is besides mathematics: its properties, its part in autograd, and its ways to Python, NumPy and JAX."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from . import autograd, conversion, interop, layouts, properties, rare, sharing, storage
from . import storage_files as storage_files


def install() -> None:
    """Put the methods and properties of these modules on `Tensor`, each under its own name."""
    for module in (properties, autograd, conversion, interop, layouts, rare, sharing, storage):
        for name, item in module.MEMBERS.items():
            setattr(Tensor, name, item)


def _rebuild_from_type_v2(func: Callable[..., Any], new_type: type, args: Any, state: Any) -> Any:
    """A tensor of a subclass, from what was pickled of it."""
    return importlib.import_module(".._loaded", __name__)._rebuild_from_type_v2(func, new_type, args, state)
