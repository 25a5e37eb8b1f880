"""Sorting, selecting the largest, and finding: sort, topk, searchsorted, isin, unique."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core import native
from ..._core.define.op import Array, Operand, function, numpy_names, op
from ..._core.define.overloads import signed
from ..._core.define.signature import need_kind
from ..._core.record.value_checks import flag
from ..._core.run.runner import concrete_array
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..._core.tuning import TOPK_ROW
from ..._core.types import dtypes
from ..._core.types.structseq import types
from ..._core.types.warn_once import once
from ..common.primitives import primitive
from ..common.rules import kind, refuse, scalar_name, unsupported
from ..common.underived import underived
from .reductions import UNSET, bad_call, follow, need_elements, one_axis

# -- sort


def sorted_with(x: Any, axis: int, descending: bool = False) -> tuple[Any, Any]:
    """The values in order along an axis, and where they came from; stable. NaN is largest."""
    if not x.ndim:
        return x, jnp.zeros((), np.int64)
    if x.dtype in (np.float32, np.int64) and x.size >= native.KERNEL_ELEMENTS and x.shape[axis] < 1 << 31:
        moved = jnp.moveaxis(x, axis, -1)
        rows = moved.reshape(-1, moved.shape[-1])
        values, at = _rows_p.bind(rows, descending=descending)
        return jnp.moveaxis(values.reshape(moved.shape), -1, axis), jnp.moveaxis(at.reshape(moved.shape), -1, axis)
    return _by_xla(x, axis, descending)


def _by_xla(x: Any, axis: int, descending: bool) -> tuple[Any, Any]:
    at = lax.broadcasted_iota(np.int64, x.shape, axis)
    keys = x.astype(np.uint8) if kind(x) == "bool" else x
    if descending:
        keys, at = lax.rev(keys, (axis,)), lax.rev(at, (axis,))
    keys, at = lax.sort((keys, at), dimension=axis, is_stable=True, num_keys=1)
    if descending:
        keys, at = lax.rev(keys, (axis,)), lax.rev(at, (axis,))
    return keys.astype(x.dtype), at


# The rows of a matrix in order, and where each number came from.
_rows_p = primitive(
    "sorted_rows",
    lambda x, descending: list(_by_xla(x, 1, descending)),
    lambda x, descending: native.sort(x, descending) if native.available() else None,
    several=True,
)


def _sort(input: Any, dim: Any, descending: bool) -> Any:
    if kind(input) == "complex":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    axis = one_axis("sort", dim, input.ndim)
    return types.sort(follow(lambda x: sorted_with(x, axis, bool(descending)), input, axis))


@op(grad=lambda _, statics: f"SortBackward{int(statics[2] is not None)}", like_input=True)
def sort(input: Array, dim: int = -1, descending: bool = False, *, stable: bool | None = None):
    """The elements in order along a dimension, and their indices; always stable. NaN counts as largest."""
    return _sort(input, dim, descending)


@op(differentiable=False, like_input=True)
def argsort(input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False):
    """The indices that put a dimension in order; always stable."""
    return _sort(input, dim, descending)[1]


@op(grad="SortBackward0", unsaved=["input"], like_input=True)
def msort(input: Array):
    """The elements in order along the first dimension."""
    return _sort(input, 0, False)[0]


# -- selection


def _largest(x: Any, k: int, axis: int) -> tuple[Any, Any]:
    if x.ndim and kind(x) == "float" and k:
        moved = jnp.moveaxis(x, axis, -1)
        values, at = lax.top_k(jnp.where(jnp.isnan(moved), jnp.full_like(moved, np.nan), moved), k)
        return jnp.moveaxis(values, -1, axis), jnp.moveaxis(at, -1, axis).astype(np.int64)
    return _first(*sorted_with(x, axis, True), k, axis)


def _smallest(x: Any, k: int, axis: int) -> tuple[Any, Any]:
    def by_sorting(x: Any) -> tuple[Any, Any]:
        return _first(*sorted_with(x, axis), k, axis)

    def by_largest(x: Any) -> tuple[Any, Any]:
        values, at = lax.top_k(-jnp.moveaxis(x, axis, -1), k)
        return -jnp.moveaxis(values, -1, axis), jnp.moveaxis(at, -1, axis).astype(np.int64)

    if x.ndim and kind(x) == "float" and 0 < 4 * k <= x.shape[axis] and x.shape[axis] >= TOPK_ROW:
        return lax.cond(jnp.isnan(x).any(), by_sorting, by_largest, x)  # NaN would have to come last
    return by_sorting(x)


def _first(values: Any, at: Any, k: int, axis: int) -> tuple[Any, Any]:
    if not values.ndim:
        return values, at
    return lax.slice_in_dim(values, 0, k, axis=axis), lax.slice_in_dim(at, 0, k, axis=axis)


@op(saved=["result1"])
def topk(input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True):
    """The k largest (or smallest) elements along a dimension, in order, with indices. NaN is largest.

    >>> torch.topk(torch.tensor([3.0, 1.0, 2.0]), 2)
    torch.return_types.topk(
    values=tensor([3., 2.]),
    indices=tensor([0, 2]))
    """
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise TypeError(f"topk(): argument 'k' (position 2) must be int, not {type(k).__name__}")
    axis = one_axis("topk", dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if kind(input) == "complex":
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if kind(input) == "bool":
        raise RuntimeError("topk does not support bool dtypes on CPU")

    def select(x: Any) -> tuple[Any, Any]:
        return _largest(x, k, axis) if largest else _smallest(x, k, axis)

    return types.topk(follow(select, input, axis))


@op(unsaved=["input"], saved=["result1"])
def kthvalue(input: Array, k: int, dim: int = -1, keepdim: bool = False):
    """The k-th smallest element along a dimension, counted from 1, and its index."""
    axis = one_axis("kthvalue", dim, input.ndim)
    need_elements("kthvalue", input, axis)
    if not 1 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if not input.ndim:
        return types.kthvalue((input, jnp.zeros((), np.int64)))
    refuse("kthvalue_cpu", input, "bool", "complex")

    def select(x: Any) -> tuple[Any, Any]:
        values, at = sorted_with(x, axis)
        return lax.slice_in_dim(values, k - 1, k, axis=axis), lax.slice_in_dim(at, k - 1, k, axis=axis)

    return types.kthvalue(dropped(*follow(select, input, axis), axis, keepdim))


def dropped(values: Any, indices: Any, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """Values and indices without the axis they were selected along, unless it is kept."""
    if keepdim or not values.ndim:
        return values, indices
    return jnp.squeeze(values, axis), jnp.squeeze(indices, axis)


# -- search


def insertion_points(rows: Any, values: Any, right: bool) -> Any:
    """Where values go in sorted rows (their last dimension), by bisection: the first not smaller."""
    n = rows.shape[-1]
    low = jnp.zeros(values.shape, np.int64)
    high = jnp.full(values.shape, n, np.int64)
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        at = jnp.clip(middle, 0, max(n - 1, 0))
        found = rows[at] if rows.ndim == 1 else jnp.take_along_axis(rows, at, -1)
        before = ~(found > values) if right else ~(found >= values)
        going = low < high
        low, high = jnp.where(going & before, middle + 1, low), jnp.where(going & ~before, middle, high)
    return low


def _is_right(right: bool, side: str | None) -> bool:
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    return bool(right) or side == "right"


def _comparable(rows: Any, values: Any) -> tuple[Any, Any]:
    common = dtypes.promote(dtypes.from_numpy(rows.dtype), dtypes.from_numpy(values.dtype))
    return rows.astype(common.np), values.astype(common.np)


def _refuse_kinds(rows: Any, values: Any) -> None:
    refuse("searchsorted_out_cpu", rows, "complex")
    refuse("searchsorted_out_cpu", values, "complex")
    if kind(values) == "bool":
        refuse("searchsorted_out_cpu", rows, "bool")


def _expect_contiguous(**operands: Any) -> None:
    for name, t in operands.items():
        if isinstance(t, Tensor) and t._layout is not None and not t.is_contiguous():
            which = name.replace("_", " ")
            once(
                f"torch.searchsorted(): {which} tensor is non-contiguous, this will lower the performance due to extra data copy "
                f"when converting non-contiguous tensor to contiguous, please use contiguous {which} tensor if possible."
            )


@function("searchsorted")
@numpy_names
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where values would be inserted to keep the last dimension of `sorted_sequence` in order."""
    _expect_contiguous(boundary=sorted_sequence, input_value=input, sorter=sorter)
    return _searchsorted(sorted_sequence, input, out_int32=out_int32, right=right, side=side, sorter=sorter, out=out)


