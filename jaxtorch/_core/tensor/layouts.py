"""Strides and offsets of tensors: what they report, which places in memory that means, and those of elementwise results."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..define.op import common_type
from ..tuning import CACHED
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


def suggests(t: Tensor) -> str | None:
    """The channels-last format, if any, that a tensor of 4 or 5 dimensions asks results to have, judging by its strides.

    A tensor may fit several formats where sizes are 1: then the strides of those dimensions decide.
    """
    size, stride = t._value.aval.shape, strides_of(t)
    name = {4: "channels_last", 5: "channels_last_3d"}.get(len(size))
    if name is None or 0 in size or stride[1] == 0:
        return None
    least = 0
    for dim in strides.CHANNELS_LAST[name]:
        if stride[dim] < least or (dim == 0 and least == stride[1]):
            return None
        least = stride[dim] * size[dim]
    return name


@functools.lru_cache(CACHED)
def _elementwise(shapes: Any, layouts: Any) -> Layout | None:
    size = strides.broadcast_shapes(*shapes)
    return normal(size, strides.elementwise_strides(shapes, layouts), 0)


def like(t: Tensor) -> Layout | None:
    """The layout of a new tensor like this one."""
    size = t._value.aval.shape
    return normal(size, strides.preserved(size, strides_of(t)), 0)


def lay_like(result: Any, operand: Tensor) -> Any:
    """Give results of an operand's shape the strides that PyTorch's `empty_like` gives."""
    for t in result if isinstance(result, tuple) else (result,):
        if t._value.aval.shape == operand._value.aval.shape:
            t._layout = like(operand)
    return result


def lay_channels(result: Any, operands: Any) -> Any:
    """Give results the channels-last strides that an operand's ask for."""
    name = next(filter(None, [suggests(x) for x in operands if isinstance(x, Tensor)]), None)
    if name is not None:
        for t in result if isinstance(result, tuple) else (result,):
            size = t._value.aval.shape
            if len(size) == len(strides.CHANNELS_LAST[name]):
                t._layout = normal(size, strides.channels_last(size, name), 0)
    return result


_laid_out: dict[Any, Layout | None] = {}


def lay_out(result: Any, operands: Any) -> Any:
    """Give the result of an elementwise operation PyTorch's strides where some operand is not contiguous."""
    if isinstance(result, Tensor):
        kinds = [(x._value.aval, x._layout) if isinstance(x, Tensor) else None for x in operands]
        key = (result._value.aval, *kinds)
        if key not in _laid_out:
            if len(_laid_out) >= CACHED:
                _laid_out.clear()
            _laid_out[key] = elementwise_layout(result, operands)
        result._layout = _laid_out[key]
    return result


def elementwise_layout(result: Tensor, operands: Any) -> Layout | None:
    """The layout of an elementwise result: operands that are permuted or channels-last pass theirs on."""
    shapes = tuple([x._value.aval.shape if isinstance(x, Tensor) else () for x in operands])
    try:
        if strides.broadcast_shapes(*shapes) != result._value.aval.shape:
            return None
    except RuntimeError:  # an operation that promotes, but does not broadcast (`kron`)
        return None
    layouts = [strides_of(x) if isinstance(x, Tensor) else () for x in operands]
    avals = [x._value.aval for x in operands if isinstance(x, Tensor)]
    made = result._value.aval.dtype
    floats = made.is_floating_point and not any(a.dtype.is_floating_point or a.dtype.is_complex for a in avals)
    if floats or any(a.dtype is not avals[0].dtype for a in avals):
        common = made if floats else common_type(avals)
        for k, x in enumerate(operands):  # PyTorch converts an operand before it looks at its strides
            if isinstance(x, Tensor) and x._value.aval.dtype is not common:
                layouts[k] = strides.preserved(shapes[k], layouts[k])
    return _elementwise(shapes, tuple(layouts))
