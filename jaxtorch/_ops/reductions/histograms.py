"""Counting into bins: histc, histogram, bincount."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, Arrays, Number, function, inner_op, op
from ..._core.define.signature import need_kind
from ..._core.record.value_checks import flag
from ..._core.run.runner import concrete_array
from ..._core.tensor.tensor import Tensor, need_tensor, write_out
from ..._core.types.size import check_long, need_sizes
from ..._core.types.structseq import types
from ..common.exact_division import quotient
from ..common.rules import C_NAMES, as_double, kind, unsupported
from ..common.underived import underived
from .sorting import insertion_points


def _check_bins(name: str, bins: int) -> None:
    if isinstance(bins, bool) or not hasattr(bins, "__index__"):
        raise TypeError(f"{name}(): argument 'bins' (position 2) must be int, not {type(bins).__name__}")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


def _need_finite(low: Any, high: Any, what: str) -> None:
    """RuntimeError unless the ends of a range are finite."""
    bits = [lax.bitcast_convert_type(end.astype(np.float32), np.int32).astype(np.int64) for end in (low, high)]
    bad = ~(jnp.isfinite(low) & jnp.isfinite(high))
    code = jnp.where(bad, (bits[0] << 32) | (bits[1] & 0xFFFFFFFF), 0)  # both ends, as float32; one of them is not 0

    def error(code: int) -> RuntimeError:
        low, high = np.array([code >> 32, code & 0xFFFFFFFF], np.int64).astype(np.uint32).view(np.float32)
        return RuntimeError(f"{what} [{low:g}, {high:g}] is not finite")

    flag(code, error)


def _ends(name: str, x: Any, low: float, high: float, margin: float) -> tuple[Any, Any]:
    """The outer edges as given, or the data's where both are equal, with a margin if those are too."""
    if not (math.isfinite(low) and math.isfinite(high)):
        what = "range of" if name == "histc" else "dimension 0's range"
        raise RuntimeError(f"torch.{name}: {what} [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.{name}: max must be larger than min")
    first, last = jnp.asarray(low, x.dtype), jnp.asarray(high, x.dtype)
    if low == high and x.size:
        first, last = jnp.min(x), jnp.max(x)
        _need_finite(
            first, last, f"torch.{name}: range of" if name == "histc" else f"torch.{name}: dimension 0's range"
        )
    same = first == last
    return jnp.where(same, first - margin, first), jnp.where(same, last + margin, last)


def _tally(place: Any, inside: Any, weight: Any, bins: int, dtype: Any) -> Any:
    weight = jnp.ones(place.shape, dtype) if weight is None else weight.reshape(-1).astype(dtype)
    return jnp.zeros(bins, dtype).at[place].add(jnp.where(inside, weight, jnp.zeros_like(weight)))


@op(differentiable=False)
def histc(input: Array, bins: int = 100, min: Number = 0, max: Number = 0):
    """Counts of elements in `bins` equal intervals from min to max (the data's where they are equal)."""
    if kind(input) != "float":
        name = {"bool": "linspace_cpu", "complex": "aminmax_cpu"}.get(kind(input), "histogram_cpu")
        unsupported("histogram_cpu" if min != max else name, input)
    _check_bins("histc", bins)
    min, max = [as_double(v) for v in (min, max)]
    x = input.reshape(-1)
    low, high = _ends("histc", x, min, max, 1)
    place = jnp.floor(quotient((x - low) * bins, high - low))
    inside = (x >= low) & (x <= high)
    place = jnp.clip(jnp.where(inside, place, 0), 0, bins - 1).astype(np.int64)
    return _tally(place, inside, None, bins, x.dtype)


def _dense(hist: Any, edges: Any, density: bool) -> Any:
    return hist / (jnp.sum(hist) * (edges[1:] - edges[:-1])) if density else hist


