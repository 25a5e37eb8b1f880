"""Factorisations by reflections and of positive-definite matrices: QR and Cholesky."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, functions, methods, op
from ..._core.types.structseq import types
from ..._core.types.warn_once import renamed
from ..common.rules import diagonal_of, kind, no_derivative, scalar_name, unsupported
from .checks import adjoint, batches, first_bad, matrix, numbers, report, spread, square, zero_pivot

# -- QR


def _reduced(x: Any) -> Any:
    return tuple(lax.linalg.qr(x, full_matrices=False))


@no_derivative(RuntimeError, "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
def _complete(x: Any) -> Any:
    return tuple(lax.linalg.qr(x, full_matrices=True))


@no_derivative(
    RuntimeError,
    "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') "
    "if you are going to differentiate through linalg.qr.",
)
def _only_r(x: Any) -> Any:
    return _reduced(x)[1]


def _qr(A: Any, mode: str) -> tuple[Any, Any]:
    matrix("linalg.qr", A)
    if kind(A) in ("bool", "int"):
        numbers("linalg.qr", A)
    if A.dtype.itemsize == 2:
        unsupported("geqrf_cpu", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    rows, columns = A.shape[-2:]
    if 0 in (rows, columns):
        return _empty_qr(A, mode)
    if mode == "r":
        return jnp.zeros((0,), A.dtype), _only_r(A)
    return _complete(A) if mode == "complete" and rows > columns else _reduced(A)


def _empty_qr(A: Any, mode: str) -> tuple[Any, Any]:
    *batch, rows, columns = A.shape
    k = rows if mode == "complete" else min(rows, columns)
    q = jnp.broadcast_to(jnp.eye(rows, k, dtype=A.dtype), (*batch, rows, k))
    return jnp.zeros((0,), A.dtype) if mode == "r" else q, jnp.zeros((*batch, k, columns), A.dtype)


@op(function=False, method=False)
def linalg_qr(A: Array, mode: str = "reduced"):
    """Q with orthonormal columns and upper triangular R, A = QR; modes 'reduced', 'complete', 'r'."""
    return types.linalg_qr(_qr(A, mode))


@op(grad="LinalgQrBackward0")
def qr(input: Array, some: bool = True):
    """Q and R of matrices; all of Q with `some=False`."""
    renamed("torch.qr", "torch.linalg.qr")
    return types.qr(_qr(input, "reduced" if some else "complete"))


# -- Householder reflections


def _reflect(a: Any, tau: Any, c: Any, backwards: bool, conjugate: bool) -> Any:
    """Apply the reflections I - tau v v^H kept in the columns of `a` to matrices, the first one last if `backwards`."""
    rows, count = a.shape[-2], tau.shape[-1]
    below = up_to(rows)[:, None] > up_to(count)
    on = up_to(rows)[:, None] == up_to(count)
    v = jnp.where(on, 1, jnp.where(below, a[..., :count], 0)).astype(a.dtype)
    vectors = jnp.moveaxis(v, -1, 0)[..., None]
    scales = jnp.moveaxis(jnp.conj(tau) if conjugate else tau, -1, 0)[..., None, None]

    def step(c: Any, reflection: Any) -> Any:
        v, scale = reflection
        return c - scale * (v @ (adjoint(v) @ c)), None

    return lax.scan(step, c, (vectors, scales), reverse=backwards)[0]


def _check_reflections(A: Any, tau: Any) -> None:
    name = "torch.linalg.householder_product"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if A.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and input.ndim "
            f"is equal to {A.ndim}"
        )
    if A.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if A.dtype != tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {scalar_name(tau)} does not match input dtype {scalar_name(A)}")


@op(
    function=False,
    method=False,
    grad="LinalgHouseholderProductBackward0",
    saved=["result"],
    also={"input": "A", "input2": "tau"},
)
def linalg_householder_product(A: Array, tau: Array):
    """The first columns of the product of the reflections that `geqrf` keeps; shapes (..., m, n), (..., k) to (..., m, n)."""
    _check_reflections(A, tau)
    if A.dtype.itemsize == 2 or kind(A) in ("bool", "int"):
        unsupported("orgqr_cpu", A)
    start = jnp.broadcast_to(jnp.eye(A.shape[-2], A.shape[-1], dtype=A.dtype), A.shape)
    return _reflect(A, tau, start, True, False)


functions["orgqr"] = methods["orgqr"] = linalg_householder_product


@op(grad="OrmqrBackward0", saved=["result"], also={"input2": "tau", "input3": "other"})
def ormqr(input: Array, tau: Array, other: Array, left: bool = True, transpose: bool = False):
    """The product of `other` with the square Q of the reflections that `geqrf` keeps, or with its conjugate transpose."""
    name = "torch.ormqr"
    if input.ndim < 2 or other.ndim < 2:
        which = "input" if input.ndim < 2 else "other"
        raise RuntimeError(f"{name}: {which} must have at least 2 dimensions.")
    for word, x in (("tau", tau), ("other", other)):
        if x.dtype != input.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {word} to have the same dtype, but input has dtype{scalar_name(input)} and {word} "
                f"has dtype {scalar_name(x)}"
            )
        if x.ndim != input.ndim - (word == "tau"):
            raise RuntimeError(
                f"{name}: Expected {word} to have {'one dimension less than' if word == 'tau' else 'the same number of '}"
                f"{'' if word == 'tau' else 'dimensions as '} input, but got {word}.ndim equal to {x.ndim} and input.ndim is "
                f"equal to {input.ndim}"
            )
    side = -2 if left else -1
    if other.shape[side] < tau.shape[-1]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1] > input.shape[-1]:
        raise RuntimeError(f"{name}: tau.shape[-1] must be less than or equal to input.shape[-1]")
    if tau.shape[-1] != min(other.shape[side], input.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if left:
        return _reflect(input, tau, other, not transpose, transpose)
    return adjoint(_reflect(input, tau, adjoint(other), transpose, not transpose))


@no_derivative(NotImplementedError, "the derivative for 'geqrf' is not implemented.")
def _packed_qr(x: Any) -> tuple[Any, Any]:
    packed, tau = jnp.linalg.qr(x, mode="raw")
    return jnp.swapaxes(packed, -1, -2), tau


@op()
def geqrf(input: Array):
    """R above and on the diagonal, reflections below it, and their factors `tau`, as LAPACK has them."""
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    if input.dtype.itemsize == 2 or kind(input) in ("bool", "int"):
        unsupported("geqrf_cpu", input)
    return types.geqrf(_packed_qr(input))


# -- Cholesky


def _failed_minor(x: Any) -> tuple[Any, Any]:
    """The order of the first leading minor that is not positive, 0 where there is none, and what LAPACK leaves of a factorisation
    that fails there: the columns before it, the pivot, and the lower triangle of `x` behind it. One column after the other: this
    runs only once a factorisation has failed."""
    n = x.shape[-1]

    def column(state: Any, k: Any) -> Any:
        rest, reached, info = state
        own = lax.dynamic_index_in_dim(rest, k, -1, False)  # (..., n)
        pivot = jnp.real(lax.dynamic_index_in_dim(own, k, -1, False))
        bad = ~(pivot > 0)
        first = ((info == 0) & bad)[..., None]
        root = jnp.where(bad, 1, pivot)[..., None]
        below, here = up_to(n) > k, up_to(n) == k
        old = lax.dynamic_index_in_dim(reached, k, -1, False)
        found = jnp.where(below, own, jnp.where(here, root.astype(own.dtype), 0)) / jnp.sqrt(root).astype(own.dtype)
        found = jnp.where(first, jnp.where(here, pivot[..., None].astype(own.dtype), old), found)
        reached = jnp.where((up_to(n) == k) & (first | (info == 0)[..., None])[..., None], found[..., None], reached)
        info = jnp.where((info == 0) & bad, (k + 1).astype(jnp.int32), info)
        own = jnp.where(below, own, 0)[..., None]
        return (rest - (own @ adjoint(own)) / root[..., None].astype(rest.dtype), reached, info), None

    start = x, jnp.tril(x), jnp.zeros(x.shape[:-2], jnp.int32)
    _, reached, info = lax.scan(column, start, up_to(n))[0]
    return reached, info


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _lower_factor(A: Any, upper: bool) -> Any:
    """L of A = L L^H, by the lower triangle of A (by its upper one with `upper`)."""
    return jnp.tril(lax.linalg.cholesky(adjoint(A) if upper else A, symmetrize_input=False))


@_lower_factor.defjvp
def _lower_factor_rule(upper: bool, primals: Any, tangents: Any) -> Any:
    # Both triangles of the tangent count, as in PyTorch, so that the gradient of a symmetric matrix is symmetric.
    factor = _lower_factor(primals[0], upper)
    inner = lax.linalg.triangular_solve(factor, tangents[0], left_side=True, lower=True)
    inner = lax.linalg.triangular_solve(factor, inner, lower=True, transpose_a=True, conjugate_a=True)
    return factor, factor @ (jnp.tril(inner) + jnp.tril(adjoint(inner), -1)) / 2


def cholesky_of(name: str, A: Any, upper: bool, check: bool) -> tuple[Any, Any]:
    """The factor of positive-definite matrices and LAPACK's codes; only one triangle of the input is read."""
    shown = name.removesuffix("_ex")
    square(shown, A)
    if kind(A) in ("bool", "int") and name != "cholesky":
        numbers(shown, A)
    if A.dtype.itemsize == 2 or kind(A) in ("bool", "int"):
        unsupported("cholesky_cpu", A)
    if A.size == 0:
        return A, jnp.zeros(A.shape[:-2], jnp.int32)
    factor = _lower_factor(A, bool(upper))
    fixed = lax.stop_gradient(adjoint(A) if upper else A)
    failed = jnp.any(jnp.isnan(jnp.real(lax.stop_gradient(factor))), (-2, -1))
    reached, info = lax.cond(
        jnp.any(failed), _failed_minor, lambda x: (jnp.zeros_like(x), jnp.zeros(x.shape[:-2], jnp.int32)), fixed
    )
    # Of a matrix that is singular but for rounding LAPACK and `_failed_minor` may think differently: the factor decides.
    info = jnp.where(failed, jnp.where(info == 0, A.shape[-1], info), 0)
    if check:
        report(info, name, _not_positive)
    else:
        factor = jnp.where(failed[..., None, None], reached, factor)
    return adjoint(factor) if upper else factor, info


