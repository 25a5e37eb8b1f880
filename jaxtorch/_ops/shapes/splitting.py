"""Parts of a tensor along a dimension, as views: `split`, `chunk`, `unbind`, `tensor_split`, `hsplit` and their like."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..._core.define.op import Array, function, method, numpy_names, op
from ..._core.define.signature import checked, need_kind
from ..._core.tensor import strides, view_strides
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.tensor.view_rules import ViewRule
from ..._core.types import dtypes
from ..._core.types.size import check_long, need_sizes
from .views import _slice, select, slice_dim


def _several(step_of: Any) -> Any:
    def layout(size: Any, stride: Any, offset: int, **_: Any) -> Any:
        return size, stride, offset

    return ViewRule(layout, None, step_of)


def _split_step(aval: Any, j: int, dim: int, sizes: Any) -> Any:
    start = sum(sizes[:j])
    return (_slice.op, (dim, sizes[j], 1), (start,) if start else ())


@op(name="_split", function=False, method=False, grad="SplitBackward0", view=_several(_split_step))
def _split(input: Array, dim: int, sizes: Any):
    return tuple(jax.lax.split(input, sizes, dim))


@op(name="_split_sizes", function=False, method=False, grad="SplitWithSizesBackward0", view=_several(_split_step))
def _split_sizes(input: Array, dim: int, sizes: Any):
    return tuple(jax.lax.split(input, sizes, dim))


def _even(n: int, size: int) -> tuple[int, ...]:
    if not n or not size:
        return (n,)
    return tuple([min(size, n - i) for i in range(0, n, size)])


@function("split")
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one size along a dimension (the last may be smaller), or of the sizes in a list."""
    if not isinstance(tensor, Tensor):  # PyTorch asks it for its method
        return tensor.split(split_size_or_sections, dim)
    aval = tensor._value.aval
    if isinstance(split_size_or_sections, (list, tuple)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    if split_size_or_sections.__class__ is not int:
        if not isinstance(split_size_or_sections, Tensor):  # NumPy's whole numbers are none of its kinds either
            need_sizes("split_with_sizes", "split_sizes", split_size_or_sections, 2)
        elif split_size_or_sections.numel() != 1:
            raise TypeError("split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not Tensor")
    size = check_long(int(split_size_or_sections))
    if not aval.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    d = strides.wrap_dim(dim, aval.ndim)
    n = aval.shape[d]
    if size == 0 and n != 0:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    return _split(tensor, d, _even(n, size))


@function("split", method=True, function=False)
def split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`torch.split`, whose second parameter has another name there."""
    return split(self, split_size, dim)


split_method.__name__ = split_method.__qualname__ = "split"


@function("split_with_sizes", method=True)
@numpy_names
@checked
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of the given sizes along a dimension."""
    aval = input._value.aval
    need_sizes("split_with_sizes", "split_sizes", split_sizes, 2)
    if not aval.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = strides.wrap_dim(dim, aval.ndim)
    sizes = tuple([int(s) for s in split_sizes])
    view_strides.split(aval.shape, sizes, dim)  # raises PyTorch's errors
    return _split_sizes(input, d, sizes)


@function("chunk", method=True)
@numpy_names
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size along a dimension."""
    if chunks.__class__ is not int:
        need_kind("chunk", "chunks", "int", chunks)
        chunks = int(chunks)
    aval = need_tensor(input, "chunk")._value.aval
    if not aval.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if check_long(chunks) <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = strides.wrap_dim(dim, aval.ndim)
    n = aval.shape[d]
    if n == 0:
        return _split_sizes(input, d, (0,) * chunks)
    return _split(input, d, _even(n, -(-n // chunks)))


@op(
    view=_several(lambda aval, j, dim: (select.op, (dim,), (j,))),
    grad="UnbindBackward0",
)
def unbind(input: Array, dim: int = 0):
    """All slices along a dimension, which is dropped."""
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = strides.wrap_dim(dim, input.ndim)
    return tuple([jnp.squeeze(part, d) for part in jax.lax.split(input, (1,) * input.shape[d], d)])


# -- cut at indices, or into so many sections


def _pieces(t: Tensor, parts: list[tuple[int, int]], dim: int) -> tuple[Tensor, ...]:
    return tuple([slice_dim(t, dim, start, start + length, 1) for start, length in parts])


def _numbers(given: Any) -> Any:
    """Sections or indices as an int or a tuple of ints."""
    if isinstance(given, Tensor):
        if given.dtype is not dtypes.int64 or given._value.aval.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                "one-dimensional tensor of "
                f"type Long, but got one of type {dtypes.scalar_name(given.dtype)}"
            )
        given = given.tolist()
    return tuple([int(i) for i in given]) if isinstance(given, (tuple, list)) else int(given)


def _the_way(name: str, *ways: Any) -> Any:
    """The one way to split that is given, among its names: a number of parts, or indices."""
    given = [x for x in ways if x is not None]
    if len(given) != 1 or isinstance(given[0], str):
        kinds = ", ".join(type(x).__name__ for x in given) or "nothing"
        raise TypeError(f"{name}(): expected an int or a tuple of ints to split by, but got {kinds}")
    ways_given = given[0] if isinstance(given[0], (list, tuple)) else given[:1]
    for way in ways_given:
        if isinstance(way, Tensor) and way.dtype is not dtypes.int64:
            found = dtypes.scalar_name(way.dtype)
            raise RuntimeError(f"{name} expected tensor_indices_or_sections to have dtype of long, but got {found}")
        check_long(way)
        if way.__class__ is not int and not (isinstance(way, Tensor) and way.ndim):
            need_kind(name, "indices_or_sections", "int", way)
    return _numbers(given[0])


@function("tensor_split", method=True)
@numpy_names
@checked
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None,
    sections: Any = None, tensor_indices_or_sections: Any = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Parts of a dimension, cut at indices or into so many sections."""
    given = _the_way("tensor_split", indices_or_sections, indices, sections, tensor_indices_or_sections)
    size = input._value.aval.shape
    parts = view_strides.tensor_split(size, given, dim)
    return _pieces(input, parts, strides.wrap_dim(dim, len(size)))


def _splitting(name: str, least: int, dim: Any) -> None:
    def split_into(input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> Any:
        size = need_tensor(input, name)._value.aval.shape
        ways = [x for x in (indices_or_sections, indices, sections) if x is not None]
        for way in ways:
            if (isinstance(way, Tensor) and (way.ndim or dtypes.category(way.dtype) != 1)) or isinstance(
                way, (tuple, list)
            ):
                need_sizes(name, "indices", way)
        given = _the_way(name, indices_or_sections, indices, sections)
        if len(size) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {len(size)} "
                "dimensions!"
            )
        d = dim(len(size))
        if isinstance(given, int) and (given <= 0 or size[d] % given):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {size[d]} is not "
                f"divisible by the split_size {given}!"
            )
        return _pieces(input, view_strides.tensor_split(size, given, d), d)

    split_into.__name__ = split_into.__qualname__ = name
    split_into.__doc__ = "Equal parts of one dimension, or parts cut at indices."
    function(name)(split_into)

    def one_by_one(self: Tensor, indices_or_sections: Any = None, *more: int, **named: Any) -> Any:
        given = need_sizes(name, "indices", (indices_or_sections, *more)) if more else indices_or_sections
        return split_into(self, given, **named)

    one_by_one.__qualname__ = f"Tensor.{name}"
    one_by_one.__doc__ = split_into.__doc__
    method(name)(one_by_one)


_splitting("hsplit", 1, lambda ndim: 0 if ndim == 1 else 1)
_splitting("vsplit", 2, lambda ndim: 0)
_splitting("dsplit", 3, lambda ndim: 2)
