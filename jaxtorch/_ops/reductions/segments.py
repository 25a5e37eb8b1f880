"""Reductions over consecutive segments of an axis, given by their lengths or by where they begin."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, Number, function, inner_op
from ..._core.define.signature import checked, need_kind
from ..._core.dispatch.number_limits import check_number
from ..._core.run.runner import concrete_array
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes
from ..._core.types.value import python_number
from ..common.rules import kind, unsupported

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


@inner_op(grad="SegmentReduceBackward0")
def _segments(data: Array, begins: Array, ends: Array, reduce: str, axis: int, initial: Number | None):
    """begins, ends: (*batch, segments), for the dimensions of `data` before `axis`."""
    if kind(data) != "float":
        unsupported("_segment_reduce_cpu", data)
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
) -> Tensor:
    """'sum', 'mean', 'max', 'min' or 'prod' of consecutive segments along `axis`.

    The segments are given by their `lengths` or by `offsets`, the places where they begin and the last one's end. An empty
    segment gives `initial`, or the reduction's own start (NaN for a mean).
    """
    if reduce not in _START:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = strides.wrap_dim(axis, data.ndim)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if initial is not None:
        need_kind("segment_reduce", "initial", "Number", initial)
        initial = python_number(initial)
        check_number(initial, data.dtype)
    for given in (offsets, lengths):
        if given is not None and given.ndim > data.ndim:
            raise RuntimeError("Expected data.dim() >= lengths_value.dim() to be true, but got false.")
    given, name = (lengths, "lengths") if offsets is None else (offsets, "offsets")
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if axis != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if given.dtype not in (dtypes.int32, dtypes.int64):
        kernel = f"_segment_reduce_{name}_cpu_kernel1"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.scalar_name(given.dtype)}'")
    if offsets is not None:
        if not offsets.shape[-1]:
            raise RuntimeError("Trying to create tensor with negative dimension -1: [-1]")
        if (np.diff(concrete_array(offsets.detach()._array())) < 0).any():
            raise RuntimeError("Expected segment_length >= 0 to be true, but got false.")
        begins, ends = offsets[..., :-1], offsets[..., 1:]
    elif lengths is not None:
        if not unsafe:
            host = concrete_array(lengths.detach()._array())
            if host.size and host.min() < 0:
                raise RuntimeError("lengths contains negative value!")
            if not np.all(host.sum(-1) == data.shape[axis]):
                raise RuntimeError(
                    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                    "!unsafe."
                )
        ends = lengths.cumsum(-1)
        begins = ends - lengths
    found = _segments(data, begins, ends, reduce, axis, initial)
    return found


function("_segment_reduce")(segment_reduce)
