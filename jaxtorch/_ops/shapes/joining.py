"""Tensors put together: `cat`, `stack` and their relatives.

Tensors whose content lies in host memory (the samples of a batch) are joined by NumPy at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Arrays, function, functions, inner_op, numpy_names
from ..._core.tensor import strides
from ..._core.tensor.layouts import suggests
from ..._core.tensor.out_tensors import refuse_parts, refuse_shared
from ..._core.tensor.sparse_value import NoContent, answers, is_sparse
from ..._core.tensor.tensor import Tensor, from_host, need_tensor, strict_out, write_out
from ..._core.types import dtypes
from ..._core.types.grad_mode import state
from ..common.host_contents import host_content


def _sequence(tensors: Any, name: str) -> list[Tensor]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return list(tensors)


def _on_host(tensors: list[Tensor]) -> list[np.ndarray] | None:
    """The contents in host memory, if all are there, have one type and want no gradient."""
    grad, dtype, found = state.grad, tensors[0]._value.aval.dtype, []
    for t in tensors:
        if t._alias is not None:
            t._alias.read(t)
        if (grad and t._rg) or t._value.aval.dtype is not dtype:
            return None
        array = host_content(t)
        if array is None:
            return None
        found.append(array)
    return found


@inner_op(promote=True, grad="CatBackward0")
def _cat(tensors: Arrays, dim: int):
    return jnp.concatenate(tensors, axis=dim)


def _check_cat(shapes: list[Any], dim: int) -> int:
    """The dimension to join along, for these shapes without the legacy empty ones."""
    first = shapes[0]
    d = strides.wrap_dim(dim, len(first))
    if shapes.count(first) == len(shapes):
        return d
    for i, shape in enumerate(shapes):
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for k, (n, m) in enumerate(zip(first, shape, strict=True)):
            if n != m and k != d:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {n} but got size "
                    f"{m} for tensor "
                    f"number {i} in the list."
                )
    return d


def _join(tensors: list[Tensor], dim: int) -> Tensor:
    shapes = [t._value.aval.shape for t in tensors]
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    first = shapes[0]
    if (0,) in shapes:
        full = [s for s in shapes if s != (0,)]
        if not full:
            dim = 0  # PyTorch looks at no dimension where all are empty
        elif len(full) < len(shapes) and len(full[0]) != 1:
            dim = _check_cat(full, dim)
            return _join([_emptied(t, full[0], dim) if t._value.aval.shape == (0,) else t for t in tensors], dim)
    d = _check_cat(shapes, dim)
    arrays = _on_host(tensors)
    out = from_host(np.concatenate(arrays, d)) if arrays is not None else _cat(tensors, d)
    if len(first) in (4, 5) and tensors[0]._layout is not None:
        formats = {suggests(t) for t in tensors}
        name = formats.pop()
        if name is not None and not formats:
            order = strides.channels_last(out._value.aval.shape, name)
            out._layout = None if order == strides.contiguous(out._value.aval.shape) else (order, 0)
    return out


def _emptied(t: Tensor, shape: Any, dim: int) -> Tensor:
    """A legacy empty tensor, which joins tensors of any shape, with a shape that lets it."""
    return t.reshape((*shape[:dim], 0, *shape[dim + 1 :]))


def _cat_like(tensors: Any, dim: int, out: Any, axis: Any) -> Tensor:
    tensors = _sequence(tensors, "cat")
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    if out is not None:
        refuse_shared(out, tensors)
    dim = dim if axis is None else axis
    try:
        result = _join(tensors, dim)
    except NoContent:
        result = answers[-1](cat, (tensors, dim), {})
    return result if out is None else write_out(out, result, "cat")


@function("cat", aliases=["concat", "concatenate"])
def cat(tensors: Any, dim: int = 0, *, out: Tensor | None = None, axis: int | None = None) -> Tensor:
    """The tensors joined along an existing dimension; all other sizes must agree."""
    return _cat_like(tensors, dim, out, axis)


@inner_op(promote=True, grad="StackBackward0")
def _stack(tensors: Arrays, dim: int):
    return jnp.stack(tensors, axis=dim)


@function("stack")
@numpy_names
def stack(tensors: Any, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors, all of one shape, joined along a new dimension."""
    tensors = _sequence(tensors, "stack")
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0]._value.aval.shape
    dim = strides.wrap_dim(dim, len(shape) + 1)
    for i, t in enumerate(tensors):
        if t._value.aval.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(t._value.aval.shape)} at entry {i}"
            )
    if out is not None:
        refuse_parts(out, tensors)
    try:
        arrays = _on_host(tensors)
    except NoContent:
        return answers[-1](stack, (tensors, dim), {})
    result = from_host(np.stack(arrays, dim)) if arrays is not None else _stack(tensors, dim)
    return result if out is None else write_out(out, result, "stack")