def _check_types(x: Any, edges: Any, weight: Any) -> None:
    """PyTorch's errors where edges or weights are of another type than what is counted."""
    name = lambda a: C_NAMES.get(a.dtype.name, a.dtype.name)  # noqa: E731
    for i, e in enumerate(edges):
        if e.dtype != x.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{name(x)} and bins for dimension {i} with dtype {name(e)}"
            )
    if weight is not None and weight.dtype != x.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input({name(x)}), and weight({name(weight)})"
        )


def _into_edges(x: Any, edges: Any, weight: Any, density: bool) -> Any:
    if kind(x) != "float" or x.dtype.itemsize < 4:
        unsupported("histogramdd", x)
    _check_types(x, [edges], weight)
    if weight is not None and weight.shape != x.shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
            "tensor excluding its "
            "innermost dimension"
        )
    x, n = x.reshape(-1), edges.shape[0] - 1
    inside = (x >= edges[0]) & (x <= edges[-1])
    place = jnp.clip(insertion_points(edges, x, True) - 1, 0, n - 1)
    hist = _tally(place, inside, weight, n, x.dtype)
    return types.histogram((_dense(hist, edges, density), edges))


@inner_op(differentiable=False)
def _histogram_edges(input: Array, bins: Array, weight: Array | None, density: bool):
    if bins.ndim != 1:
        raise RuntimeError("torch.histogramdd: bins tensor should have one dimension, but got "
                           f"{bins.ndim} dimensions in the bins tensor for dimension 0")  # fmt: skip
    return _into_edges(input, bins, weight, density)


@inner_op(differentiable=False)
def _histogram_count(input: Array, bins: int, range: tuple | None, weight: Array | None, density: bool):
    if kind(input) != "float" or input.dtype.itemsize < 4:
        unsupported("histogramdd", input)
    _check_bins("histogram", bins)
    if range is not None and len(range) != 2:
        raise RuntimeError(f"torch.histogramdd: range should have 2 elements, but got {len(range)}")
    x = input.reshape(-1)
    low, high = range if range is not None else (0.0, 0.0)
    if range is not None and low == high:
        first, last = jnp.asarray(low - 0.5, x.dtype), jnp.asarray(high + 0.5, x.dtype)
    elif range is None and not x.size:
        first, last = jnp.asarray(0, x.dtype), jnp.asarray(1, x.dtype)
    else:
        first, last = _ends("histogramdd", x, low, high, 0.5)
    step = (last - first) / bins
    at = jnp.arange(bins + 1)
    edges = jnp.where(
        at < (bins + 1) // 2, first + step * at.astype(x.dtype), last - step * (bins - at).astype(x.dtype)
    )
    return _into_edges(input, edges, weight, density)


@function("histogram", method=True)
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How much lies between the edges `bins`, or in so many equal intervals of `range`; and the edges."""
    if isinstance(bins, Tensor):
        found = _histogram_edges(input, bins, weight, density)
    else:
        found = _histogram_count(input, bins, range, weight, density)
    found = underived("histogram", found, input, weight, bins if isinstance(bins, Tensor) else None)
    return found if out is None else write_out(out, found, "histogram")


def _edges_between(low: Any, high: Any, bins: int) -> Any:
    """`bins` equal intervals, computed from both ends as PyTorch's linspace."""
    step = (high - low) / bins
    at = jnp.arange(bins + 1)
    return jnp.where(
        at < (bins + 1) // 2, low + step * at.astype(low.dtype), high - step * (bins - at).astype(low.dtype)
    )


