"""What a tensor is besides mathematics: its properties, its part in autograd, and its ways to Python, NumPy and JAX."""

from __future__ import annotations

from .._core.tensor import Tensor
from . import autograd, conversion, interop, layouts, properties, rare, sharing, storage


def install() -> None:
    """Put the methods and properties of these modules on `Tensor`, each under its own name."""
    for module in (properties, autograd, conversion, interop, layouts, rare, sharing, storage):
        for name, item in module.MEMBERS.items():
            setattr(Tensor, name, item)
