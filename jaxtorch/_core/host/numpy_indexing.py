"""Slices at positions that are known only at run time, gather, scatter, windows and convolutions, for the table of `numpy_rules`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .blas import on_one_thread
from .numpy_rules import RULES, rule

# slices


def _starts(x: Any, starts: Any, sizes: Any) -> list[int]:
    return [min(max(int(s), 0), n - k) for s, n, k in zip(starts, x.shape, sizes, strict=True)]


@rule("dynamic_slice", 0, half=True)
def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Any, **_: Any) -> Any:
    begin = _starts(x, starts, slice_sizes)
    return x[tuple(slice(b, b + k) for b, k in zip(begin, slice_sizes, strict=True))]


@rule("dynamic_update_slice", 0.5, half=True)
def _dynamic_update_slice(x: Any, part: Any, *starts: Any, **_: Any) -> Any:
    begin = _starts(x, starts, part.shape)
    out = np.array(x)
    out[tuple(slice(b, b + k) for b, k in zip(begin, part.shape, strict=True))] = part
    return out


# gather and scatter


def _outer(shape: tuple[int, ...], axis: int, rank: int) -> Any:
    """The places along `axis` of an array of `shape`, in the form of an array of that rank."""
    return np.arange(shape[axis]).reshape([-1 if d == axis else 1 for d in range(rank)])


def _places(
    x: Any, indices: Any, axes: Any, sizes: Any, batching: list[tuple[int, int]], clip: bool
) -> tuple[list[Any], Any]:
    """For each axis of `x`, where the window of each index begins, as arrays of the indices' batch shape; and which are inside."""
    batch = indices.shape[:-1]
    begin: list[Any] = [0] * x.ndim
    inside = np.ones(batch, bool)
    for axis, place in batching:
        begin[axis] = _outer(batch, place, len(batch))
    for k, axis in enumerate(axes):
        start, last = indices[..., k], x.shape[axis] - sizes[axis]
        if indices.dtype == np.uint64:
            start = np.minimum(start, np.uint64(np.iinfo(np.int64).max))
        start = start.astype(np.int64)
        if not clip:
            inside &= (start >= 0) & (start <= last)
        begin[axis] = np.clip(start, 0, max(last, 0))
    return begin, inside


def _elements(indices: Any, axes: Any, single: Any, batching: Any, rank: int) -> bool:
    """Does each index name one element, with a number for each axis? So it is in `gather` and `scatter` along a dimension."""
    return len(axes) == len(single) == rank > 0 and not batching and indices.dtype.kind == "i"


def _flat_places(x: Any, indices: Any, axes: Any, mode: str) -> Any:
    """Where elements lie in the flattened array; outside, ValueError or the nearest place (`mode`: 'raise' or 'clip')."""
    along = [indices[..., k] for k in range(len(axes))]
    return np.ravel_multi_index(tuple([along[axes.index(axis)] for axis in range(x.ndim)]), x.shape, mode=mode)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _index_cost(eqn: Any) -> float:
    d, scatters = eqn.params["dimension_numbers"], len(eqn.invars) > 2
    moved = eqn.invars[2].aval if scatters else eqn.outvars[0].aval
    x, indices = eqn.invars[0].aval, eqn.invars[1].aval
    if scatters:
        by_element = _elements(
            indices, d.scatter_dims_to_operand_dims, d.inserted_window_dims, d.operand_batching_dims, x.ndim
        )
    else:
        by_element = _elements(indices, d.start_index_map, d.collapsed_slice_dims, d.operand_batching_dims, x.ndim)
    return (6000 if by_element else 20000) + 15.0 * math.prod(moved.shape) + 0.5 * math.prod(x.shape)


def _along(shape: Any, indices: Any, axes: Any, single: Any, batching: Any, sizes: Any) -> int | None:
    """The axis of which each index names a whole row, a number for each; None where they do anything else."""
    if len(axes) != 1 or tuple(single) != tuple(axes) or batching or indices.dtype.kind != "i" or 0 in shape:
        return None
    axis = axes[0]
    return axis if all([n == m for k, (n, m) in enumerate(zip(sizes, shape, strict=True)) if k != axis]) else None  # noqa: C419