@function("bucketize")
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Tensor | None = None
) -> Tensor:
    """Which of the intervals between sorted boundaries each value lies in."""
    _expect_contiguous(boundary=boundaries, input_value=input)
    return _bucketize(input, boundaries, out_int32=out_int32, right=right, out=out)


@op(name="searchsorted", function=False, method=False, differentiable=False)
def _searchsorted(
    sorted_sequence: Array, input: Operand, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Array | None = None,
):  # fmt: skip
    """Where values would be inserted to keep the last dimension of `sorted_sequence` in order."""
    right = _is_right(right, side)
    rows, values = sorted_sequence, input
    if not rows.ndim:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if not values.ndim and rows.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
            "but we got "
            f"boundaries tensor dim({rows.ndim}) and input value's dim(0) numel(1)"
        )
    if rows.ndim != 1 and (rows.ndim != values.ndim or rows.shape[:-1] != values.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input "
            "value tensor "
            f"{list(values.shape)}"
        )
    if values.size:
        _refuse_kinds(rows, values)
    elif rows.dtype == bool or "complex" in (kind(rows), kind(values)):
        return jnp.zeros(values.shape, np.int32 if out_int32 else np.int64)
    if sorter is not None:
        rows = _in_order(rows, sorter)
    found = insertion_points(*_comparable(rows, values), right)
    return found.astype(np.int32) if out_int32 else found


