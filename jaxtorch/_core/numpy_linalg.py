"""Factorisations and triangular systems on NumPy arrays, by LAPACK: the library that XLA's programs on the CPU call too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .numpy_rules import rule


def _routine(name: str, dtype: Any) -> Any:
    """LAPACK's or BLAS's function for a type. SciPy is imported where it is first needed, as JAX does."""
    from scipy.linalg import blas, lapack

    letter = {"f4": "s", "f8": "d"}[np.dtype(dtype).str[1:]]
    return getattr(blas if name == "trsm" else lapack, letter + name)


def _cost(eqn: Any) -> float:
    """Cubic in the matrices' size, and a call for each of them."""
    sizes = [v.aval.shape for v in eqn.invars]
    batch = math.prod(sizes[0][:-2])
    return batch * (5000.0 + max(s[-2] * s[-1] for s in sizes) * sizes[0][-1])


def _matrices(x: Any) -> Any:
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def _joined(found: list[Any], like: Any) -> Any:
    """One array again, of the shape of the operand."""
    return np.stack(found).reshape(like.shape) if like.size else np.zeros_like(like)


@rule("cholesky", _cost)
def _cholesky(a: Any, **_: Any) -> Any:
    factor = _routine("potrf", a.dtype)
    found = [factor(m, lower=1, clean=1) for m in _matrices(a)] if a.size else []
    return _joined([c if info == 0 else np.full_like(c, np.nan) for c, info in found], a)


@rule("triangular_solve", _cost)
def _triangular_solve(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> Any:
    solve = _routine("trsm", b.dtype)
    kind = {"side": 1 - left_side, "lower": int(lower), "trans_a": int(transpose_a), "diag": int(unit_diagonal)}
    pairs = zip(_matrices(a), _matrices(b), strict=True) if b.size else ()
    return _joined([solve(1.0, m, n, **kind) for m, n in pairs], b)


@rule("lu", _cost)
def _lu(a: Any, **_: Any) -> list[Any]:
    factor = _routine("getrf", a.dtype)
    found = [factor(m)[:2] for m in _matrices(a)] if a.size else []
    batch, rows = a.shape[:-2], a.shape[-2]
    count = (*batch, min(a.shape[-2:]))
    swaps = np.stack([piv for _, piv in found]).reshape(count) if found else np.zeros(count)
    orders = np.tile(np.arange(rows, dtype=np.int32), (math.prod(batch), 1))
    for order, (_, pivots) in zip(orders, found, strict=False):
        for i, j in enumerate(pivots):
            order[[i, j]] = order[[j, i]]
    return [_joined([m for m, _ in found], a), swaps, orders.reshape(*batch, rows)]