# -- at least so many dimensions


def _several(name: str, one: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """The function of one tensor, of several, or of a sequence of tensors."""

    def at_least(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return one(tensors[0])
        if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
            tensors = tuple(tensors[0])
        return tuple([one(need_tensor(t, name, "tensors")) for t in tensors])

    at_least.__name__ = at_least.__qualname__ = name
    at_least.__doc__ = f"The tensors, reshaped to at least {name[8]} dimensions."
    return function(name)(at_least)


def _at_least_1d(t: Tensor) -> Tensor:
    return t if t._value.aval.ndim else t.reshape((1,))


def _at_least_2d(t: Tensor) -> Tensor:
    ndim = t._value.aval.ndim
    return t.reshape((1, 1)) if not ndim else t.unsqueeze(0) if ndim == 1 else t


def _at_least_3d(t: Tensor) -> Tensor:
    ndim = t._value.aval.ndim
    if ndim == 0:
        return t.reshape((1, 1, 1))
    if ndim == 1:
        return t.unsqueeze(0).unsqueeze(-1)
    return t.unsqueeze(-1) if ndim == 2 else t


atleast_1d = _several("atleast_1d", _at_least_1d)
atleast_2d = _several("atleast_2d", _at_least_2d)
atleast_3d = _several("atleast_3d", _at_least_3d)


def _stacking(name: str, reshaped: Callable[[Tensor], Tensor], dim: Any, doc: str, aliases: Any = ()) -> None:
    def joined(tensors: Any, *, out: Tensor | None = None) -> Tensor:
        tensors = _sequence(tensors, name)
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        tensors = [reshaped(t) for t in tensors]
        d = dim if isinstance(dim, int) else dim(tensors[0])
        result = functions["cat"](tensors, d) if any(map(is_sparse, tensors)) else _join(tensors, d)
        return result if out is None else write_out(out, result, name)

    joined.__name__ = joined.__qualname__ = name
    joined.__doc__ = doc
    function(name, aliases=aliases)(joined)


def _as_column(t: Tensor) -> Tensor:
    return t.reshape((t._value.aval.numel, 1)) if t._value.aval.ndim <= 1 else t


_stacking(
    "hstack",
    _at_least_1d,
    lambda t: int(t._value.aval.ndim > 1),
    "The tensors side by side, along dimension 1 (0 if 1-d).",
)
_stacking("vstack", _at_least_2d, 0, "The tensors one below the other, 1-d ones as rows.", ["row_stack"])
_stacking("dstack", _at_least_3d, 2, "The tensors joined in depth, along dimension 2.")
_stacking("column_stack", _as_column, 1, "The tensors side by side, 1-d ones as columns.")


@function("broadcast_tensors")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    shape = strides.broadcast_shapes(
        *[need_tensor(t, "broadcast_tensors", "tensors")._value.aval.shape for t in tensors]
    )
    return tuple([t if t._value.aval.shape == shape else t.expand(shape) for t in tensors])


def _castable(source: dtypes.dtype, target: dtypes.dtype) -> None:
    if not dtypes.can_cast(source, target):
        raise TypeError(
            "torch.cat(): input types can't be cast to the desired output type " + dtypes.scalar_name(target)
        )


for _name in ("cat", "stack", "hstack", "vstack", "dstack", "column_stack"):
    strict_out[_name] = _castable
