"""Norms of vectors: `norm`, `dist`, `renorm`, and what `linalg` builds on."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Ints, Number, function, functions, inner_op, op
from ..._core.define.signature import need_kind
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, write_out
from ..._core.types import dtypes
from ..._core.types.size import need_sizes
from ..common.nan_extremes import largest, smallest
from ..common.rules import check_subtraction, derivatives, kind, scalar_name, zeros_mask
from ..reductions.reductions import axes_of, extent, wide


def _direction(x: Any, size: Any) -> Any:
    """`x / |x|`, and 0 at 0; of real numbers 0 at NaN too."""
    if kind(x) != "complex":
        return zeros_mask(x == x, jnp.sign(x))
    return x / jnp.where(size == 0, jnp.ones_like(size), size)


def _slope(t: Any, ans: Any, x: Any, p: float, axes: tuple[int, ...], shared: bool) -> Any:
    """The tangent of a norm; at a kink the subgradient 0."""
    along = jnp.real(jnp.conj(x) * t) if kind(x) == "complex" else x * t
    if p == 0:
        return jnp.zeros_like(ans)
    if p == 2:
        safe = jnp.where(ans == 0, jnp.ones_like(ans), ans)
        return jnp.sum(jnp.where(ans == 0, jnp.zeros_like(along), along / safe), axes, keepdims=True)
    size = jnp.abs(x)
    unit = _direction(x, size) if shared else jnp.sign(x)
    along = jnp.real(jnp.conj(unit) * t) if kind(x) == "complex" else unit * t
    if p == 1:
        return jnp.sum(along, axes, keepdims=True)
    if math.isinf(p):
        at = size == ans
        if not shared:  # NaN where both are infinite
            return jnp.sum(along * jnp.where(jnp.isnan(size - ans), jnp.nan, at), axes, keepdims=True)
        count = jnp.maximum(jnp.sum(at, axes, keepdims=True), 1)  # none where the norm is NaN
        return jnp.sum(zeros_mask(at, along), axes, keepdims=True) / count.astype(ans.dtype)
    still = (size == 0) | (ans == 0)
    ratio = jnp.where(still, jnp.ones_like(size), size / jnp.where(ans == 0, jnp.ones_like(ans), ans))
    return jnp.sum(jnp.where(still, jnp.zeros_like(along), along * ratio ** (p - 1)), axes, keepdims=True)


def vector_norm(x: Any, p: float, axes: tuple[int, ...], shared: bool = True) -> Any:
    """The p-norm of an array with the axes kept, in the real type of `x`; not shared: equal extremes do not share the gradient."""

    @derivatives(lambda t, ans, x: _slope(t, ans, x, p, axes, shared))
    def computed(x: Any) -> Any:
        size = jnp.abs(x)
        if p == 0:
            return jnp.sum(size != 0, axes, keepdims=True).astype(size.dtype)
        if p == 1:
            return jnp.sum(size, axes, keepdims=True)
        if p == 2:
            square = jnp.real(x) ** 2 + jnp.imag(x) ** 2 if kind(x) == "complex" else x * x
            return jnp.sqrt(jnp.sum(square, axes, keepdims=True))
        if math.isinf(p):
            return (largest if p > 0 else smallest)(size, axes, keepdims=True)
        return jnp.sum(size**p, axes, keepdims=True) ** np.array(1 / p, size.dtype)

    return computed(x)


def checked_norm(input: Any, p: float, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """`linalg.vector_norm` on arrays, with PyTorch's errors."""
    if kind(input) in ("bool", "int"):
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {scalar_name(input)}"
        )
    x = input if dtype is None else input.astype(dtype.np)
    axes = axes_of("linalg.vector_norm", dim, x.ndim)
    if (p < 0 or math.isinf(p)) and extent(x, axes) == 0:
        if dim is None or dim == ():
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {p:g} norm on an empty tensor because the operation "
                "does not have an "
                "identity"
            )
        for a in axes:
            if x.shape[a] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {p:g} norm on the dimension {a}because this "
                    "dimension is empty "
                    "and the operation does not have an identity"
                )
    if p != 0 and extent(x, axes) == 1 and (x.ndim or dim is None or dim == ()):
        p = 1.0  # one element's norm is its size, whatever the order
    found = vector_norm(wide(x), p, axes)
    found = found.astype(x.dtype) if kind(x) == "float" else found
    return found if keepdim else jnp.squeeze(found, axes)


