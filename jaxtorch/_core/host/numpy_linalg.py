"""Factorisations and triangular systems on NumPy arrays, by LAPACK: the library that XLA's programs on the CPU call too.
And Fourier transforms."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .numpy_rules import rule


@functools.cache
def _routine(name: str, dtype: Any) -> Any:
    """LAPACK's or BLAS's function for a type. SciPy is imported where it is first needed, as JAX does."""
    from scipy.linalg import blas, lapack

    letter = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[np.dtype(dtype).str[1:]]
    if letter in "cz":
        name = _OF_COMPLEX.get(name, name)
    return getattr(blas if name == "trsm" else lapack, letter + name)


_OF_COMPLEX = {"syevd": "heevd", "orgqr": "ungqr"}


def _real(dtype: Any) -> Any:
    """The type of a complex number's parts; a real type as it is."""
    return np.zeros((), dtype).real.dtype


def _cost(eqn: Any) -> float:
    """Cubic in the matrices' size, and a call for each of them."""
    sizes = [v.aval.shape for v in eqn.invars]
    batch = math.prod(sizes[0][:-2])
    return batch * (5000.0 + max(math.prod(s[-2:]) for s in sizes) * sizes[0][-1])


def _matrices(x: Any) -> Any:
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def _joined(found: list[Any], like: Any) -> Any:
    """One array again, of the shape of the operand."""
    if len(found) == 1:
        return found[0].reshape(like.shape)
    out = np.empty_like(like, order="C")
    for place, part in zip(_matrices(out) if out.size else (), found, strict=True):
        place[...] = part
    return out


@rule("cholesky", _cost)
def _cholesky(a: Any, **_: Any) -> Any:
    factor = _routine("potrf", a.dtype)
    found = [factor(m, lower=1, clean=1) for m in _matrices(a)] if a.size else []
    return _joined([c if info == 0 else np.full_like(c, np.nan) for c, info in found], a)


@rule("triangular_solve", _cost)
def _triangular_solve(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool, **_: Any
) -> Any:
    solve = _routine("trsm", b.dtype)
    turned = 0
    if transpose_a:
        turned = 2 if conjugate_a else 1
    elif conjugate_a:
        a = a.conj()
    kind = {"side": 1 - left_side, "lower": int(lower), "trans_a": turned, "diag": int(unit_diagonal)}
    pairs = zip(_matrices(a), _matrices(b), strict=True) if b.size else ()
    return _joined([solve(1.0, m, n, **kind) for m, n in pairs], b)


@rule("lu", _cost)
def _lu(a: Any, **_: Any) -> list[Any]:
    factor = _routine("getrf", a.dtype)
    found = [factor(m)[:2] for m in _matrices(a)] if a.size else []
    batch, rows = a.shape[:-2], a.shape[-2]
    count = (*batch, min(a.shape[-2:]))
    swaps, orders = np.zeros((len(found), count[-1]), np.int32), []
    for n, (_, pivots) in enumerate(found):
        swaps[n] = pivots
        order = [*range(rows)]
        for i, j in enumerate(pivots.tolist()):
            order[i], order[j] = order[j], order[i]
        orders.append(order)
    if not found:
        orders = np.tile(np.arange(rows), (math.prod(batch), 1))
    made = np.array(orders, np.int32).reshape(*batch, rows)
    return [_joined([m for m, _ in found], a), swaps.reshape(count) if found else np.zeros(count, np.int32), made]


def _not_finite(a: Any, *_: Any, **__: Any) -> bool:
    return not bool(np.isfinite(a).all())


def _iterative(eqn: Any) -> float:
    """Some ten times a factorisation; unknown for what only other platforms have."""
    params = eqn.params
    if params.get("subset_by_index") is not None or params.get("pivoting") or params.get("algorithm") is not None:
        return math.inf
    return 10 * _cost(eqn)


def _stacked(found: list[tuple[Any, ...]], a: Any, shapes: list[tuple[int, ...]], real: int = -1) -> list[Any]:
    """The parts of each matrix's factorisation as arrays of these shapes, with the operand's leading dimensions.

    real: which of them is real where the operand is complex.
    """
    batch = a.shape[:-2]
    parts = zip(*found, strict=True) if found else [()] * len(shapes)
    kinds = [_real(a.dtype) if i == real else a.dtype for i in range(len(shapes))]
    return [
        np.stack(part).astype(kind, copy=False).reshape(*batch, *shape) if part else np.zeros((*batch, *shape), kind)
        for part, shape, kind in zip(parts, shapes, kinds, strict=True)
    ]


