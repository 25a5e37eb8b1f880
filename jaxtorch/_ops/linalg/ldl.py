"""Factorisations of symmetric matrices that need not be positive-definite (Bunch and Kaufman), by LAPACK on the host."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, op
from ..._core.types.structseq import types
from ..common.rules import kind, no_derivative, unsupported
from .checks import LinAlgError, batches, numbers, report, same_type, spread, square

Matrix = np.ndarray[Any, Any]


def _letter(x: Any) -> str:
    return {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[np.dtype(x.dtype).name]


def _routine(x: Any, hermitian: bool, ending: str) -> Any:
    family = "he" if hermitian and np.iscomplexobj(x) else "sy"
    from scipy.linalg import lapack  # takes long to import, and few programs come here

    return getattr(lapack, f"{_letter(x)}{family}{ending}")


def _factor_on_host(x: Matrix, hermitian: bool) -> tuple[Matrix, Matrix, Matrix]:
    x = np.asarray(x)
    n = x.shape[-1]
    packed, pivots = np.empty_like(x), np.zeros(x.shape[:-1], np.int32)
    info = np.zeros(x.shape[:-2], np.int32)
    routine = _routine(x, hermitian, "trf")
    for i in np.ndindex(x.shape[:-2]):
        packed[i], pivots[i], info[i] = routine(x[i], lower=1, lwork=max(64 * n, 1))
    return np.tril(packed), pivots, info


def _ldl(name: str, A: Any, hermitian: bool, check: bool) -> tuple[Any, Any, Any]:
    square("torch.linalg.ldl_factor_ex", A)
    if kind(A) in ("bool", "int"):
        numbers("torch.linalg.ldl_factor_ex", A)
    if A.dtype.itemsize <= 2:
        unsupported("ldl_factor_kernel_cpu", A)
    shapes = (
        jax.ShapeDtypeStruct(A.shape, A.dtype),
        jax.ShapeDtypeStruct(A.shape[:-1], np.int32),
        jax.ShapeDtypeStruct(A.shape[:-2], np.int32),
    )
    if A.size == 0:
        return A, jnp.zeros(A.shape[:-1], jnp.int32), jnp.zeros(A.shape[:-2], jnp.int32)

    @no_derivative(RuntimeError, "derivative for aten::linalg_ldl_factor_ex is not implemented")
    def factored(x: Any) -> Any:
        return jax.pure_callback(lambda x: _factor_on_host(x, hermitian), shapes, x)

    packed, pivots, info = factored(A)
    if check:
        report(info, name, lambda code: f"D[{code},{code}] is zero: the matrix is singular.", LinAlgError)
    return packed, pivots, info


@op(function=False, method=False, grad="NotImplemented", also={"input": "A"})
def linalg_ldl_factor(A: Array, *, hermitian: bool = False):
    """L and the block-diagonal D of A = L D L^T (L^H if `hermitian`) in one matrix, and LAPACK's pivots. No gradient."""
    return types.linalg_ldl_factor(_ldl("torch.linalg.ldl_factor", A, bool(hermitian), True)[:2])


@op(function=False, method=False, grad="NotImplemented", also={"input": "A"})
def linalg_ldl_factor_ex(A: Array, *, hermitian: bool = False, check_errors: bool = False):
    """As `ldl_factor`, with LAPACK's code instead of an error."""
    return types.linalg_ldl_factor_ex(_ldl("torch.linalg.ldl_factor_ex", A, bool(hermitian), bool(check_errors)))


def _solve_on_host(packed: Matrix, pivots: Matrix, b: Matrix, hermitian: bool) -> Matrix:
    packed, pivots, b = np.asarray(packed), np.asarray(pivots), np.asarray(b)
    found = np.empty_like(b)
    routine = _routine(packed, hermitian, "trs")
    for i in np.ndindex(b.shape[:-2]):
        found[i] = routine(packed[i], pivots[i], b[i], lower=1)[0]
    return found


@op(function=False, method=False, grad="NotImplemented")
def linalg_ldl_solve(LD: Array, pivots: Array, B: Array, *, hermitian: bool = False):
    """X of A X = B from what `ldl_factor` answers. No gradient, as in PyTorch."""
    name = "torch.linalg.ldl_solve"
    square(name, LD)
    if B.ndim < 2:
        raise RuntimeError(f"{name}: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if kind(pivots) != "int":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype}")
    same_type(name, LD, B, ("LD", "B"))
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"{name}: Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each b "
            f"matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    batch = batches(LD.shape[:-2], B.shape[:-2])
    b = spread(B, batch)
    if b.size == 0:
        return b
    whole = jnp.broadcast_to(pivots, (*batch, pivots.shape[-1]))

    @no_derivative(RuntimeError, "derivative for aten::linalg_ldl_solve is not implemented")
    def solved(packed: Any, pivots: Any, b: Any) -> Any:
        shape = jax.ShapeDtypeStruct(b.shape, b.dtype)
        return jax.pure_callback(lambda *xs: _solve_on_host(*xs, bool(hermitian)), shape, packed, pivots, b)  # pyright: ignore[reportCallIssue]

    return solved(spread(LD, batch), whole, b)