def _in_order(rows: Any, sorter: Any) -> Any:
    if sorter.shape != rows.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(rows.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype != np.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{dtypes.scalar_name(dtypes.from_numpy(sorter.dtype))}"
        )
    bad = jnp.any((sorter < 0) | (sorter >= rows.shape[-1]))
    flag(bad.astype(np.int64), lambda code: RuntimeError("torch.searchsorted(): sorter index out of range"))
    return jnp.take_along_axis(rows, sorter, -1)


@op(name="bucketize", function=False, method=False, differentiable=False)
def _bucketize(input: Operand, boundaries: Array, *, out_int32: bool = False, right: bool = False):
    """Which of the intervals between sorted boundaries each value lies in."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    if not input.size:
        return jnp.zeros(input.shape, np.int32 if out_int32 else np.int64)
    _refuse_kinds(boundaries, input)
    found = insertion_points(*_comparable(boundaries, input), bool(right))
    return found.astype(np.int32) if out_int32 else found


def _check_isin(*operands: Any) -> None:
    for x in operands:
        if kind(x) in ("bool", "complex"):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {scalar_name(x)}")


@op(function=False, method=False, differentiable=False, promote=True, check=_check_isin)
def _isin(elements: Operand, test_elements: Operand, invert: bool):
    x, known = elements, test_elements.reshape(-1)
    if known.size <= 16:
        found = jnp.any(x[..., None] == known, -1)
    else:
        known = lax.sort(known)
        at = jnp.clip(insertion_points(known, x, False), 0, known.size - 1)
        found = known[at] == x
    return ~found if invert else found


@function("isin")
@signed("isin")
def isin(
    elements: Any = UNSET, test_elements: Any = UNSET, *, assume_unique: bool = False, invert: bool = False,
    out: Tensor | None = None, element: Any = UNSET, test_element: Any = UNSET,
) -> Tensor:  # fmt: skip
    """For each element: is it one of the test elements? One of the two may be a number."""
    x = elements if element is UNSET else element
    known = test_elements if test_element is UNSET else test_element
    if isinstance(x, list) or isinstance(known, list) or not (isinstance(x, Tensor) or isinstance(known, Tensor)):
        bad_call(
            "isin",
            (x, known),
            {},
            [
                "Tensor elements, Tensor test_elements, *, bool assume_unique = False, bool invert = False",
                "Number element, Tensor test_elements, *, bool assume_unique = False, bool invert = False",
                "Tensor elements, Number test_element, *, bool assume_unique = False, bool invert = False",
            ],
        )
    x, known = (t.contiguous() if isinstance(t, Tensor) else t for t in (x, known))  # so is the result
    return _isin(x, known, invert, out=out)


# -- distinct elements: their number depends on the data, so these read it


def _host(name: str, input: Tensor) -> np.ndarray[Any, Any]:
    x = concrete_array(need_tensor(input, name).detach()._array())
    if kind(x) == "complex":
        unsupported(name, x)
    return x


def _starts(ordered: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """True where a row differs from the one before it."""
    new = np.ones(len(ordered), bool)
    if ordered.ndim == 1:
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        return new
    rows = ordered.reshape(len(ordered), math.prod(ordered.shape[1:]))
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    return new


def _answer(
    operation: str, input: Tensor, out: np.ndarray[Any, Any], inverse: Any, counts: np.ndarray[Any, Any],
    return_inverse: bool, return_counts: bool,
) -> Any:  # fmt: skip
    found = [underived(operation, from_host(np.ascontiguousarray(out)), input)]
    if return_inverse:
        found.append(from_host(inverse))
    if return_counts:
        found.append(from_host(counts))
    return found[0] if len(found) == 1 else tuple(found)


def _grouped(x: np.ndarray[Any, Any], order: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
    """Distinct rows of `x[order]` in which equal ones are neighbours; the inverse and the counts."""
    ordered = x[order]
    new = _starts(ordered)
    inverse = np.empty(len(x), np.int64)
    inverse[order] = new.cumsum() - 1
    return ordered[new], inverse, _counted(new)


def _counted(new: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How long each run of equal neighbours is."""
    starts = np.empty(np.count_nonzero(new) + 1, np.int64)
    starts[:-1], starts[-1] = new.nonzero()[0], len(new)
    return starts[1:] - starts[:-1]


