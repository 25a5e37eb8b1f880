"""What a tensor is besides mathematics: its properties, its part in autograd, and its ways to Python, NumPy and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from . import autograd, conversion, interop, layouts, properties, rare, sharing, storage
from . import legacy_storage as legacy_storage
from . import storage_files as storage_files
from .storage_types import TypedStorage


def install() -> None:
    """Put the methods and properties of these modules on `Tensor`, each under its own name."""
    for module in (properties, autograd, conversion, interop, layouts, rare, sharing, storage):
        for name, item in module.MEMBERS.items():
            setattr(Tensor, name, item)


def _rebuild_from_type_v2(func: Callable[..., Any], new_type: type, args: Any, state: Any) -> Any:
    """A tensor of a subclass, from what was pickled of it."""
    from .._serialization import rebuilding  # heavy, and few programs read files

    return rebuilding._rebuild_from_type_v2(func, new_type, args, state)


def _reduced(self: TypedStorage) -> Any:
    """How a typed storage is pickled: by `torch.save`, which knows storages and so stands above them."""
    from ..storage import reduced  # heavy, and few programs pickle a storage

    return reduced(self)


TypedStorage.__reduce__ = _reduced
