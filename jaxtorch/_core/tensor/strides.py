"""Sizes, strides and offsets as PyTorch reports them: plain integers, no arrays.

They raise PyTorch's errors. Views of some elements, or in another order: `view_strides.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..compile.symbolic_sizes import Extent
from ..tuning import CACHED
from ..types.size import check_long, kind_name

Ints = tuple[int, ...]
Dims = int | Sequence[int]
View = tuple[Ints, Ints, int]


def _check(fine: object, message: str) -> None:
    if not fine:
        raise RuntimeError(message)


# -- dimensions and shapes


def _dimension(given: Any) -> int:
    """A dimension that is no int of Python's, as one; TypeError where it stands for none."""
    if isinstance(given, (bool, np.ndarray)) or not hasattr(given, "__index__") or getattr(given, "ndim", 0):
        raise TypeError(f"argument 'dim' must be int, not {kind_name(given)}")
    if hasattr(given, "_value") and (given.dtype.is_floating_point or given.dtype.name == "bool"):
        raise TypeError("argument 'dim' must be int, not Tensor")
    return given.__index__()


def wrap_dim(dim: int, ndim: int, scalar: bool = True) -> int:
    """The dimension counted from the front. With `scalar`, a 0-d tensor has one dimension to name."""
    if dim.__class__ is not int:
        dim = _dimension(dim)
    bound = ndim
    if ndim == 0:
        if not scalar:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        bound = 1
    if not -bound <= dim < bound:
        check_long(dim)
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim + bound if dim < 0 else dim


