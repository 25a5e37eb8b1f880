"""`torch.nn.parallel.scatter_gather`: batches cut into parts for devices, and joined again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core.types.warn_once import deprecated
from .data_parallel import gather, scatter

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


@deprecated("`is_namedtuple` is deprecated, please use the python checks instead")
def is_namedtuple(obj: Any) -> bool:
    """Is it an instance of a class made by `namedtuple`?"""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """`scatter` of positional and of named arguments; the shorter of the two is filled up with empty ones."""
    first = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    longest = max(len(first), len(named))
    first += [()] * (longest - len(first))
    named += [{}] * (longest - len(named))
    return tuple(first), tuple(named)
