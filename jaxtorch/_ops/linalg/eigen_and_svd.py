"""Eigenvalues and singular values, and what is built on them: ranks, pseudo-inverses, least squares."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..._core.define.op import Array, Operand, function, inner_op, numpy_names, op
from ..._core.define.signature import need_kind
from ..._core.tensor.tensor import Tensor, need_tensor, write_out
from ..._core.types.structseq import types
from ..common.rules import diagonal_of, kind, scalar_name, unsupported
from .checks import adjoint, batches, matrix, numbers, real_type, reflected, report, square

# -- singular values


def _finite(x: Any) -> Any:
    return jnp.all(jnp.isfinite(x), (-2, -1))


def _check_svd(x: Any, name: str, values: Any) -> None:
    """LinAlgError where LAPACK gave up: code 1 for input that is not finite, 2 otherwise."""
    bad = jnp.any(jnp.isnan(lax.stop_gradient(values)), -1)
    info = jnp.where(bad, jnp.where(_finite(lax.stop_gradient(x)), 2, 1), 0)

    def text(code: int) -> str:
        if code == 1:
            return "The algorithm failed to converge because the input matrix contained non-finite values."
        return (
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular "
            f"values (error code: {code - 1})."
        )

    report(info, name, text)


def _svd_kind(x: Any, name: str) -> None:
    matrix(name, x)
    if kind(x) in ("bool", "int"):
        numbers(name, x)
    if x.dtype.itemsize == 2:
        unsupported("linalg_svd_cpu", x)


def svdvals_of(x: Any, name: str) -> Any:
    """The singular values of matrices, largest first, with PyTorch's errors."""
    _svd_kind(x, name)
    if x.size == 0:
        return jnp.zeros((*x.shape[:-2], min(x.shape[-2:])), real_type(x))
    values = lax.linalg.svd(x, compute_uv=False)
    _check_svd(x, name, values)
    return values


@jax.custom_jvp
def _svd(x: Any) -> tuple[Any, Any, Any]:
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    return u, s, vh


