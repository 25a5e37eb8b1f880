"""Sizes, strides and offsets as PyTorch reports them: plain integers, no arrays.

Functions of one view operation take `(sizes, strides, offset, /, **arguments)`, the arguments under PyTorch's
names, and return the view's (size, stride, offset): each can be the `layout` of a `ViewRule`. They raise
PyTorch's errors.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod

Ints = tuple[int, ...]
Dims = int | Sequence[int]
View = tuple[Ints, Ints, int]


def _check(fine: object, message: str) -> None:
    if not fine:
        raise RuntimeError(message)


# -- dimensions and shapes


def wrap_dim(dim: int, ndim: int, scalar: bool = True) -> int:
    """The dimension counted from the front. With `scalar`, a 0-d tensor has one dimension to name."""
    bound = ndim
    if ndim == 0:
        if not scalar:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        bound = 1
    if not -bound <= dim < bound:
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


@functools.lru_cache(8192)
def _row_major(size: Ints) -> Ints:
    return _packed([int(n) for n in size], range(len(size) - 1, -1, -1))


def channels_last(size: Sequence[int], memory_format: str = "channels_last") -> Ints:
    """Strides of `torch.channels_last` (4-d) or `torch.channels_last_3d` (5-d)."""
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
    return 0 not in size and any(s == 0 and n > 1 for n, s in zip(size, stride))


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
    size = tuple(size)
    return tuple(stride) if is_dense(size, stride) else _packed(size, _memory_order(size, [stride]))


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


# -- views that reorder dimensions


def permute(sizes: Ints, strides: Ints, offset: int, /, dims: Sequence[int]) -> View:
    """`permute(dims)`."""
    _check(
        len(dims) == len(sizes),
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
        f"desired ordering of dimensions i.e. input.dim() = {len(sizes)} is not equal to "
        f"len(dims) = {len(dims)}",
    )
    order: list[int] = []
    for dim in dims:
        dim = wrap_dim(dim, len(sizes))
        _check(dim not in order, "permute(): duplicate dims are not allowed.")
        order.append(dim)
    return tuple([sizes[d] for d in order]), tuple([strides[d] for d in order]), offset


def transpose(sizes: Ints, strides: Ints, offset: int, /, dim0: int, dim1: int) -> View:
    """`transpose(dim0, dim1)`, also `swapaxes` and `swapdims`."""
    a, b = wrap_dim(dim0, len(sizes)), wrap_dim(dim1, len(sizes))
    order = list(range(len(sizes)))
    if a != b:
        order[a], order[b] = b, a
    return permute(sizes, strides, offset, order)


swapaxes = transpose


def t(sizes: Ints, strides: Ints, offset: int, /) -> View:
    """`t()`: at most two dimensions, swapped."""
    _check(len(sizes) <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {len(sizes)}D")
    return sizes[::-1], strides[::-1], offset


def mT(sizes: Ints, strides: Ints, offset: int, /, name: str = "mT") -> View:
    """`.mT` (or `.mH`): the last two dimensions, swapped."""
    end = "is only supported on matrices or batches of matrices. Got 1-D tensor."
    _check(len(sizes) != 1, f"tensor.{name} {end}")
    return transpose(sizes, strides, offset, -2, -1) if sizes else (sizes, strides, offset)


def moved_order(ndim: int, source: Dims, destination: Dims) -> Ints:
    """The permutation that `movedim(source, destination)` is."""
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    _check(
        len(source) == len(destination),
        f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain "
        f"the same number of dims as destination ({list(destination)} dims)",
    )
    src, dst = [wrap_dim(d, ndim) for d in source], [wrap_dim(d, ndim) for d in destination]
    for name, wrapped, given in (("source", src, source), ("destination", dst, destination)):
        _check(len(set(wrapped)) == len(wrapped), f"movedim: repeated dim in `{name}` ({list(given)})")
    if ndim == 0:
        return ()
    placed = dict(zip(dst, src))
    rest = iter([d for d in range(ndim) if d not in src])
    return tuple([placed[d] if d in placed else next(rest) for d in range(ndim)])


def movedim(sizes: Ints, strides: Ints, offset: int, /, source: Dims, destination: Dims) -> View:
    """`movedim(source, destination)`."""
    return permute(sizes, strides, offset, moved_order(len(sizes), source, destination))


# -- views that add or drop dimensions


def squeeze(sizes: Ints, strides: Ints, offset: int, /, dim: Dims | None = None) -> View:
    """`squeeze()`, `squeeze(dim)` or `squeeze(dims)`: without the named dimensions of size 1."""
    ndim, drop = len(sizes), set()
    for d in range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim:
        d = wrap_dim(d, ndim)
        _check(d not in drop, f"dim {d} appears multiple times in the list of dims")
        drop.add(d)
    kept = [d for d in range(ndim) if sizes[d] != 1 or d not in drop]
    return tuple([sizes[d] for d in kept]), tuple([strides[d] for d in kept]), offset


def unsqueeze(sizes: Ints, strides: Ints, offset: int, /, dim: int) -> View:
    """`unsqueeze(dim)`: a new dimension of size 1."""
    dim = wrap_dim(dim, len(sizes) + 1)
    step = sizes[dim] * strides[dim] if dim < len(sizes) else 1
    return (*sizes[:dim], 1, *sizes[dim:]), (*strides[:dim], step, *strides[dim:]), offset


def expand_size(sizes: Ints, size: Sequence[int], typename: str = "torch.FloatTensor") -> Ints:
    """The size `expand(size)` gives, its -1 filled in. `typename` only appears in the error message."""
    lead = len(size) - len(sizes)
    _check(
        lead >= 0,
        f"expand({typename}{{{list(sizes)}}}, size={list(size)}): the number of sizes provided ({len(size)})"
        f" must be greater or equal to the number of dimensions in the tensor ({len(sizes)})",
    )
    for dim in range(len(size) - 1, -1, -1):
        n, old = size[dim], 1 if dim < lead else sizes[dim - lead]
        if dim < lead and n == -1 and sizes:
            end = f"(-1) isn't allowed in a leading, non-existing dimension {dim}"
        elif dim >= lead and n not in (-1, old) and old != 1:
            end = f"({n}) must match the existing size ({old}) at non-singleton dimension {dim}."
            end += f"  Target sizes: {list(size)}.  Tensor sizes: {list(sizes)}"
        else:
            continue
        raise RuntimeError(f"The expanded size of the tensor {end}")
    new = tuple([sizes[d - lead] if n == -1 and d >= lead else n for d, n in enumerate(size)])
    _check(not any(n < 0 for n in new), "numel: integer multiplication overflow")
    return new


def expand(sizes: Ints, strides: Ints, offset: int, /, size: Sequence[int], implicit: bool = False) -> View:
    """`expand(size)`: repeated along dimensions of size 1 and new leading ones, with a stride of 0."""
    new = expand_size(sizes, size)
    if not sizes:
        return new, (0,) * len(new), offset
    lead, out, inside = len(new) - len(sizes), [0] * len(new), 1
    for dim in range(len(new) - 1, -1, -1):
        n, s = (sizes[dim - lead], strides[dim - lead]) if dim >= lead else (1, inside)
        out[dim] = s if n == new[dim] else 0
        inside = new[dim] * out[dim]
    return new, tuple(out), offset


# -- views of some elements


def select(sizes: Ints, strides: Ints, offset: int, /, dim: int, index: int) -> View:
    """`select(dim, index)`: one index of a dimension, which goes."""
    if not sizes:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(sizes))
    n = sizes[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(sizes)} at dimension {dim}")
    index += n if index < 0 else 0
    return sizes[:dim] + sizes[dim + 1 :], strides[:dim] + strides[dim + 1 :], offset + index * strides[dim]


def slice_(
    sizes: Ints, strides: Ints, offset: int, /,
    dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1,
) -> View:  # fmt: skip
    """`x[start:end:step]` along one dimension; bounds are clamped as in Python."""
    if not sizes:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(sizes))
    _check(step > 0, "slice step must be positive")
    begin, stop, _ = slice(start, end).indices(sizes[dim])
    length = max(0, -((begin - stop) // step))
    new = (*sizes[:dim], length, *sizes[dim + 1 :])
    return new, (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]), offset + begin * strides[dim]


def narrow(sizes: Ints, strides: Ints, offset: int, /, dim: int, start: int, length: int) -> View:
    """`narrow(dim, start, length)`: unlike a slice, out of range is an error."""
    _check(sizes, "narrow() cannot be applied to a 0-dim tensor.")
    _check(length >= 0, "narrow(): length must be non-negative.")
    dim = wrap_dim(dim, len(sizes))
    n = sizes[dim]
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start += n if start < 0 else 0
    _check(start + length <= n, f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return slice_(sizes, strides, offset, dim, start, start + length)


def diagonal(sizes: Ints, strides: Ints, base: int, /, offset: int = 0, dim1: int = 0, dim2: int = 1) -> View:
    """`diagonal(offset, dim1, dim2)`: the diagonal comes last."""
    a, b = wrap_dim(dim1, len(sizes)), wrap_dim(dim2, len(sizes))
    _check(a != b, f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = max(0, min(sizes[a], sizes[b] - offset) if offset >= 0 else min(sizes[a] + offset, sizes[b]))
    if length:
        base += offset * strides[b] if offset >= 0 else -offset * strides[a]
    kept = [d for d in range(len(sizes)) if d not in (a, b)]
    step = strides[a] + strides[b]
    return (*[sizes[d] for d in kept], length), (*[strides[d] for d in kept], step), base


def unfold(sizes: Ints, strides: Ints, offset: int, /, dimension: int, size: int, step: int) -> View:
    """`unfold(dimension, size, step)`: windows, their elements in a new last dimension."""
    dim = wrap_dim(dimension, len(sizes))
    n = sizes[dim] if sizes else 1
    _check(size >= 0, f"size is {size} but must be >= 0")
    _check(size <= n, f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    _check(step > 0, f"step is {step} but must be > 0")
    if not sizes:
        return (size,), (1,), offset
    new = (*sizes[:dim], (n - size) // step + 1, *sizes[dim + 1 :], size)
    return new, (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]), offset


def as_strided(
    sizes: Ints, strides: Ints, offset: int, /,
    size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None, *,
    storage: int | None = None, itemsize: int = 4,
) -> View:  # fmt: skip
    """`as_strided(size, stride, storage_offset)`, checked against a `storage` of so many elements."""
    size, stride = tuple(size), tuple(stride)
    start = offset if storage_offset is None else storage_offset
    _check(len(size) == len(stride), "mismatch in length of strides and shape")
    end = f"not supported at the moment, got strides: {list(stride)}"
    _check(min(stride, default=0) >= 0, f"as_strided: Negative strides are {end}")
    found = f"sizes={list(size)} and strides={list(stride)}"
    _check(min(size, default=0) >= 0, f"Storage size calculation overflowed with {found}")
    _check(start >= 0, f"Tensor: invalid storage offset {start}")
    if storage is not None and 0 not in size:
        needed = start + 1 + sum([(n - 1) * s for n, s in zip(size, stride)])
        _check(
            needed <= storage,
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize "
            f"{itemsize} requiring a storage size of {needed * itemsize} are out of bounds for "
            f"storage of size {storage * itemsize}",
        )
    return size, stride, start


# -- splits: the (start, length) of each part


def _parted(sizes: Ints, dim: int, name: str) -> int:
    _check(sizes, f"{name} expects at least a 1-dimensional tensor")
    return sizes[wrap_dim(dim, len(sizes))]


def split(sizes: Ints, split_size: Dims, dim: int = 0) -> list[tuple[int, int]]:
    """`split(split_size, dim)`, parts of one size or of the sizes given."""
    if sizes and isinstance(split_size, int) and split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    n = _parted(sizes, dim, "split")
    if isinstance(split_size, int):
        ending = f"can only be 0 if dimension size is 0, but got dimension size of {n}"
        _check(split_size or not n, f"split_size {ending}")
        return [(i, min(split_size, n - i)) for i in range(0, max(n, 1), max(split_size, 1))]
    lengths = list(split_size)
    found = f", but got split_sizes={lengths}"
    _check(
        min(lengths, default=0) >= 0,
        f"split_with_sizes expects split_sizes have only non-negative entries{found}",
    )
    found = f"to sum exactly to {n} (input tensor's size at dimension {dim}){found}"
    _check(sum(lengths) == n, f"split_with_sizes expects split_sizes {found}")
    return [(sum(lengths[:i]), length) for i, length in enumerate(lengths)]


def chunk(sizes: Ints, chunks: int, dim: int = 0) -> list[tuple[int, int]]:
    """`chunk(chunks, dim)`: equal parts, perhaps fewer than asked."""
    if sizes and chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = _parted(sizes, dim, "chunk")
    return split(sizes, -(-n // chunks), dim) if n else [(0, 0)] * chunks


def tensor_split(sizes: Ints, indices_or_sections: Dims, dim: int = 0) -> list[tuple[int, int]]:
    """`tensor_split(sections or indices, dim)`: as many parts as asked; the first take what is left over."""
    _check(sizes, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    n = sizes[wrap_dim(dim, len(sizes))]
    if isinstance(indices_or_sections, int):
        parts = indices_or_sections
        _check(parts > 0, f"number of sections must be larger than 0, got {parts}")
        bounds = [i * (n // parts) + min(i, n % parts) for i in range(parts + 1)]
        return [(a, b - a) for a, b in pairwise(bounds)]
    bounds = [0, *indices_or_sections]
    clamped = [slice(a, b).indices(n) for a, b in zip(bounds, [*bounds[1:], n])]
    return [(a, max(0, b - a)) for a, b, _ in clamped]


def unbind(sizes: Ints, strides: Ints, offset: int, /, dim: int = 0) -> list[View]:
    """`unbind(dim)`: a view for each index of the dimension."""
    dim = wrap_dim(wrap_dim(dim, len(sizes)), len(sizes), scalar=False)
    return [select(sizes, strides, offset, dim, i) for i in range(sizes[dim])]


# -- views as another type


def view_as_real(sizes: Ints, strides: Ints, offset: int, /) -> View:
    """A complex tensor as pairs of numbers, in a new last dimension."""
    return (*sizes, 2), (*[2 * s for s in strides], 1), 2 * offset


def view_as_complex(sizes: Ints, strides: Ints, offset: int, /) -> View:
    """Pairs in the last dimension as complex numbers."""
    _check(sizes, "Input tensor must have one or more dimensions")
    _check(sizes[-1] == 2, "Tensor must have a last dimension of size 2")
    _check(strides[-1] == 1, "Tensor must have a last dimension with stride 1")
    even = not any(s % 2 for s in strides[:-1])
    _check(even, "Tensor must have a stride divisible by 2 for all but last dimension")
    _check(offset % 2 == 0, "Tensor must have a storage_offset divisible by 2")
    return sizes[:-1], tuple([s // 2 for s in strides[:-1]]), offset // 2


def view_dtype(
    sizes: Ints, strides: Ints, offset: int, /, old: int, new: int, names: tuple[str, str] = ("old", "new")
) -> View:
    """`view(dtype)` from elements of `old` bytes to `new`; `names` ("Float") appear in the errors."""
    if old == new:
        return sizes, strides, offset
    end = f"to view {names[0]} as {names[1]} (different element sizes)"
    _check(sizes, f"self.dim() cannot be 0 {end}")
    k = max(old, new) // min(old, new)
    if new > old and sizes[-1] % k:
        raise RuntimeError(f"self.size(-1) must be divisible by {k} {end}, but got {sizes[-1]}")
    if new > old and offset % k:
        raise RuntimeError(f"self.storage_offset() must be divisible by {k} {end}, but got {offset}")
    _check(strides[-1] == 1, f"self.stride(-1) must be 1 {end}, but got {strides[-1]}")
    if old > new:
        return (*sizes[:-1], sizes[-1] * k), (*[s * k for s in strides[:-1]], 1), offset * k
    for d, s in enumerate(strides[:-1]):
        _check(s % k == 0, f"self.stride({d}) must be divisible by {k} {end}, but got {s}")
    return (*sizes[:-1], sizes[-1] // k), (*[s // k for s in strides[:-1]], 1), offset // k
