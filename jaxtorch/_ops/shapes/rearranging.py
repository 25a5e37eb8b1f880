"""Elements repeated, reversed, rotated or put on diagonals, and copies with a part replaced."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, Ints, Sizes, function, functions, inner_op, method, numpy_names, op
from ..._core.define.signature import MISSING, need_kind
from ..._core.dispatch.number_limits import check_number
from ..._core.tensor import layouts, strides, view_strides
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..._core.tensor.views import _put_back
from ..._core.types import dtypes
from ..._core.types.size import as_size, need_sizes
from ..._core.types.value import python_number
from ..common.host_contents import content_of
from ..common.rules import diagonal_of, refuse
from ..reductions.reductions import bad_call, need_few_dims
from ..types.casting import computed_in
from .views import _slice, diagonal, select

# -- repeated


@op(name="repeat", function=False, star="repeats", out=False)
def repeat(input: Array, repeats: Sizes):
    """The tensor repeated so often along each dimension; more repeats than dimensions add leading ones."""
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    size = (1,) * (len(repeats) - input.ndim) + input.shape
    new = [n * r for n, r in zip(size, repeats, strict=True)]
    if any(r < 0 for r in repeats):
        wrong = next(n for n in new if n < 0) if any(n < 0 for n in new) else min(repeats)
        raise RuntimeError(f"Trying to create tensor with negative dimension {wrong}: {new}")
    spread = jnp.broadcast_to(
        input.reshape([m for n in size for m in (1, n)]),
        [m for n, r in zip(size, repeats, strict=True) for m in (r, n)],
    )
    return spread.reshape(new)


@method("tile")
def _tile(self: Tensor, *items: Any, dims: Any = None) -> Tensor:
    """As `repeat`, but fewer repeats than dimensions are for the last ones."""
    if dims is None and not items:
        raise TypeError('tile() missing 1 required positional arguments: "dims"')
    if dims is not None and items:
        raise TypeError("tile() got multiple values for argument 'dims'")
    if dims is None:
        dims = items[0] if len(items) == 1 and not hasattr(type(items[0]), "__index__") else items
    return tile(self, need_sizes("tile", "dims", dims, 1))


@function("tile")
def tile(input: Tensor, dims: Any) -> Tensor:
    """As `repeat`, but fewer repeats than dimensions are for the last ones."""
    if type(input) is not Tensor:
        need_tensor(input, "tile", "input")
    dims = as_size(need_sizes("tile", "dims", dims, 2), "tile", "dims")
    return repeat(input, (1,) * (input._value.aval.ndim - len(dims)) + dims)


@inner_op(grad="ViewBackward0")
def _repeat_each(input: Array, repeats: int, dim: int):
    return jnp.repeat(input, repeats, axis=dim)


@inner_op(grad="IndexSelectBackward0")
def _rows_at(input: Array, rows: Array, dim: int):
    return input.at[(*(slice(None),) * dim, rows)].get(mode="promise_in_bounds")


@method("repeat_interleave")
@numpy_names
def _repeat_interleave(
    self: Tensor, repeats: Any = MISSING, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element (or slice of a dimension) repeated so many times, one number for all or one for each."""
    if repeats is MISSING:
        bad_call("repeat_interleave", () if dim is None else (dim,), {}, ["Tensor repeats, int dim = None"])
    return repeat_interleave(self, repeats, dim, output_size=output_size)