@_svd.defjvp
def _svd_rule(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    u, s, vh = _svd(x)
    return (u, s, vh), _svd_tangent(t, u, s, vh)


def _svd_tangent(t: Any, u: Any, s: Any, vh: Any) -> tuple[Any, Any, Any]:
    rows, columns, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    eye = jnp.eye(k, dtype=bool)
    v = adjoint(vh)
    inner = adjoint(u) @ t @ v
    ds = jnp.real(diagonal_of(inner))
    off = jnp.where(eye, jnp.zeros_like(inner), inner)
    across, down = s[..., None, :], s[..., :, None]
    gaps = jnp.where(eye, jnp.ones_like(across), (across - down) * (across + down)).astype(inner.dtype)
    left, right = off * across, down * off
    du = (left + adjoint(left)) / gaps
    dv = (right + adjoint(right)) / gaps
    if kind(t) == "complex":
        turn = jnp.where(eye, 1j * jnp.imag(inner) / (2 * across), 0).astype(inner.dtype)
        du, dv = du + turn, dv - turn
    du, dv = u @ du, v @ dv
    if rows > k:
        moved = t @ v
        du = du + (moved - u @ (adjoint(u) @ moved)) / across
    if columns > k:
        moved = adjoint(t) @ u
        dv = dv + (moved - v @ (vh @ moved)) / across
    return du, ds, adjoint(dv)


@jax.custom_jvp
def _full_svd(x: Any) -> tuple[Any, Any, Any]:
    u, s, vh = lax.linalg.svd(x, full_matrices=True)
    return u, s, vh


@_full_svd.defjvp
def _full_svd_rule(primals: Any, tangents: Any) -> Any:
    # The further vectors are arbitrary: like PyTorch, count them as constant.
    (x,), (t,) = primals, tangents
    u, s, vh = _full_svd(x)
    k = s.shape[-1]
    du, ds, dvh = _svd_tangent(t, u[..., :k], s, vh[..., :k, :])
    more_u = [(0, 0)] * (u.ndim - 1) + [(0, u.shape[-1] - k)]
    more_v = [(0, 0)] * (u.ndim - 2) + [(0, vh.shape[-2] - k), (0, 0)]
    return (u, s, vh), (jnp.pad(du, more_u), ds, jnp.pad(dvh, more_v))


def _empty_svd(x: Any, full: bool) -> tuple[Any, Any, Any]:
    *batch, rows, columns = x.shape
    k = min(rows, columns)
    u = jnp.broadcast_to(jnp.eye(rows, rows if full else k, dtype=x.dtype), (*batch, rows, rows if full else k))
    vh = jnp.broadcast_to(
        jnp.eye(columns if full else k, columns, dtype=x.dtype), (*batch, columns if full else k, columns)
    )
    return u, jnp.zeros((*batch, k), real_type(x)), vh


def svd_of(x: Any, full: bool, name: str = "linalg.svd") -> tuple[Any, Any, Any]:
    _svd_kind(x, name)
    if x.size == 0:
        return _empty_svd(x, full)
    u, s, vh = (_full_svd if full and x.shape[-1] != x.shape[-2] else _svd)(x)
    _check_svd(x, name, s)
    return u, s, vh


def _check_driver(driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@op(function=False, method=False, saved=["result", "result1", "result2"])
def linalg_svd(A: Array, full_matrices: bool = True, *, driver: object = None):
    """U, the singular values, and V^H, of A = U diag(S) V^H."""
    _check_driver(driver)
    return types.linalg_svd(svd_of(A, bool(full_matrices)))


@op(function=False, method=False, grad="LinalgSvdBackward0", unsaved=["A"], saved=["result"])
def linalg_svdvals(A: Array, *, driver: object = None):
    """The singular values, largest first; shapes (..., m, n) to (..., min(m, n))."""
    _check_driver(driver)
    return svdvals_of(A, "linalg.svd")


@inner_op(grad="LinalgSvdBackward0", saved=["result", "result1", "result2"], unsaved=["input"])
def _older_svd(input: Array, some: bool):
    u, s, vh = svd_of(input, not some)
    return types.svd((u, s, adjoint(vh)))


@function("svd", method=True)
def svd(
    input: Tensor, some: bool = True, compute_uv: bool = True, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """U, the singular values, and V, of A = U diag(S) V^H; zeros for U and V unless `compute_uv`."""
    if type(input) is not Tensor:
        need_tensor(input, "svd", "input")
    need_kind("svd", "some", "bool", some)
    need_kind("svd", "compute_uv", "bool", compute_uv)
    if input.dim() < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.dim()} dimensions instead"
        )
    if compute_uv:
        found = _older_svd(input, bool(some))
    else:
        *batch, rows, columns = input.shape
        left, right = (input.new_zeros((*batch, n, n)) for n in (rows, columns))
        found = types.svd((left, linalg_svdvals(input), right))
    return found if out is None else write_out(out, found, "svd")


# -- eigenvalues of Hermitian matrices


def _eigh(x: Any, UPLO: str, name: str) -> tuple[Any, Any]:
    square(name, x)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if kind(x) in ("bool", "int") or x.dtype.itemsize == 2:
        unsupported("linalg_eigh_cpu", x)
    if x.size == 0:
        return jnp.zeros(x.shape[:-1], real_type(x)), x
    upper = UPLO.upper() == "U"
    vectors, values = lax.linalg.eigh(_hermitian(x, upper), lower=not upper, symmetrize_input=False)
    info = jnp.where(jnp.any(jnp.isnan(lax.stop_gradient(values)), -1), max(x.shape[-1] - 1, 1), 0)
    report(
        info,
        name,
        lambda code: (
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
            f"eigenvalues (error code: {code})."
        ),
    )
    return values, vectors


def _hermitian(x: Any, upper: bool) -> Any:
    """The matrix that a triangle stands for; its tangent is the input's."""
    return adjoint(reflected(adjoint(x))) if upper else reflected(x)


@op(function=False, method=False, also={"input": "A"})
def linalg_eigh(A: Array, UPLO: str = "L"):
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices, of which one triangle is read."""
    return types.linalg_eigh(_eigh(A, UPLO, "linalg.eigh"))


@op(function=False, method=False, grad="LinalgEighBackward0", unsaved=["A"], saved=["result"], also={"input": "A"})
def linalg_eigvalsh(A: Array, UPLO: str = "L"):
    """The eigenvalues of Hermitian matrices in ascending order."""
    return _eigh(A, UPLO, "linalg.eigh")[0]


# -- eigenvalues of general matrices


def _complex_of(x: Any) -> Any:
    return jnp.complex128 if x.dtype in (jnp.float64, jnp.complex128) else jnp.complex64


@jax.custom_jvp
def _eig(x: Any) -> tuple[Any, Any]:
    values, vectors = lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=True)
    return values, vectors


@_eig.defjvp
def _eig_rule(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    values, vectors = _eig(x)
    eye = jnp.eye(x.shape[-1], dtype=bool)
    inner = jnp.linalg.solve(vectors, t.astype(vectors.dtype) @ vectors)
    gaps = jnp.where(eye, jnp.ones_like(inner), values[..., None, :] - values[..., :, None])
    turned = vectors @ jnp.where(eye, jnp.zeros_like(inner), inner / gaps)
    # Each eigenvector keeps its length.
    stretch = jnp.real(jnp.sum(jnp.conj(vectors) * turned, -2, keepdims=True))
    return (values, vectors), (diagonal_of(inner), turned - vectors * stretch)


def _eig_of(A: Any, name: str) -> tuple[Any, Any]:
    if kind(A) in ("bool", "int") or A.dtype.itemsize == 1:
        raise RuntimeError(f"Unknown Complex ScalarType for {scalar_name(A)}")
    square(name, A)
    if A.dtype.itemsize == 2:
        unsupported("linalg_eig_out_cpu", A)
    if A.size == 0:
        return jnp.zeros(A.shape[:-1], _complex_of(A)), A.astype(_complex_of(A))
    endless = ~jnp.all(_finite(lax.stop_gradient(A)))
    report(
        endless.astype(jnp.int32),
        f"torch.{name}",
        lambda _: "input tensor should not contain infs or NaNs.",
        RuntimeError,
    )
    values, vectors = _eig(A)
    failed = jnp.any(jnp.isnan(lax.stop_gradient(values)), -1) & _finite(lax.stop_gradient(A))
    report(
        failed.astype(jnp.int32),
        name,
        lambda code: (
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
            f"eigenvalues (error code: {code})."
        ),
    )
    return values, vectors


@op(function=False, method=False, unsaved=["A"], also={"input": "A"})
def linalg_eig(A: Array):
    """Eigenvalues and eigenvectors of length 1 of square matrices, both complex."""
    return types.linalg_eig(_eig_of(A, "linalg.eig"))


@op(function=False, method=False, grad="LinalgEigBackward0", saved=["result"], unsaved=["A"], also={"input": "A"})
def linalg_eigvals(A: Array):
    """The complex eigenvalues of square matrices."""
    return _eig_of(A, "linalg.eigvals")[0]


# -- ranks and pseudo-inverses


def _bound(largest: Any, atol: Any, rtol: Any, shape: tuple[int, ...]) -> Any:
    """Below which singular values count as 0: max(atol, rtol * the largest)."""
    dtype = largest.dtype
    default = jnp.asarray(jnp.finfo(dtype).eps * max(shape[-2:]), dtype)
    absolute = jnp.zeros((), dtype) if atol is None else jnp.asarray(atol).astype(dtype)
    if rtol is None:
        relative = default if atol is None else jnp.where(absolute > 0, jnp.zeros((), dtype), default)
    else:
        relative = jnp.asarray(rtol).astype(dtype)
    return jnp.maximum(absolute, relative * largest)


def _check_tolerance(name: str, word: str, tolerance: Any) -> None:
    if tolerance is not None and kind(tolerance) == "complex":
        raise RuntimeError(f"{name}: {word} tensor of complex type is not supported.")


@inner_op(differentiable=False)
def _rank(A: Array, atol: Operand | None, rtol: Operand | None, hermitian: bool):
    name = "torch.linalg.matrix_rank"
    matrix(name, A, "input")
    if kind(A) in ("bool", "int") or A.dtype.itemsize <= 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    for word, x in (("atol", atol), ("rtol", rtol)):
        _check_tolerance(name, word, x)
    if A.size == 0:
        return jnp.zeros(A.shape[:-2], jnp.int64)
    values = jnp.abs(_eigh(A, "L", "linalg.eigh")[0]) if hermitian else svdvals_of(A, "linalg.svd")
    bound = _bound(jnp.max(values, -1), atol, rtol, A.shape)
    return jnp.sum(values > bound[..., None], -1).astype(jnp.int64)


@numpy_names
def matrix_rank(
    input: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """How many singular values exceed max(atol, rtol * the largest); `tol` is the older name of `atol`."""
    need_kind("linalg_matrix_rank", "hermitian", "bool", hermitian)
    if tol is not None:
        atol, rtol = tol, 0.0
    found = _rank(input, atol, rtol, bool(hermitian))
    return found if out is None else write_out(out, found, "linalg_matrix_rank")


def _pinv(x: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if x.size == 0:
        return jnp.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)

    @jax.custom_jvp
    def inverted(x: Any, atol: Any, rtol: Any) -> Any:
        if hermitian:
            u, values = lax.linalg.eigh(_hermitian(x, False), symmetrize_input=False)
            bound = _bound(jnp.max(jnp.abs(values), -1), atol, rtol, x.shape)[..., None]
            vh = adjoint(u)
        else:
            u, values, vh = lax.linalg.svd(x, full_matrices=False)
            bound = _bound(jnp.max(values, -1), atol, rtol, x.shape)[..., None]
        kept = jnp.abs(values) > bound
        factors = jnp.where(kept, 1 / jnp.where(kept, values, 1), 0).astype(x.dtype)
        return adjoint(vh) @ (factors[..., :, None] * adjoint(u))

    @inverted.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        x, t = primals[0], tangents[0]
        p = inverted(*primals)
        th, ph = adjoint(t), adjoint(p)
        change = -p @ t @ p
        change = change + p @ ph @ (th - th @ x @ p)
        change = change + (th - p @ x @ th) @ ph @ p
        return p, change

    return inverted(x, atol, rtol)


@inner_op(grad="LinalgPinvBackward0", name="_linalg_pinv")
def _pinv_op(A: Array, atol: Operand | None, rtol: Operand | None, hermitian: bool):
    name = "linalg.pinv"
    if A.ndim < 2 or kind(A) in ("bool", "int") or A.dtype.itemsize <= 2:
        raise RuntimeError(
            f"{name}({scalar_name(A)}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    for word, x in (("atol", atol), ("rtol", rtol)):
        _check_tolerance(f"torch.{name}", word, x)
    fixed = lax.stop_gradient(A)
    if hermitian:
        square("linalg.eigh", A)
    if A.size:
        _check_svd(fixed, "linalg.svd", jnp.where(_finite(fixed), 0, jnp.nan)[..., None])
    return _pinv(A, atol, rtol, bool(hermitian))


@numpy_names
def pinv(
    input: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The pseudo-inverse; singular values up to max(atol, rtol * the largest) count as 0 (`rcond` is an older `rtol`)."""
    need_kind("linalg_pinv", "hermitian", "bool", hermitian)
    if rcond is not None:
        atol, rtol = 0.0, rcond
    found = _pinv_op(input, atol, rtol, bool(hermitian))
    return found if out is None else write_out(out, found, "linalg_pinv")


@function("pinverse", method=True)
def pinverse(input: Tensor, rcond: Any = 1e-15) -> Tensor:
    """The pseudo-inverse; singular values up to `rcond` times the largest count as 0."""
    return pinv(input, rcond)


# -- least squares


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _check_lstsq(A: Any, B: Any, driver: str) -> None:
    name = "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {scalar_name(A)} and other's "
            f"dtype {scalar_name(B)}"
        )
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    if driver not in _DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if kind(A) in ("bool", "int") or A.dtype.itemsize <= 2:
        raise RuntimeError("This function doesn't handle types other than float and double")