@inner_op(differentiable=False)
def _histogramdd(input: Array, edges: Arrays, bins: Any, range: Any, weight: Array | None, density: bool):
    """(counts, edges of each dimension) of points (..., D)."""
    if kind(input) != "float" or input.dtype.itemsize < 4:
        unsupported("histogramdd", input)
    size = input.shape[-1]
    points = input.reshape(-1, size)
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
                           "tensor excluding its innermost dimension")  # fmt: skip
    edges = list(edges)
    _check_types(input, edges, weight)
    for i, n in enumerate(bins or ()):
        _check_bins("histogramdd", n)
        if range is not None:
            low, high = (jnp.asarray(v, points.dtype) for v in range[2 * i : 2 * i + 2])
        elif points.size:
            low, high = jnp.min(points[:, i]), jnp.max(points[:, i])
            _need_finite(low, high, f"torch.histogramdd: dimension {i}'s range")
        else:
            low, high = jnp.asarray(0, points.dtype), jnp.asarray(1, points.dtype)
        same = low == high
        edges.append(_edges_between(jnp.where(same, low - 0.5, low), jnp.where(same, high + 0.5, high), n))
    shape = [e.shape[0] - 1 for e in edges]
    flat, inside = jnp.zeros(points.shape[0], np.int64), jnp.ones(points.shape[0], bool)
    for i, e in enumerate(edges):
        x = points[:, i]
        inside &= (x >= e[0]) & (x <= e[-1])
        flat = flat * shape[i] + jnp.clip(insertion_points(e, x, True) - 1, 0, shape[i] - 1)
    hist = _tally(jnp.where(inside, flat, 0), inside, weight, math.prod(shape), points.dtype).reshape(shape)
    if density:
        hist = hist / jnp.sum(hist)
        for i, e in enumerate(edges):
            hist = hist / (e[1:] - e[:-1]).reshape(-1, *(1,) * (len(edges) - i - 1))
    return (hist, *edges)


@function("histogramdd")
def histogramdd(
    input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """How many of the points (..., D) lie in each cell of a grid: (hist, bin_edges).

    bins: a number of intervals for all dimensions or for each, or the edges for each.
    """
    need_tensor(input, "histogramdd")
    if not isinstance(bins, (tuple, list)):
        need_kind("histogramdd", "bins", "int", bins)
    elif bins and not isinstance(bins[0], Tensor):
        if not isinstance(bins[0], int) or bins[0] is True or bins[0] is False:
            raise TypeError(f"expected Tensor as element 0 in argument 1, but got {type(bins[0]).__name__}")
        need_sizes("histogramdd", "bins", bins)
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions, but got "
                           f"{input.ndim}")  # fmt: skip
    size = input.shape[-1]
    given = [bins] * size if isinstance(bins, int) else list(bins)
    if len(given) != size:
        raise RuntimeError(f"torch.histogramdd: expected {size} sequences of bins, but got {len(given)}")
    if range is not None and len(range) != 2 * size:
        raise RuntimeError(f"torch.histogramdd: range should have {2 * size} elements, but got {len(range)}")
    as_edges = bool(given) and isinstance(given[0], Tensor)
    edges, counts = (given, None) if as_edges else ([], tuple(given))
    hist, *found = _histogramdd(input, edges, counts, None if range is None else tuple(range), weight, density)
    return types.histogramdd((hist, tuple(found)))


@inner_op(differentiable=False)
def _bincount(input: Array, weights: Array | None, length: int):
    if weights is None:
        return jnp.zeros(length, np.int64).at[input].add(1)
    dtype = np.float32 if weights.dtype == np.float32 else np.float64
    return jnp.zeros(length, dtype).at[input].add(weights.astype(dtype))


@function("bincount", method=True)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights; reads the data."""
    need_tensor(input, "bincount")
    if weights is not None:
        need_tensor(weights, "bincount", "weights", 2)
    if minlength.__class__ is not int:
        need_kind("bincount", "minlength", "int", minlength)
    if check_long(minlength) < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and tuple(weights.shape) != tuple(input.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    x = concrete_array(input.detach()._array())
    if kind(x) != "int":
        unsupported("bincount_cpu", x)
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    largest = int(x.max()) + 1 if x.size else 0
    return underived("bincount", _bincount(input, weights, largest if largest > minlength else minlength), weights)