def _order_of_rows(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The rows in order. To PyTorch NaN is neither less nor greater than anything, and rows are inserted one by one."""
    if kind(rows) != "float" or not np.isnan(rows).any():
        return np.lexsort(rows.T[::-1])
    items = rows.tolist()

    def less(a: int, b: int) -> bool:
        different = ((x, y) for x, y in zip(items[a], items[b], strict=True) if x < y or x > y)
        x, y = next(different, (0, 0))
        return x < y

    if len(items) > 16:
        order = sorted(range(len(items)), key=functools.cmp_to_key(lambda a, b: less(b, a) - less(a, b)))
        return np.array(order, np.int64)
    order = [0]
    for i in range(1, len(items)):
        place = i
        if less(i, order[0]):
            place = 0
        else:
            while less(i, order[place - 1]):
                place -= 1
        order.insert(place, i)
    return np.array(order, np.int64)


def _distinct(name: str, input: Tensor, dim: int | None, sort: bool, inverted: bool) -> tuple[Any, Any, Any]:
    """Distinct elements or slices, the inverse, if it is asked for, and the counts."""
    x = _host(name, input)
    if dim is None:
        flat = x.reshape(-1)
        if not inverted:
            flat = np.sort(flat, kind="stable") if sort else flat
            new = _starts(flat)
            return flat[new], None, _counted(new)
        order = np.argsort(flat, kind="stable") if sort else np.arange(flat.size)
        out, inverse, counts = _grouped(flat, order)
        return out, inverse.reshape(x.shape), counts
    axis = strides.wrap_dim(dim, x.ndim, scalar=False)
    if x.size == 0 and [n for i, n in enumerate(x.shape) if n == 0 and i != axis]:
        raise RuntimeError(f"There are 0 sized dimensions, and they aren't selected, so {name} cannot be applied")
    moved = np.moveaxis(x, axis, 0)
    rows = moved.reshape(len(moved), math.prod(moved.shape[1:]))
    order = _order_of_rows(rows) if sort and rows.shape[1] else np.arange(len(rows))
    out, inverse, counts = _grouped(rows, order)
    return np.moveaxis(out.reshape(-1, *moved.shape[1:]), 0, axis), inverse, counts


@function("unique", method=True)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along `dim`) in order; reads the data. Not differentiable."""
    for name, given in (("sorted", sorted), ("return_inverse", return_inverse), ("return_counts", return_counts)):
        need_kind("unique", name, "bool", given)
    operation = "_unique2" if dim is None else "unique_dim"
    return _answer(
        operation, input, *_distinct("unique", input, dim, True, return_inverse), return_inverse, return_counts
    )


@function("unique_consecutive", method=True)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along `dim`) without those equal to their predecessor; reads the data."""
    for name, given in (("return_inverse", return_inverse), ("return_counts", return_counts)):
        need_kind("unique_consecutive", name, "bool", given)
    return _answer(
        "unique_consecutive",
        input,
        *_distinct("unique_consecutive", input, dim, False, return_inverse),
        return_inverse,
        return_counts,
    )
