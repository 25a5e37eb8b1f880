"""Strides and offsets of tensors: what they report, which places in memory that means, and those of elementwise results."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import strides
from .tensor import Tensor

Layout = tuple[tuple[int, ...], int]


def strides_of(t: Tensor) -> tuple[int, ...]:
    """The strides PyTorch reports, in elements."""
    return strides.contiguous(t._value.aval.shape) if t._layout is None else t._layout[0]


def offset_of(t: Tensor) -> int:
    return 0 if t._layout is None else t._layout[1]


def normal(size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Layout | None:
    """A layout in the form tensors keep: None where it is that of a fresh contiguous tensor."""
    stride = tuple(stride)
    return None if offset == 0 and stride == strides.contiguous(tuple(size)) else (stride, offset)


def memory_places(size: Any, stride: Any, offset: int) -> np.ndarray[Any, Any]:
    """The place in memory of each element."""
    places = np.asarray(offset)
    for n, s in zip(size, stride, strict=True):
        places = np.add.outer(places, np.arange(n) * s)
    return places


@functools.lru_cache(maxsize=4096)
def _elementwise(shapes: Any, layouts: Any) -> Layout | None:
    size = strides.broadcast_shapes(*shapes)
    return normal(size, strides.elementwise_strides(shapes, layouts), 0)


def elementwise_layout(result: Tensor, operands: Any) -> Layout | None:
    """The layout of an elementwise result: operands that are permuted or channels-last pass theirs on."""
    shapes = tuple([x._value.aval.shape if isinstance(x, Tensor) else () for x in operands])
    if strides.broadcast_shapes(*shapes) != result._value.aval.shape:
        return None
    return _elementwise(shapes, tuple([strides_of(x) if isinstance(x, Tensor) else () for x in operands]))