def _is_inside(indices: Any, size: int) -> bool:
    """Are all of them from 0 to below `size`?"""
    return not indices.size or bool(indices.min() >= 0 and indices.max() < size)


def _rows(x: Any, which: Any, axis: int, offset_dims: Any) -> Any:
    """The rows of `x` with these numbers along an axis, the nearest for numbers outside; its other axes become `offset_dims`."""
    out = x.take(which, axis, mode="clip")
    n = which.ndim
    if tuple(offset_dims) == (*range(axis), *range(axis + n, x.ndim - 1 + n)):
        return out
    order = [*range(axis, axis + n), *range(axis), *range(axis + n, out.ndim)]  # as numbers, then other axes
    places = [0] * out.ndim
    front = [i for i in range(out.ndim) if i not in offset_dims]
    for i, at in enumerate([*front, *offset_dims]):
        places[at] = order[i]
    return out.transpose(places)


@rule("gather", _index_cost, half=True)
def _gather(
    x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, fill_value: Any, **_: Any
) -> Any:
    d = dimension_numbers
    batching = list(zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True))
    fills = "FILL" in str(mode)
    if not fills and x.size and _elements(indices, d.start_index_map, d.collapsed_slice_dims, batching, x.ndim):
        return x.reshape(-1)[_flat_places(x, indices, d.start_index_map, "clip")]
    along = _along(x.shape, indices, d.start_index_map, d.collapsed_slice_dims, batching, slice_sizes)
    if along is not None and (not fills or _is_inside(indices, x.shape[along])):
        return _rows(x, indices[..., 0], along, d.offset_dims)
    begin, inside = _places(x, indices, d.start_index_map, slice_sizes, batching, not fills)
    gone = {*d.collapsed_slice_dims, *d.operand_batching_dims}
    kept = [k for k in range(x.ndim) if k not in gone]
    whole = [k for k in kept if k not in d.start_index_map and slice_sizes[k] == x.shape[k]]
    cut = [k for k in kept if k not in whole]
    batch = indices.shape[:-1]
    rank = len(batch) + len(cut)
    picked = [k for k in range(x.ndim) if k not in whole]
    where = []
    for k in picked:
        at = begin[k].reshape(*begin[k].shape, *[1] * len(cut)) if isinstance(begin[k], np.ndarray) else begin[k]
        if k in cut:
            at = at + np.arange(slice_sizes[k]).reshape(
                [-1 if i == len(batch) + cut.index(k) else 1 for i in range(rank)]
            )
        where.append(at)
    shape = (*batch, *[slice_sizes[k] for k in (*cut, *whole)])
    if 0 in shape or x.size == 0:
        out = np.zeros(shape, x.dtype)
    else:
        out = np.broadcast_to(x.transpose(*picked, *whole)[tuple(where)], shape)
    if fills and not inside.all():
        missing = _fill(x.dtype, fill_value)
        out = np.where(inside.reshape(*batch, *[1] * (out.ndim - len(batch))), out, missing).astype(x.dtype)
    order = [*range(len(batch)), *[len(batch) + (*cut, *whole).index(k) for k in kept]]  # windows in the order of x
    out = out.transpose(order)
    front = [i for i in range(out.ndim) if i not in d.offset_dims]
    places = [0] * out.ndim
    for i, axis in enumerate([*front, *d.offset_dims]):
        places[axis] = i
    return out.transpose(places)


def _fill(dtype: Any, value: Any) -> Any:
    """What a gather gives outside: NaN, the least signed or the greatest unsigned number."""
    if value is not None:
        return np.asarray(value, dtype)
    if dtype.kind == "b":
        return np.True_
    if dtype.kind in "iu":
        return np.asarray(np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max, dtype)
    return np.asarray(np.nan, dtype)