def _not_positive(order: int) -> str:
    return (
        "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
        f"{order} is not positive-definite)."
    )


@op(
    function=False, method=False, grad="LinalgCholeskyExBackward0", unsaved=["A"], saved=["result"], also={"input": "A"}
)
def linalg_cholesky(A: Array, *, upper: bool = False):
    """The lower triangular L of A = L L^H (or its adjoint, with `upper`); LinAlgError if A is not positive-definite."""
    return cholesky_of("linalg.cholesky", A, upper, True)[0]


@op(function=False, method=False, unsaved=["A"], saved=["result"], also={"input": "A"})
def linalg_cholesky_ex(A: Array, *, upper: bool = False, check_errors: bool = False):
    """As `cholesky`, with the order of the first minor that is not positive (0: all is well) instead of an error.

    Where that is not 0, the factor is what LAPACK reaches without blocks.
    """
    return types.linalg_cholesky_ex(cholesky_of("linalg.cholesky_ex", A, upper, check_errors))


@op(grad="CholeskyBackward0", unsaved=["input"], saved=["result"])
def cholesky(input: Array, upper: bool = False):
    """The Cholesky factor of positive-definite matrices."""
    renamed("torch.cholesky", "torch.linalg.cholesky")
    return cholesky_of("cholesky", input, upper, True)[0]