@function("repeat_interleave")
@numpy_names
def repeat_interleave(
    input: Any = MISSING, repeats: Any = MISSING, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element (or slice of a dimension) repeated so many times, one number for all or one for each."""
    if output_size is not None:
        need_kind("repeat_interleave", "output_size", "int", output_size)
    input, repeats = (repeats, MISSING) if input is MISSING else (input, repeats)
    if repeats is None or (repeats is MISSING and dim is not None):
        bad_call("repeat_interleave", (input, repeats, dim), {}, ["Tensor input, Tensor repeats, int dim = None"])
    if repeats is MISSING:
        need_tensor(input, "repeat_interleave", "repeats")
        if dim is not None:
            raise TypeError("repeat_interleave() received an invalid combination of arguments: there are no repeats")
        counts = _counts(input)
        places = np.repeat(np.arange(len(counts)), counts)
        return from_host(places.astype(input.dtype.np), input.device)
    if not isinstance(repeats, Tensor):
        need_kind("repeat_interleave", "repeats", "int", repeats)
    need_tensor(input, "repeat_interleave")
    if dim is None:
        input, dim = input.reshape(-1), 0
    rank = input._value.aval.ndim
    if not rank and isinstance(repeats, Tensor):
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = strides.wrap_dim(dim, rank)
    if not rank:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    n = input._value.aval.shape[d]
    if not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        _check_output(output_size, n * repeats)
        return _repeat_each(input, int(repeats), d)
    counts = _counts(repeats)
    if len(counts) == 1 and n != 1:
        counts = np.broadcast_to(counts, (n,))
    if len(counts) != n:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{len(counts)} and input.size({d}) = {n}"
        )
    _check_output(output_size, int(counts.sum()))
    return _rows_at(input, from_host(np.repeat(np.arange(n), counts), input.device), d)


def _check_output(given: int | None, found: int) -> None:
    if given is not None and given != found:
        raise RuntimeError("allocated size does not match required size")


def _counts(repeats: Tensor) -> np.ndarray:
    if repeats._value.aval.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (dtypes.int64, dtypes.int32):
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{dtypes.scalar_name(repeats.dtype)}'"
        )
    counts = content_of(repeats).reshape(-1)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return counts


# -- in another order


def _tuple(x: Any) -> tuple[int, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


@op(out=False, channels=1)
def roll(input: Array, shifts: Ints, dims: Ints | None = ()):
    """The elements moved along dimensions, those that fall off the end coming back at the front."""
    by, along = _tuple(shifts), () if dims is None else _tuple(dims)
    if not by:
        raise RuntimeError("`shifts` required")
    if not along and len(by) == 1:
        return jnp.roll(input.reshape(-1), by[0]).reshape(input.shape)
    if len(by) != len(along):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}")
    for shift, dim in zip(by, along, strict=True) if input.size else ():
        if not input.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        input = jnp.roll(input, shift, strides.wrap_dim(dim, input.ndim))
    return input


@op(star="dims", function=False, out=False, like_input=True)
def flip(input: Array, dims: Sizes):
    """The order of the elements reversed along dimensions."""
    need_few_dims(input.ndim)
    wrapped = [strides.wrap_dim(d, input.ndim) for d in _tuple(dims)]
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return jnp.flip(input, wrapped) if input.ndim and wrapped else input


@function("flip")
def _flip(input: Tensor, dims: Any) -> Tensor:
    """The order of the elements reversed along dimensions."""
    return flip(input, need_sizes("flip", "dims", dims, 2))


_flip.__name__ = _flip.__qualname__ = "flip"  # as those who are asked see it


@function("fliplr", method=True)
def fliplr(input: Tensor) -> Tensor:
    """The order reversed along dimension 1."""
    if type(input) is not Tensor:
        need_tensor(input, "fliplr", "input")
    if input._value.aval.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@function("flipud", method=True)
def flipud(input: Tensor) -> Tensor:
    """The order reversed along dimension 0."""
    if type(input) is not Tensor:
        need_tensor(input, "flipud", "input")
    if input._value.aval.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@function("rot90", method=True)
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The plane of two dimensions turned by 90 degrees, `k` times, from the first towards the second."""
    out = _rot90(input, k, need_sizes("rot90", "dims", dims, 3))
    size = input._value.aval.shape
    steps = strides.preserved(size, layouts.strides_of(input))
    if k % 2:
        size, steps, _ = view_strides.transpose(size, steps, 0, *dims)
    out._layout = layouts.normal(size, steps, 0)
    return out


@inner_op(grad="Rot90Backward0")
def _rot90(input: Array, k: int, dims: Any):
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = dims
    if a == b or abs(a - b) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}")
    for place, dim in enumerate(dims):
        if not -input.ndim <= dim < input.ndim:
            raise RuntimeError(f"Rotation dim{place} out of range, dim{place} = {dim}")
    return jnp.rot90(input, k, (a, b))


# -- diagonals


@op(out=False)
def trace(input: Array):
    """The sum of a matrix's diagonal."""
    refuse("trace", input, "bool")
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype == np.bool_ or jnp.issubdtype(input.dtype, jnp.integer):
        return jnp.sum(diagonal_of(input), dtype=np.int64)
    return jnp.sum(diagonal_of(input))


def _embed(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    ndim = x.ndim + 1
    a, b = strides.wrap_dim(dim1, ndim), strides.wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = x.shape[-1] + abs(offset)
    rows = up_to(x.shape[-1]) + max(0, -offset)
    whole = jnp.zeros((*x.shape[:-1], n, n), x.dtype)
    whole = whole.at[..., rows, rows + offset].set(x, mode="promise_in_bounds", unique_indices=True)
    return jnp.moveaxis(whole, (-2, -1), (a, b))


@op(out=False)
def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1):
    """The last dimension put on the diagonal of two new ones."""
    if not input.ndim:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    return _embed(input, offset, dim1, dim2)