@rule("eigh", _iterative, doubt=_not_finite)
def _eigh(a: Any, *, lower: bool, **_: Any) -> list[Any]:
    n = a.shape[-1]
    solve = _routine("syevd", a.dtype)
    found = [solve(m, compute_v=1, lower=int(lower)) for m in _matrices(a)] if a.size else []
    of_each = [(v, w) if info == 0 else (v * np.nan, w * np.nan) for w, v, info in found]
    return _stacked(of_each, a, [(n, n), (n,)], real=1)


@rule("svd", _iterative, doubt=_not_finite)
def _svd(a: Any, *, full_matrices: bool, compute_uv: bool, **_: Any) -> list[Any]:
    m, n = a.shape[-2:]
    k, full = min(m, n), int(full_matrices)
    if not a.size:
        whole = [np.zeros((*a.shape[:-2], k), _real(a.dtype)), np.eye(m, m if full else k), np.eye(n if full else k, n)]
        return [whole[0], *[np.broadcast_to(x, (*a.shape[:-2], *x.shape)) for x in whole[1:]]][: 3 if compute_uv else 1]
    factor, room = _routine("gesdd", a.dtype), _routine("gesdd_lwork", a.dtype)
    work = int(room(m, n, compute_uv=int(compute_uv), full_matrices=full)[0].real)
    each = [factor(x, compute_uv=int(compute_uv), full_matrices=full, lwork=work) for x in _matrices(a)]
    found = [(s, u, v) if info == 0 else (s * np.nan, u * np.nan, v * np.nan) for u, s, v, info in each]
    if not compute_uv:
        return _stacked([(s,) for s, _, _ in found], a, [(k,)], real=0)
    return _stacked(found, a, [(k,), (m, m if full else k), (n if full else k, n)], real=0)


def _reflections(x: Any, columns: int, tau: Any) -> Any:
    """The first columns of the product of reflections."""
    if not columns or not len(tau):
        return np.eye(x.shape[0], columns, dtype=x.dtype)
    wide = np.zeros((x.shape[0], columns), x.dtype)
    wide[:, : x.shape[1]] = x[:, :columns]
    return _routine("orgqr", x.dtype)(wide, tau)[0]


@rule("geqrf", _cost)
def _geqrf(a: Any, **_: Any) -> list[Any]:
    m, n = a.shape[-2:]
    factor = _routine("geqrf", a.dtype)
    return _stacked([factor(x)[:2] for x in _matrices(a)] if a.size else [], a, [(m, n), (min(m, n),)])


@rule("householder_product", _cost)
def _householder_product(a: Any, taus: Any, **_: Any) -> Any:
    m, n = a.shape[-2:]
    of_each = taus.reshape(math.prod(taus.shape[:-1]), taus.shape[-1])
    found = [(_reflections(x, n, t),) for x, t in zip(_matrices(a), of_each, strict=True)] if a.size else []
    return _stacked(found, a, [(m, n)])[0]


@rule("qr", lambda eqn: math.inf if eqn.params.get("pivoting") else 2 * _cost(eqn))
def _qr(a: Any, *, full_matrices: bool, **_: Any) -> list[Any]:
    m, n = a.shape[-2:]
    k = m if full_matrices else min(m, n)
    if not a.size:
        eye = np.broadcast_to(np.eye(m, k, dtype=a.dtype), (*a.shape[:-2], m, k))
        return [eye, np.zeros((*a.shape[:-2], k, n), a.dtype)]
    factor = _routine("geqrf", a.dtype)
    packed = [factor(x)[:2] for x in _matrices(a)]
    return _stacked([(_reflections(x, k, tau), np.triu(x[:k])) for x, tau in packed], a, [(m, k), (k, n)])


def _fft_cost(eqn: Any) -> float:
    sizes = [math.prod(v.aval.shape) for v in (*eqn.invars, *eqn.outvars)]
    return 20000.0 + 5.0 * max(sizes) * math.log2(2 + math.prod(eqn.params["fft_lengths"]))


@rule("fft", _fft_cost)
def _fft(x: Any, *, fft_type: Any, fft_lengths: Any, **_: Any) -> Any:
    """Fourier transforms, in the precision of their operand."""
    found = _TRANSFORMS[fft_type.name](x, s=fft_lengths, axes=range(-len(fft_lengths), 0))
    return found.astype(
        np.result_type(x.dtype, np.complex64) if fft_type.name != "IRFFT" else _real(x.dtype), copy=False
    )


_TRANSFORMS = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