def _scatter(combine: Any) -> Callable[..., Any]:
    """XLA's scatter: updates are combined with what is there one by one, in the order of their indices."""

    def scatter(x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **_: Any) -> Any:
        d = dimension_numbers
        batching = list(zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True))
        single = {*d.inserted_window_dims, *d.operand_batching_dims}
        windows = iter(d.update_window_dims)
        sizes = [1 if k in single else updates.shape[next(windows)] for k in range(x.ndim)]
        outer = [k for k in range(updates.ndim) if k not in d.update_window_dims]
        updates = updates.transpose([*outer, *d.update_window_dims])
        out = np.array(x)
        if updates.size == 0 or x.size == 0:
            return out
        axes = d.scatter_dims_to_operand_dims
        if _elements(indices, axes, d.inserted_window_dims, batching, x.ndim):
            with contextlib.suppress(ValueError):  # some are outside, and left out below
                place = _flat_places(x, indices, axes, "clip" if "CLIP" in str(mode) else "raise")
                return _combined(combine, out, place.reshape(-1), updates.reshape(-1))
        if _along(x.shape, indices, axes, d.inserted_window_dims, batching, sizes) == 0 and _is_inside(
            indices, x.shape[0]
        ):
            size = out.size // x.shape[0]
            place = indices.reshape(-1, 1) * np.int64(size) + np.arange(size)
            return _combined(combine, out, place.reshape(-1), updates.reshape(-1))
        begin, inside = _places(x, indices, axes, sizes, batching, "CLIP" in str(mode))
        batch = indices.shape[:-1]
        place = np.zeros((*batch, *[1] * x.ndim), np.int64)  # of each update in the flattened array
        step = 1
        for k in reversed(range(x.ndim)):
            start = begin[k].reshape(*begin[k].shape, *[1] * x.ndim) if isinstance(begin[k], np.ndarray) else begin[k]
            window = np.arange(sizes[k]).reshape([-1 if i == k else 1 for i in range(x.ndim)])
            place = place + (start + window) * step
            step *= x.shape[k]
        n = math.prod(batch)
        place = np.broadcast_to(place, (*batch, *sizes)).reshape(n, -1)
        given = updates.reshape(n, -1)
        if not inside.all():
            place, given = place[inside.reshape(-1)], given[inside.reshape(-1)]
        return _combined(combine, out, place.ravel(), given.ravel())

    return scatter


def _combined(combine: Any, out: Any, place: Any, given: Any) -> Any:
    """`out`, which nobody else has, with these numbers at places of the flattened array, joined with what is there."""
    flat = out.reshape(-1)
    if combine is None:
        flat[place] = given
    else:
        combine.at(flat, place, given)
    return flat.reshape(out.shape)


def _applies(*_args: Any, update_jaxpr: Any, **_: Any) -> bool:
    """JAX's `scatter_apply` goes by the same name."""
    return bool(getattr(update_jaxpr, "eqns", ()))


for _name, _ufunc in {
    "scatter": None, "scatter-add": np.add, "scatter-sub": np.subtract, "scatter-mul": np.multiply,
    "scatter-min": np.minimum, "scatter-max": np.maximum,
}.items():  # fmt: skip
    rule(_name, _index_cost, half=True, doubt=_applies if _ufunc is None else None)(_scatter(_ufunc))


# windows


