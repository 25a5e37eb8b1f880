"""Reductions over consecutive segments of an axis, given by their lengths or by where they begin."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core import dtypes, strides
from .._core.limits import check_number
from .._core.op import Array, Number, function, op
from .._core.parameters import checked, need_kind
from .._core.runner import known
from .._core.symbols import up_to
from .._core.tensor import Tensor, write_out
from .._core.value import python_number
from .rules import kind, refuse, unsupported

_START = {"max": -np.inf, "min": np.inf, "mean": 0.0, "sum": 0.0, "prod": 1.0}


def _totals(reduce: str, member: Any, x: Any) -> Any:
    """`reduce` over the last axis where `member` holds; an empty segment gives the reduction's start."""
    if reduce == "prod":
        return jnp.prod(jnp.where(member, x, 1), -1)
    if reduce in ("sum", "mean"):
        return jnp.sum(jnp.where(member, x, 0), -1)
    best = (jnp.max if reduce == "max" else jnp.min)(jnp.where(member, x, _START[reduce]), -1, initial=_START[reduce])
    # Ties share the gradient, as in PyTorch's own formula.
    return best


@op(name="_segments", function=False, method=False, out=False, grad="SegmentReduceBackward0")
def _segments(data: Array, begins: Array, ends: Array, reduce: str, axis: int, initial: Number | None):
    """begins, ends: (*batch, segments), for the dimensions of `data` before `axis`."""
    if kind(data) != "float":
        unsupported("segment_reduce_cpu", data)
    x = jnp.moveaxis(data, axis, -1)[(slice(None),) * axis + (None,)]  # (*batch, 1, *rest, length)
    at = up_to(data.shape[axis])
    shape = (*begins.shape, *(1,) * (x.ndim - begins.ndim))
    member = (at >= begins.reshape(shape)) & (at < ends.reshape(shape))  # (*batch, segments, 1.., length)
    out = _totals(reduce, member, x)
    count = (ends - begins).reshape(shape[:-1]) if x.ndim > begins.ndim else ends - begins
    if initial is not None:
        start = jnp.asarray(initial, data.dtype)
        if reduce in ("sum", "mean"):
            out = out + start
        elif reduce == "prod":
            out = out * start
        else:
            out = (jnp.maximum if reduce == "max" else jnp.minimum)(out, start)
    if reduce == "mean":
        empty = jnp.nan if initial is None else jnp.asarray(initial, data.dtype)
        out = jnp.where(count == 0, empty, out / jnp.where(count == 0, 1, count).astype(data.dtype))
    return out


@function("segment_reduce")
@checked
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """'sum', 'mean', 'max', 'min' or 'prod' of consecutive segments along `axis`.

    The segments are given by their `lengths` or by `offsets`, the places where they begin and the last one's end. An empty
    segment gives `initial`, or the reduction's own start (NaN for a mean).
    """
    if reduce not in _START:
        raise RuntimeError(f"segment_reduce(): unsupported reduction '{reduce}'")
    axis = strides.wrap_dim(axis, data.ndim)
    if data.numel() == 0:
        raise RuntimeError("segment_reduce(): expected an input with elements")
    if indices is not None:
        raise RuntimeError("segment_reduce(): reduction by indices is not supported")
    if initial is not None:
        need_kind("segment_reduce", "initial", "Number", initial)
        initial = python_number(initial)
        check_number(initial, data.dtype)
    for given in (offsets, lengths):
        if given is not None and given.ndim > data.ndim:
            raise RuntimeError("Expected data.dim() >= lengths_value.dim() to be true, but got false.")
    given = offsets if offsets is not None else lengths
    if given is not None and given.dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(f"segment_reduce: lengths and offsets of the type {given.dtype} are not implemented")
    if offsets is not None:
        if axis != offsets.ndim - 1:
            raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of offsets but got {axis}.")
        if not offsets.shape[-1]:
            raise RuntimeError("Trying to create tensor with negative dimension -1: [-1]")
        if offsets.dtype.name not in ("int32", "int64"):
            unsupported("_segment_reduce_offsets_cpu_kernel1", offsets)
        if (np.diff(known(offsets.detach()._array())) < 0).any():
            raise RuntimeError("Expected segment_length >= 0 to be true, but got false.")
        begins, ends = offsets[..., :-1], offsets[..., 1:]
    elif lengths is not None:
        if not unsafe:
            refuse("min_all", lengths, "complex")
            host = known(lengths.detach()._array())
            if host.size and host.min() < 0:
                raise RuntimeError("segment_reduce(): lengths must not be negative")
            if not np.all(host.sum(-1) == data.shape[axis]):
                raise RuntimeError("segment_reduce(): lengths must add up to the size of the reduced axis")
        ends = lengths.cumsum(-1)
        begins = ends - lengths
    else:
        raise RuntimeError("segment_reduce(): either lengths or offsets must be given")
    found = _segments(data, begins, ends, reduce, axis, initial)
    return found if out is None else write_out(out, found, "segment_reduce")


function("_segment_reduce")(segment_reduce)