@op(grad=lambda operands, statics: "DiagEmbedBackward0" if operands[0].ndim == 1 else "DiagonalBackward0_copy")
def diag(input: Array, diagonal: int = 0):
    """A matrix with a vector on its diagonal, or a copy of a matrix's diagonal."""
    if input.ndim == 1:
        return _embed(input, diagonal, -2, -1)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return diagonal_of(input, diagonal)


@op(out=False, grad="DiagEmbedBackward0")
def diagflat(input: Array, offset: int = 0):
    """A matrix with all elements on its diagonal."""
    return _embed(input.reshape(-1), offset, -2, -1)


@method("fill_diagonal_")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Fill the main diagonal; `wrap` starts it again below in a tall matrix."""
    need_kind("fill_diagonal_", "fill_value", "Number", fill_value)
    need_kind("fill_diagonal_", "wrap", "bool", wrap)
    size = self._value.aval.shape
    if len(size) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(size) > 2 and len(set(size)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    row = sum(strides.contiguous(size))
    numbers = np.arange(self._value.aval.numel).reshape(size)
    steps = np.arange(min(size)) * row
    if wrap and len(size) == 2 and size[0] > size[1] + 1:
        every = np.arange(0, self._value.aval.numel, size[1] + 1)
        steps = every
    if isinstance(fill_value, Tensor):
        need_kind("fill_diagonal_", "fill_value", "Number", fill_value)
    else:
        fill_value = python_number(fill_value)
        check_number(fill_value, self._value.aval.dtype, to_infinity=len(steps) == 1)
    self[from_host(np.isin(numbers, steps), self.device)] = fill_value
    return self


# -- copies with a part replaced


def _replaced(view: Any, input: Any, src: Any, part: Any, **arguments: Any) -> Any:
    """The input with `src` in place of the part that a view operation reads."""
    if src.shape != part.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(part.shape)}"
        )
    return _put_back(view, input, computed_in(src, dtypes.from_numpy(input.dtype)), arguments)


@op(out=False, like_input=True)
def diagonal_scatter(input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """The input with a diagonal replaced."""
    given = {"offset": offset, "dim1": dim1, "dim2": dim2}
    return _replaced(diagonal.op, input, src, diagonal.op.fn(input, **given), **given)


@op(out=False, like_input=True)
def select_scatter(input: Array, src: Array, dim: int, index: int):
    """The input with one slice of a dimension replaced."""
    d = strides.wrap_dim(dim, input.ndim)
    view_strides.select(input.shape, strides.contiguous(input.shape), 0, dim, index)
    return _replaced(select.op, input, src, jax.lax.index_in_dim(input, index, d, keepdims=False), dim=d, index=index)


@op(like_input=True)
def slice_scatter(
    input: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
):
    """The input with `[start:end:step]` of a dimension replaced."""
    size, _, _ = view_strides.slice_(input.shape, strides.contiguous(input.shape), 0, dim, start, end, step)
    d = strides.wrap_dim(dim, input.ndim)
    begin = slice(start, end, step).indices(input.shape[d])[0]
    given = {"dim": d, "length": size[d], "step": step, "start": begin}
    part = jnp.zeros(size, input.dtype)  # only its shape counts
    return _replaced(_slice.op, input, src, part, **given)


@function("unravel_index")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat indices as one tensor of indices for each dimension of a shape."""
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is dtypes.bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in size:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in size):
        raise ValueError(f"'shape' cannot have negative values, but got {size}")
    if not size:
        return ()
    steps = list(itertools.accumulate((*size[:0:-1],), operator.mul, initial=1))[::-1]
    by, over = (functions["tensor"](n, dtype=dtypes.int64, device=indices.device) for n in (steps, size))
    return (indices.unsqueeze(-1).floor_divide(by) % over).unbind(-1)  # beyond the shape it begins again


@inner_op(grad="UnsafeSplitBackward0")
def _apart(input: Array, size: int, dim: int):
    """The parts of `split`, each in memory of its own."""
    axis = dim % input.ndim
    ends = [*range(0, input.shape[axis], size), input.shape[axis]]
    return tuple(jax.lax.slice_in_dim(input, i, j, axis=axis) for i, j in itertools.pairwise(ends))