def order_of(p: Any) -> float:
    """The order of a norm; RuntimeError for a complex one."""
    if isinstance(p, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    return float(p)


@inner_op(grad="LinalgVectorNormBackward0", saved=["result"])
def _norm(input: Array, p: Number, dim: Ints | None, keepdim: bool, dtype: object):
    return checked_norm(input, order_of(p), dim, bool(keepdim), dtype)


@function("norm", method=True)
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm over dimensions (all by default); 'fro' is the 2-norm, 'nuc' the sum of singular values."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype, "linalg_vector_norm")
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        kind_of = "matrix" if p == "nuc" else "vector"
        raise RuntimeError(
            f"linalg.{kind_of}_norm: dtype should be floating point or complex, but got {dtypes.scalar_name(dtype)}"
        )
    if isinstance(p, str) and p != "fro":
        if p != "nuc":
            raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
        return _nuclear(input, dim, keepdim, out, dtype)
    if p == "fro" and isinstance(dim, (tuple, list)) and len(dim) > 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    if isinstance(p, Tensor):
        need_kind("linalg_vector_norm", "ord", "Number", p)
        p = p.item()
    if dim.__class__ is int:
        need_sizes("linalg_vector_norm", "dim", (dim,))
    found = _norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype)
    return found if out is None else write_out(out, found, "norm")


def _nuclear(input: Tensor, dim: Any, keepdim: bool, out: Tensor | None, dtype: Any) -> Tensor:
    if dim is not None and not isinstance(dim, int):
        need_sizes("linalg_matrix_norm", "dim", dim)
    if isinstance(dim, int) or (dim is not None and len(dim) != 2):
        shown = dim if isinstance(dim, int) else ", ".join(map(str, dim))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    x = input if dtype is None else input.to(dtype)
    if x.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if x.dtype.itemsize <= 2 and x.dtype.is_floating_point:
        raise RuntimeError(f"linalg.matrix_norm: Low precision dtypes not supported. Got {dtypes.scalar_name(x.dtype)}")
    if dim is None and x.dim() > 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, range(x.dim())))}")
    rows, columns = (0, 1) if dim is None else [strides.wrap_dim(d, x.dim()) for d in dim]
    x = x.movedim((rows, columns), (-2, -1))
    total = functions["svd"](x)[1].sum(-1)
    if keepdim:
        for d in sorted((rows, columns)):
            total = total.unsqueeze(d)
    return total if out is None else write_out(out, total, "norm")


@op(out=False, saved=["result"])
def dist(input: Array, other: Array, p: Number = 2):
    """The p-norm of the difference of two tensors."""
    if kind(input) in ("bool", "int") and kind(other) in ("bool", "int"):
        bad = input
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {scalar_name(bad)} instead."
        )
    check_subtraction(input, other)
    return checked_norm(input - other, order_of(p), None, False, None)


@op(inplace=True)
def renorm(input: Array, p: Number, dim: int, maxnorm: Number):
    """The slices along a dimension, those of a p-norm above `maxnorm` scaled down to it."""
    for name, given in (("p", p), ("maxnorm", maxnorm)):
        if isinstance(given, complex):
            raise RuntimeError(f"renorm: {name} must be real-valued")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    (axis,) = axes_of("renorm", dim, input.ndim)
    others = tuple([i for i in range(input.ndim) if i != axis])
    size = checked_norm(wide(input), float(p), others, True, None)
    above = size > maxnorm
    scale = jnp.where(above, maxnorm / (jnp.where(above, size, 1) + 1e-7), jnp.ones_like(size))
    return (wide(input) * scale).astype(input.dtype)


def _except(x: Any, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(x.ndim) if d != dim % x.ndim)


def _weight_norm_name(operands: Any, statics: Any) -> str:
    first_or_last = statics[0] in (0, operands[0].ndim - 1)
    return "WeightNormInterfaceBackward0" if first_or_last else "MulBackward0"


@op(name="_weight_norm", method=False, out=False, grad=_weight_norm_name)
def weight_norm(v: Array, g: Array, dim: int = 0):
    """g * v / |v|, with a norm for each index of `dim`, or one for all where it is -1 (Salimans and Kingma, 2016)."""
    axes = tuple(range(v.ndim)) if dim == -1 else _except(v, dim)
    return v * (g / vector_norm(v, 2.0, axes))