def _windows(x: Any, sizes: Any, strides: Any, padding: Any, spread: Any, holes: Any, value: Any) -> Any:
    """A view of all windows: the places first, then the axes of a window. `holes` lie between the elements of `x`, `spread` between a
    window's."""
    config = [(lo, hi, hole - 1) for (lo, hi), hole in zip(padding, holes, strict=True)]
    if any(c != (0, 0, 0) for c in config):
        x = RULES["pad"].run(x, value, padding_config=config)
    reach = [(n - 1) * s + 1 for n, s in zip(sizes, spread, strict=True)]
    if any(n < r for n, r in zip(x.shape, reach, strict=True)):
        empty = [max(0, (n - r) // s + 1) for n, r, s in zip(x.shape, reach, strides, strict=True)]
        return np.zeros((*empty, *sizes), x.dtype)
    view = sliding_window_view(x, reach)
    return view[(*[slice(None, None, s) for s in strides], *[slice(None, None, s) for s in spread])]


def _window_cost(eqn: Any) -> float:
    return 4.0 * math.prod(eqn.outvars[0].aval.shape) * math.prod(eqn.params["window_dimensions"])


def _reduce_window(ufunc: Any, start: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(
        x: Any,
        *,
        window_dimensions: Any,
        window_strides: Any,
        padding: Any,
        base_dilation: Any,
        window_dilation: Any,
        **_: Any,
    ) -> Any:
        begin = start(x.dtype)
        view = _windows(
            x, window_dimensions, window_strides, padding, window_dilation, base_dilation, np.asarray(begin, x.dtype)
        )
        return ufunc.reduce(view, tuple(range(x.ndim, 2 * x.ndim)), initial=begin)

    return run


def _least(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else dtype.type(0) if dtype.kind == "b" else np.iinfo(dtype).min


def _greatest(dtype: Any) -> Any:
    return np.inf if dtype.kind == "f" else dtype.type(1) if dtype.kind == "b" else np.iinfo(dtype).max


rule("reduce_window_sum", _window_cost)(_reduce_window(np.add, lambda dtype: dtype.type(0)))
rule("reduce_window_max", _window_cost)(_reduce_window(np.maximum, _least))
rule("reduce_window_min", _window_cost)(_reduce_window(np.minimum, _greatest))


def _convolution_cost(eqn: Any) -> float:
    numbers = eqn.params["dimension_numbers"]
    kernel = eqn.invars[1].aval.shape
    taps = math.prod(kernel) // max(kernel[numbers.rhs_spec[0]], 1)
    x, out = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    places, window = [out[d] for d in numbers.out_spec[2:]], [kernel[d] for d in numbers.rhs_spec[2:]]
    copied = math.prod([x[d] for d in numbers.lhs_spec[:2]]) * math.prod([*places, *window])
    groups = eqn.params["feature_group_count"] * eqn.params["batch_group_count"]
    return 0.08 * math.prod(out) * taps + 2.0 * copied + 10000.0 * groups


@rule("conv_general_dilated", _convolution_cost)
def _convolution(
    x: Any,
    kernel: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any = None,
    **_: Any,
) -> Any:
    """As products of patches and kernels, group by group."""
    if preferred_element_type is not None and np.dtype(preferred_element_type).itemsize > x.itemsize:
        x, kernel = x.astype(preferred_element_type), kernel.astype(preferred_element_type)
    x, kernel = x.transpose(dimension_numbers.lhs_spec), kernel.transpose(dimension_numbers.rhs_spec)
    n = x.ndim - 2
    value = np.zeros((), x.dtype)
    view = _windows(
        x,
        (1, 1, *kernel.shape[2:]),
        (1, 1, *window_strides),
        [(0, 0), (0, 0), *padding],
        (1, 1, *rhs_dilation),
        (1, 1, *lhs_dilation),
        value,
    )
    view = view.reshape(*view.shape[: n + 2], *view.shape[n + 4 :])  # (N, C, *places, *window)
    groups = max(feature_group_count, batch_group_count)
    batches = np.split(view, batch_group_count) if batch_group_count > 1 else [view] * groups
    if feature_group_count > 1:
        batches = np.split(view, feature_group_count, 1)
    kernels = np.split(kernel, groups)
    window = tuple(range(n + 2, 2 * n + 2))
    parts = []
    for patches, weights in zip(batches, kernels, strict=True):
        axes = ((1, *window), tuple(range(1, n + 2)))
        out = on_one_thread(np.tensordot, patches.size * len(weights), patches, weights, axes)  # (N, *places, O)
        parts.append(np.moveaxis(out, -1, 1))
    out = np.concatenate(parts, 1) if groups > 1 else parts[0]
    places = [0] * (n + 2)
    for i, axis in enumerate(dimension_numbers.out_spec):
        places[axis] = i
    return out.transpose(places)
