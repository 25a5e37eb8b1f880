"""Distances between all pairs of rows."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, function, inner_op, op
from ..._core.tensor.tensor import Tensor
from ..common.rules import kind, scalar_name, unsupported
from .checks import batches, spread, transpose
from .vector_norm import vector_norm

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": True,
    "donot_use_mm_for_euclid_dist": False,
}


@jax.custom_jvp
def _by_products(x: Any, y: Any) -> Any:
    """Euclidean distances from |x|^2 - 2 x.y + |y|^2: fast for many rows, less exact for rows that are close."""
    squares = jnp.sum(x * x, -1)[..., :, None] + jnp.sum(y * y, -1)[..., None, :] - 2 * (x @ transpose(y))
    return jnp.sqrt(jnp.maximum(squares, 0))


@_by_products.defjvp
def _by_products_rule(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    ans = _by_products(x, y)
    along = (
        jnp.sum(x * dx, -1)[..., :, None] + jnp.sum(y * dy, -1)[..., None, :] - dx @ transpose(y) - x @ transpose(dy)
    )
    zero = ans == 0
    return ans, jnp.where(zero, jnp.zeros_like(ans), along / jnp.where(zero, jnp.ones_like(ans), ans))


def _products_wanted(mode: bool | None, p: float, rows: int, others: int) -> bool:
    return p == 2 and (mode is True or (mode is None and (rows > 25 or others > 25)))


def _distance_name(operands: Any, statics: Any) -> str:
    x, y = operands
    return "ViewBackward0" if _products_wanted(statics[1], statics[0], x.shape[-2], y.shape[-2]) else "CdistBackward0"


def _check_distances(x1: Any, x2: Any) -> None:
    for word, x in (("X1", x1), ("X2", x2)):
        if kind(x) != "float":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {word} got: {scalar_name(x)}")
    for word, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {word} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")


@inner_op(grad=_distance_name, check=lambda x1, x2: _check_distances(x1, x2), saved=["x1", "x2", "result"])
def _cdist(x1: Array, x2: Array, p: float, mode: Any):
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype != x2.dtype:
        raise RuntimeError(f"expected scalar type {scalar_name(x1)} but found {scalar_name(x2)}")
    batch = batches(x1.shape[:-2], x2.shape[:-2])
    x, y = spread(x1, batch), spread(x2, batch)
    if _products_wanted(mode, p, x.shape[-2], y.shape[-2]):
        return _by_products(x, y)
    far = x[..., :, None, :] - y[..., None, :, :]
    if p == math.inf:
        far = jnp.where(jnp.isnan(far), 0, far)  # PyTorch's maximum passes over them, here alone
    return _lengths(far, p)


def _lengths(far: Any, p: float) -> Any:
    """The p-norm along the last dimension. For p = 0 a NaN is no number that could be counted."""
    if not far.shape[-1]:
        return jnp.sum(far, -1)
    found = vector_norm(far, float(p), (-1,), shared=False)[..., 0]
    return jnp.where(jnp.isnan(far).any(-1), jnp.nan, found) if p == 0 else found


@function("cdist")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm of the difference of each pair of rows; shapes (..., P, M) and (..., R, M) to (..., P, R)."""
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _cdist(x1, x2, p, _MODES[compute_mode])


@op(method=False, out=False, saved=["input", "result"])
def pdist(input: Array, p: float = 2):
    """The p-norms of the differences of all pairs of different rows: (N, M) to (N * (N - 1) / 2), row 0 with 1, 2, ... first."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if kind(input) != "float":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, other = np.triu_indices(input.shape[0], 1)
    if not len(first):
        return jnp.zeros(0, input.dtype)
    if input.dtype.itemsize < 4:
        unsupported("pdist", input)
    return _lengths(input[first] - input[other], p)
