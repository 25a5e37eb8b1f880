"""`torch.overrides`: questions about objects that stand for tensors. jaxtorch does not dispatch on `__torch_function__`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._core.tensor import Tensor

__all__ = ["has_torch_function", "is_tensor_like"]


def is_tensor_like(inp: Any) -> bool:
    """Is it a tensor, or of a class that says how PyTorch's functions treat it?"""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Is there an object, other than a tensor, of a class that defines `__torch_function__`?"""
    return any(not isinstance(x, Tensor) and hasattr(type(x), "__torch_function__") for x in relevant_args)
