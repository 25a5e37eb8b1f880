"""Sizes, strides and offsets of views: of some elements, in another order, or as another type.

Functions of one view operation take `(sizes, strides, offset, /, **arguments)`, the arguments under PyTorch's
names, and return the view's (size, stride, offset): each can be the `layout` of a `ViewRule`. They raise
PyTorch's errors.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise

from .strides import Dims, Ints, View, _check, wrap_dim

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
    start = offset if storage_offset is None else operator.index(storage_offset)
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