def _cho_solve(factor: Any, b: Any, upper: bool) -> Any:
    """X of L L^H X = B, or of U^H U X = B. Its derivative is by all of the factor, as in PyTorch, not by one triangle."""

    @jax.custom_jvp
    def solved(factor: Any, b: Any) -> Any:
        for flipped in (True, False) if upper else (False, True):
            b = lax.linalg.triangular_solve(
                factor, b, left_side=True, lower=not upper, transpose_a=flipped, conjugate_a=flipped
            )
        return b

    @solved.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (factor, b), (t, db) = primals, tangents
        x = solved(factor, b)
        half = adjoint(t) @ factor if upper else t @ adjoint(factor)
        return x, solved(factor, db - (half + adjoint(half)) @ x)

    return solved(factor, b)


@op(saved=["input", "result"])
def cholesky_solve(input: Array, input2: Array, upper: bool = False):
    """X of A X = B from the Cholesky factor of A; shapes (..., n, k) and (..., n, n)."""
    for word, x in (("b", input), ("u", input2)):
        if x.ndim < 2:
            raise RuntimeError(f"{word} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    if input2.shape[-1] != input2.shape[-2]:
        square("", input2)
    if input2.shape[-2] != input.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by {input2.shape[-1]} but each "
            f"b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    if input.dtype != input2.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {scalar_name(input)} and A of type "
            f"{scalar_name(input2)} instead."
        )
    if input.dtype.itemsize == 2 or kind(input) in ("bool", "int"):
        unsupported("cholesky_solve_cpu", input)
    batch = batches(input.shape[:-2], input2.shape[:-2])
    return _cho_solve(spread(input2, batch), spread(input, batch), bool(upper))


@op()
def cholesky_inverse(input: Array, upper: bool = False):
    """The inverse of A from its Cholesky factor."""
    square("cholesky_inverse", input)
    if input.dtype.itemsize == 2 or kind(input) in ("bool", "int"):
        unsupported("cholesky_inverse_out_cpu", input)
    zeros = jax.lax.stop_gradient(diagonal_of(input)) == 0
    report(first_bad(zeros), "cholesky_inverse", zero_pivot)
    eye = jnp.broadcast_to(jnp.eye(input.shape[-1], dtype=input.dtype), input.shape)
    return _cho_solve(input, eye, bool(upper))