@inner_op(differentiable=False)
def _rank_and_values(A: Array, B: Array, rcond: Operand | None, driver: str):
    _check_lstsq(A, B, driver)
    values = svdvals_of(A, "linalg.svd")
    if not A.size:
        return jnp.zeros(A.shape[:-2], jnp.int64), values
    bound = _bound(jnp.max(values, -1), None, rcond, A.shape)
    return jnp.sum(values > bound[..., None], -1).astype(jnp.int64), values


@inner_op(grad="LinalgLstsqBackward0", name="_linalg_lstsq", saved=["result"])
def _lstsq(A: Array, B: Array, rcond: Operand | None, vector: bool, residuals: bool):
    """The solution, and the sums of squares that remain (nothing unless `residuals`)."""
    b = B[..., None] if vector else B
    if A.shape[-2] != b.shape[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(" + ("-1)" if vector else "-2)"))
    batch = batches(A.shape[:-2], b.shape[:-2])
    x = _pinv(A, None, rcond, False) @ b
    x = jnp.broadcast_to(x, (*batch, *x.shape[-2:]))
    left = jnp.sum(jnp.abs(A @ x - b) ** 2, -2) if residuals else jnp.zeros((0,), real_type(A))
    return x[..., 0] if vector else x, left


@numpy_names
def lstsq(
    input: Tensor, b: Tensor, rcond: Any = None, *, driver: str | None = None, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """The X of least norm among those that minimise |A X - B|, with residuals, rank and singular values.

    The drivers of LAPACK decide, as in PyTorch, which of the last three are filled; every one of them solves by way of the
    singular values here.
    """
    need_tensor(input, "linalg_lstsq", "A")
    need_tensor(b, "linalg_lstsq", "B", 2)
    driver = "gelsy" if driver is None else driver
    vector = b.dim() == 1 or (input.dim() - 1 == b.dim() and tuple(b.shape) == tuple(input.shape[:-1]))
    rank, values = _rank_and_values(input, b, rcond, driver)
    rows, columns = input.shape[-2], input.shape[-1]
    filled = rows > columns and driver != "gelsy"
    if filled and driver != "gels":
        filled = bool((rank == columns).all())
    x, left = _lstsq(input, b, rcond, vector, filled)
    if driver == "gels":
        rank = rank.new_zeros((0,))
    if driver in ("gels", "gelsy"):
        values = values.new_zeros((0,))
    found = types.linalg_lstsq((x, left, rank, values))
    return found if out is None else write_out(out, found, "linalg_lstsq")