def infer_size(newsize: Iterable[int], numel: int) -> Ints:
    """A size with its -1 filled in for `numel` elements."""
    new = tuple(newsize)
    known, unknown = 1, -1
    for i, n in enumerate(new):
        if n == -1:
            _check(unknown < 0, "only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(new)}")
        else:
            known *= n
    if unknown < 0:
        if known == numel:
            return new
    elif known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(new)} because the "
            "unspecified dimension size -1 can be any value and is ambiguous"
        )
    elif known and numel % known == 0:
        return (*new[:unknown], numel // known, *new[unknown + 1 :])
    raise RuntimeError(f"shape '{list(new)}' is invalid for input of size {numel}")


def broadcast_shapes(*shapes: Sequence[int]) -> Ints:
    """The common shape of operands; RuntimeError where two do not broadcast."""
    if not shapes:
        return ()
    found = tuple(shapes[0])
    for shape in shapes[1:]:
        if shape != found:
            found = _broadcast_two(found, tuple(shape))
    return found


def _broadcast_two(a: Ints, b: Ints) -> Ints:
    ndim = max(len(a), len(b))
    a, b = (1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b
    for dim in range(ndim - 1, -1, -1):
        if a[dim] != b[dim] and a[dim] != 1 and b[dim] != 1:
            raise RuntimeError(
                f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at "
                f"non-singleton dimension {dim}"
            )
    return tuple([n if m == 1 else m for n, m in zip(a, b)])


# -- layouts

CHANNELS_LAST = {"channels_last": (1, 3, 2, 0), "channels_last_3d": (1, 4, 3, 2, 0)}  # innermost first


def _packed(size: Sequence[int], order: Iterable[int], least: int = 1) -> Ints:
    """Strides without gaps, innermost first in `order`. A size of 0 counts as `least`: PyTorch does both."""
    out, step = [0] * len(size), 1
    for dim in order:
        out[dim] = step
        step *= max(size[dim], least)
    return tuple(out)


def contiguous(size: Sequence[int]) -> Ints:
    """Row-major strides."""
    return _row_major(tuple(size))


@functools.lru_cache(CACHED)
def _row_major(size: Ints) -> Ints:
    return _packed([n if type(n) is Extent else int(n) for n in size], range(len(size) - 1, -1, -1))


def channels_last(size: Sequence[int], memory_format: str = "channels_last") -> Ints:
    """Strides of `torch.channels_last` (4-d) or `torch.channels_last_3d` (5-d)."""
    if memory_format == "preserve_format":
        raise RuntimeError("Unsupported memory formatPreserve")
    order = CHANNELS_LAST[memory_format]
    if len(size) != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {memory_format} format")
    return _packed(size, order, least=0)


def _is_packed(size: Sequence[int], stride: Sequence[int], order: Iterable[int]) -> bool:
    step = 1
    for dim in order:
        if size[dim] != 1:
            if stride[dim] != step:
                return False
            step *= size[dim]
    return True


def is_contiguous(size: Sequence[int], stride: Sequence[int], memory_format: str | None = None) -> bool:
    """Is the layout that of `memory_format`: row-major, "channels_last" or "channels_last_3d"?"""
    if memory_format in (None, "contiguous_format"):
        return 0 in size or _is_packed(size, stride, range(len(size) - 1, -1, -1))
    order = CHANNELS_LAST.get(str(memory_format))
    if order is None:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return len(size) == len(order) and _is_packed(size, stride, order)


def is_dense(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Do the elements fill their memory without gaps or overlaps, in whatever order of dimensions?"""
    if is_contiguous(size, stride):
        return True
    dims = [d for d in range(len(size)) if size[d] != 1]
    return _is_packed(size, stride, sorted(dims, key=lambda d: stride[d]))


def may_overlap(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Does PyTorch refuse in-place writes? It looks for strides of 0 only, not other overlaps (`unfold`)."""
    return 0 in stride and 0 not in size and any(s == 0 and n > 1 for n, s in zip(size, stride))


def _memory_order(shape: Ints, strides: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions innermost first, as the operands (of one `shape`) lie in memory.

    Operands are asked in turn; a stride of 0 has no say, and of equal strides the smaller dimension goes
    inside. That is not transitive, so the result depends on the sort: insertion, starting row-major.
    """

    def outside(a: int, b: int) -> int:
        for stride in strides:
            if stride[a] and stride[b]:
                if stride[a] != stride[b]:
                    return 1 if stride[a] > stride[b] else -1
                if shape[a] > shape[b]:
                    return 1
        return 0

    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        at = start
        for before in range(start - 1, -1, -1):
            found = outside(order[before], order[at])
            if found > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif found < 0:
                break
    return order


def preserved(size: Sequence[int], stride: Sequence[int]) -> Ints:
    """Strides of `clone()` and `empty_like()`: the same where dense, otherwise packed in the same order."""
    return _preserved(tuple(size), tuple(stride))


@functools.lru_cache(CACHED)
def _preserved(size: Ints, stride: Ints) -> Ints:
    return stride if is_dense(size, stride) else _packed(size, _memory_order(size, [stride]))


def elementwise_strides(shapes: Sequence[Sequence[int]], strides: Sequence[Sequence[int]]) -> Ints:
    """Strides of an elementwise result: operands that are permuted or channels-last pass their layout on.

    A Python number is an operand of shape () where PyTorch makes a tensor of it.
    """
    shape = broadcast_shapes(*shapes)
    if all(tuple(s) == shape for s in shapes):
        pairs = list(zip(shapes, strides))
        if all(is_contiguous(*pair) for pair in pairs):
            return contiguous(shape)
        if all(is_contiguous(*pair, "channels_last") for pair in pairs):
            return channels_last(shape)
        first = tuple(strides[0])
        if all(tuple(s) == first for s in strides) and is_dense(shape, first):
            return first
    spread = []
    for old, stride in zip(shapes, strides):
        lead = len(shape) - len(old)
        spread.append([0] * lead + [0 if m == 1 and n != 1 else s for m, n, s in zip(old, shape[lead:], stride)])
    order = _memory_order(shape, spread)
    if order == list(range(len(shape) - 1, -1, -1)):
        return contiguous(shape)
    return _packed(shape, order, least=0)


# -- views of the same elements in the same order


def view_strides(size: Sequence[int], stride: Sequence[int], new: Sequence[int]) -> Ints | None:
    """Strides that read the same memory as size `new` (as many elements, no -1), None if none do."""
    if 0 in size:
        return tuple(stride) if tuple(size) == tuple(new) else contiguous(new)
    if not size:
        return (1,) * len(new)
    out, left = [0] * len(new), len(new) - 1
    count, base = 1, stride[-1]  # a run of old dimensions that are evenly spaced as one
    for dim in range(len(size) - 1, -1, -1):
        count *= size[dim]
        if dim and (size[dim - 1] == 1 or stride[dim - 1] == count * base):
            continue
        made = 1
        while left >= 0 and (made < count or new[left] == 1):
            out[left] = made * base
            made *= new[left]
            left -= 1
        if made != count:
            return None
        count, base = 1, stride[dim - 1]
    return tuple(out) if left < 0 else None


def reshape_is_view(size: Sequence[int], stride: Sequence[int], newsize: Iterable[int]) -> bool:
    """Does `reshape` share memory (True), or copy?"""
    return view_strides(size, stride, infer_size(newsize, prod(size))) is not None


def view(size: Sequence[int], stride: Sequence[int], newsize: Iterable[int]) -> tuple[Ints, Ints]:
    """(size, stride) of `view(newsize)`; RuntimeError where no strides fit."""
    new = infer_size(newsize, prod(size))
    found = view_strides(size, stride, new)
    if found is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return new, found


def flatten_size(sizes: Sequence[int], start_dim: int = 0, end_dim: int = -1) -> Ints:
    """The size `flatten` reshapes to."""
    start, end = wrap_dim(start_dim, len(sizes)), wrap_dim(end_dim, len(sizes))
    _check(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim")
    if not sizes:
        return (1,)
    return (*sizes[:start], prod(sizes[start : end + 1]), *sizes[end + 1 :])


def unflatten_size(sizes: Sequence[int], dim: int, new: Iterable[int]) -> Ints:
    """The size `unflatten(dim, new)` views as."""
    new, at = tuple(new), wrap_dim(dim, len(sizes))
    _check(new, "unflatten: sizes must be non-empty")
    try:
        wrap_dim(dim, len(sizes), scalar=False)
        part = infer_size(new, sizes[at])
    except (IndexError, RuntimeError) as error:
        if "is invalid for input" not in str(error):
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(new)} don't multiply up to the size of dim {at} ({sizes[at]}) "
            "in the input tensor"
        ) from None
    return (*sizes[:at], *part, *sizes[at + 1 :])


def unflatten(sizes: Ints, strides: Ints, offset: int, /, dim: int, new: Iterable[int]) -> View:
    """`unflatten(dim, new)`: one dimension seen as several."""
    return (*view(sizes, strides, unflatten_size(sizes, dim, new)), offset)
