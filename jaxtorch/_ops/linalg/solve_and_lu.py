"""Systems of linear equations, and what follows from an LU factorisation: determinants, inverses, LU itself."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, function, functions, inner_op, methods, op
from ..._core.record.value_checks import flag
from ..._core.tensor.tensor import Tensor, write_out
from ..._core.types.structseq import struct, types
from ..._core.types.warn_once import renamed
from ..common.rules import diagonal_of, kind, unsupported
from .checks import (
    adjoint,
    batches,
    first_bad,
    matrix,
    numbers,
    report,
    same_type,
    spread,
    square,
    transpose,
    zero_pivot,
)


def no_halves(kernel: str, x: Any) -> None:
    if x.dtype.itemsize == 2:
        unsupported(kernel, x)


# -- solving


def _factored_solve(lu: Any, order: Any, b: Any, transposed: bool) -> Any:
    """X of A X = B, or of A^T X = B, from the factors of A."""
    unit = {"left_side": True, "lower": True, "unit_diagonal": True}
    upper = {"left_side": True, "lower": False}
    if not transposed:
        b = jnp.take_along_axis(b, order[..., None], -2)
        b = lax.linalg.triangular_solve(lu, b, **unit)
        return lax.linalg.triangular_solve(lu, b, **upper)
    b = lax.linalg.triangular_solve(lu, b, transpose_a=True, **upper)
    b = lax.linalg.triangular_solve(lu, b, transpose_a=True, **unit)
    return jnp.take_along_axis(b, jnp.argsort(order)[..., None], -2)


def solved(a: Any, b: Any) -> tuple[Any, Any]:
    """X of A X = B with the batches broadcast, and where A is singular: 1 + the position of the zero pivot."""
    batch = batches(b.shape[:-2], a.shape[:-2])
    nothing = jnp.zeros((*batch, *b.shape[-2:]), b.dtype)
    if a.size == 0:
        return nothing, jnp.zeros(a.shape[:-2], jnp.int32)
    lu, _, order = lax.linalg.lu(lax.stop_gradient(a))
    info = first_bad(diagonal_of(lu) == 0)
    if b.size == 0:
        return nothing, info
    lu = spread(lu, batch)
    order = jnp.broadcast_to(order, (*batch, order.shape[-1]))
    a = spread(a, batch)
    x = lax.custom_linear_solve(
        lambda x: a @ x,
        spread(b, batch),
        solve=lambda _, b: _factored_solve(lu, order, b, False),
        transpose_solve=lambda _, b: _factored_solve(lu, order, b, True),
    )
    return x, info


def inverse_of(a: Any) -> tuple[Any, Any]:
    """The inverse of matrices, and LAPACK's codes."""
    return solved(a, jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape))


def _is_vector(A: Any, B: Any) -> bool:
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def _check_shapes(name: str, A: Any, B: Any, left: bool) -> None:
    matrix(name, B, "B")
    if A.shape[-2 if left else -1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B ({A.shape[-2]}x"
            f"{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def _singular(code: int) -> str:
    return "The solver failed because the input matrix is singular."


def _solve(A: Any, B: Any, left: Any, name: str, check: bool) -> tuple[Any, Any]:
    if not isinstance(left, bool):
        raise TypeError(f"linalg_solve(): argument 'left' must be bool, not {type(left).__name__}")
    numbers("linalg.solve", A, halves=True)
    same_type("linalg.solve", A, B)
    square("linalg.solve", A)
    vector = _is_vector(A, B)
    b = B[..., None] if vector else B
    _check_shapes("linalg.solve", A, b, left)
    no_halves("lu_cpu", A)
    if left:
        x, info = solved(A, b)
    else:
        x, info = solved(transpose(A), transpose(b))
        x = transpose(x)
    if check:
        report(info, name, _singular)
    return (x[..., 0] if vector else x), info


@op(function=False, method=False, grad="LinalgSolveExBackward0", unsaved=["B"], saved=["result"])
def linalg_solve(A: Array, B: Array, *, left: bool = True):
    """X of A X = B (of X A = B unless `left`); LinAlgError where A is singular. Batches broadcast."""
    return _solve(A, B, left, "torch.linalg.solve", True)[0]


@op(function=False, method=False, unsaved=["B"], saved=["result"])
def linalg_solve_ex(A: Array, B: Array, *, left: bool = True, check_errors: bool = False):
    """As `solve`, with codes that say where A is singular instead of an error."""
    return types.linalg_solve_ex(_solve(A, B, left, "torch.linalg.solve_ex", check_errors))


@op(function=False, method=False, also={"input": "A"}, saved=["result"])
def linalg_solve_triangular(A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False):
    """X of A X = B (of X A = B unless `left`) with triangular A; the other triangle is not read."""
    name = "linalg.solve_triangular"
    square(name, A)
    _check_shapes(name, A, B, left)
    if B.dtype != A.dtype:
        B = (jnp.real(B) if jnp.iscomplexobj(B) and not jnp.iscomplexobj(A) else B).astype(A.dtype)
    if kind(A) in ("bool", "int"):
        unsupported("triangular_solve_cpu", A)
    no_halves("triangular_solve_cpu", A)
    return _triangular(A, B, left=bool(left), lower=not upper, unit=bool(unitriangular))


def _triangular(A: Any, B: Any, left: bool, lower: bool, unit: bool, transposed: bool = False) -> Any:
    batch = batches(A.shape[:-2], B.shape[:-2])
    return lax.linalg.triangular_solve(
        spread(A, batch), spread(B, batch), left_side=left, lower=lower, unit_diagonal=unit, transpose_a=transposed
    )


@op(saved=["input", "result"])
def triangular_solve(input: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False):
    """X of A X = B with triangular A, and a copy of A."""
    renamed("torch.triangular_solve", "torch.linalg.solve_triangular")
    for word, x in (("b", input), ("A", A)):
        if x.ndim < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {word} to have at least 2 dimensions, but it has {x.ndim} "
                               "dimensions instead")  # fmt: skip
    square("", A)
    if A.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b "
            f"matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    same_type("triangular_solve", input, A, ("b", "A"))
    if kind(A) in ("bool", "int"):
        unsupported("triangular_solve_cpu", A)
    no_halves("triangular_solve_cpu", A)
    x = _triangular(A, input, True, not upper, bool(unitriangular), bool(transpose))
    return types.triangular_solve((x, spread(A, batches(A.shape[:-2], input.shape[:-2]))))


# -- inverses


def _inv(A: Any, name: str, check: bool) -> tuple[Any, Any]:
    square("linalg.inv", A)
    numbers("linalg.inv", A)
    x, info = inverse_of(A)
    if check:
        report(info, name, zero_pivot)
    return x, info


@op(function=False, method=False, grad="LinalgInvExBackward0", unsaved=["A"], also={"input": "A"})
def linalg_inv(A: Array):
    """The inverse of square matrices; LinAlgError where they are singular."""
    return _inv(A, "linalg.inv", True)[0]


@inner_op(grad="LinalgInvExBackward0", unsaved=["A"])
def _tensor_inverse(A: Array):
    return _inv(A, "inv", True)[0]


functions["inverse"] = methods["inverse"] = linalg_inv


@op(function=False, method=False, unsaved=["A"])
def linalg_inv_ex(A: Array, *, check_errors: bool = False):
    """As `inv`, with the position of the first zero pivot (0: there is none) instead of an error."""
    return types.linalg_inv_ex(_inv(A, "linalg.inv_ex", check_errors))


# -- determinants


def _sign_of_order(pivots: Any) -> Any:
    swaps = jnp.sum(pivots != up_to(pivots.shape[-1], pivots.dtype), -1)
    return 1 - 2 * (swaps % 2)


@jax.custom_jvp
def _det(a: Any) -> Any:
    lu, pivots, _ = lax.linalg.lu(a)
    return jnp.prod(diagonal_of(lu), -1) * _sign_of_order(pivots).astype(a.dtype)


@_det.defjvp
def _det_rule(primals: Any, tangents: Any) -> Any:
    # JAX's rule goes by cofactors, and so is right where the determinant is 0.
    return _det(*primals), jax.jvp(jnp.linalg.det, primals, tangents)[1].astype(primals[0].dtype)


def _check_det(name: str, A: Any) -> None:
    square(name, A)
    numbers(name, A, halves=True)
    if name == "linalg.det":
        no_halves("lu_cpu", A)
    numbers(name, A)


@op(function=False, method=False, saved=["A", "result"], also={"input": "A"})
def linalg_det(A: Array):
    """The determinant of square matrices; shapes (..., n, n) to (...)."""
    _check_det("linalg.det", A)
    return _det(A) if A.size else jnp.ones(A.shape[:-2], A.dtype)


functions["det"] = methods["det"] = linalg_det


def _slogdet(name: str, A: Any) -> tuple[Any, Any]:
    _check_det(name, A)
    if A.shape[-1] == 0:
        return jnp.ones(A.shape[:-2], A.dtype), jnp.real(jnp.zeros(A.shape[:-2], A.dtype))
    sign, size = jnp.linalg.slogdet(A, method="lu")
    return sign.astype(A.dtype), size


@op(function=False, method=False, saved=["A", "result"])
def linalg_slogdet(A: Array):
    """The sign (a number of modulus 1) and the logarithm of the absolute value of the determinant."""
    return types.linalg_slogdet(_slogdet("linalg.slogdet", A))


@op(grad="LinalgSlogdetBackward0")
def slogdet(input: Array):
    """The sign and the logarithm of the absolute value of the determinant."""
    return types.slogdet(_slogdet("linalg.slogdet", input))


@op(
    out=False,
    grad=lambda operands, _: "AddBackward0" if operands[0].dtype.is_complex else "WhereBackward0",
    saved=["input"],
)
def logdet(input: Array):
    """The logarithm of the determinant; NaN where it is negative."""
    square("logdet", input)
    sign, size = _slogdet("logdet", input)
    if kind(input) == "complex":
        return jnp.log(sign) + size
    return jnp.where(sign == -1, jnp.nan, size)


# -- LU


def _lu(name: str, A: Any, pivot: Any, check: bool = False) -> tuple[Any, Any, Any]:
    if A.ndim < 2:
        short = "linalg.lu" if name == "linalg.lu" else "torch.lu_factor"
        raise RuntimeError(f"{short}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    if A.size == 0:
        k = min(A.shape[-2:])
        pivots = jnp.broadcast_to(jnp.arange(1, k + 1, dtype=jnp.int32), (*A.shape[:-2], k))
        return A, pivots, jnp.zeros(A.shape[:-2], jnp.int32)
    if kind(A) in ("bool", "int"):
        unsupported("lu_cpu", A)
    no_halves("lu_cpu", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    lu, pivots, _ = lax.linalg.lu(A)
    info = first_bad(lax.stop_gradient(diagonal_of(lu)) == 0)
    if check:
        report(info, f"torch.{name}", _zero_on_diagonal, RuntimeError)
    return lu, pivots.astype(jnp.int32) + 1, info


def _zero_on_diagonal(code: int) -> str:
    return (
        f"U[{code},{code}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform "
        "the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )


@op(function=False, method=False, grad="LinalgLuFactorExBackward0", unsaved=["A"], saved=["result1"])
def linalg_lu_factor(A: Array, *, pivot: bool = True):
    """L and U in one matrix, and the row swaps counted from 1; RuntimeError where U has a zero on its diagonal."""
    return types.linalg_lu_factor(_lu("linalg.lu_factor", A, pivot, True)[:2])


@op(function=False, method=False, unsaved=["A"], saved=["result1"])
def linalg_lu_factor_ex(A: Array, *, pivot: bool = True, check_errors: bool = False):
    """As `lu_factor`, with the position of the first zero on U's diagonal instead of an error."""
    return types.linalg_lu_factor_ex(_lu("linalg.lu_factor_ex", A, pivot, check_errors))


_lu_with_info = struct("_lu_with_info", ("LU", "pivots", "info"))


@function("lu", method=True)
def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """L and U in one matrix, and the row swaps counted from 1; with `get_infos`, also the codes of `lu_factor_ex`."""
    renamed("torch.lu", "torch.linalg.lu_factor / torch.linalg.lu_factor_ex")
    found = linalg_lu_factor_ex(A, pivot=pivot)
    if get_infos:
        made: Any = _lu_with_info(found)
        return made if out is None else write_out(out, made, "lu")
    return tuple(found)[:2] if out is None else write_out(out, tuple(found)[:2], "lu")


def _permutation(pivots: Any, rows: int, dtype: Any) -> Any:
    order = lax.linalg.lu_pivots_to_permutation(pivots - 1, rows)
    return jnp.swapaxes(order[..., None] == up_to(rows), -1, -2).astype(dtype)


def _lower_upper(packed: Any) -> tuple[Any, Any]:
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    lower = jnp.tril(packed[..., :k], -1) + jnp.eye(rows, k, dtype=packed.dtype)
    return lower, jnp.triu(packed[..., :k, :])


@op(function=False, method=False, unsaved=["A"], saved=["result", "result1", "result2"])
def linalg_lu(A: Array, *, pivot: bool = True):
    """P, L and U with A = P L U."""
    packed, pivots, _ = _lu("linalg.lu", A, pivot)
    rows = _permutation(pivots, A.shape[-2], A.dtype) if pivot else jnp.zeros((0,), A.dtype)  # of nothing, too
    return types.linalg_lu((rows, *_lower_upper(packed)))


@op(method=False)
def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True):
    """P, L and U from what `lu_factor` answers."""
    empty = jnp.zeros((0,), LU_data.dtype)
    permutation = empty
    if unpack_pivots:
        if LU_pivots.dtype != jnp.int32:
            raise RuntimeError(
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function "
                "is intended to be used with the output produced by torch.linalg.lu_factor"
            )
        if LU_pivots.shape != (*LU_data.shape[:-2], min(LU_data.shape[-2:])):
            raise RuntimeError(_BAD_PIVOTS)
        outside = (LU_pivots < 1) | (LU_pivots > LU_data.shape[-2])
        _need_pivots(outside)
        permutation = _permutation(LU_pivots, LU_data.shape[-2], LU_data.dtype)
    return types.lu_unpack((permutation, *(_lower_upper(LU_data) if unpack_data else (empty, empty))))


_BAD_PIVOTS = "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?"


def _need_pivots(outside: Any) -> None:
    flag(
        jnp.any(outside).astype(jnp.int64),
        lambda _: RuntimeError(_BAD_PIVOTS),
    )


def _lu_solve(LU: Any, pivots: Any, B: Any, left: bool, conjugate: bool) -> Any:
    name = "linalg.lu_solve"
    square(f"torch.{name}", LU)
    if pivots.dtype != jnp.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    same_type(name, LU, B, ("LU", "B"))
    _check_shapes(name, LU, B, left)
    if LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots.shape)} "
            "instead"
        )
    no_halves("linalg_lu_solve_cpu", LU)
    flag(
        jnp.any(pivots < 1).astype(jnp.int64),
        lambda _: RuntimeError(
            "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of lu_factor?"
        ),
    )
    batch = batches(LU.shape[:-2], B.shape[:-2])
    if B.size == 0:
        return spread(B, batch)
    order = lax.linalg.lu_pivots_to_permutation(pivots - 1, LU.shape[-1])
    order = jnp.broadcast_to(order, (*batch, order.shape[-1]))
    lu, b = spread(LU, batch), spread(B, batch)
    if left:
        return (
            jnp.conj(_factored_solve(lu, order, jnp.conj(b), True))
            if conjugate
            else _factored_solve(lu, order, b, False)
        )
    flipped = transpose(b)
    if conjugate:
        return adjoint(_factored_solve(lu, order, adjoint(b), False))
    return transpose(_factored_solve(lu, order, flipped, True))


@op(function=False, method=False, saved=["result"], unsaved=["B"])
def linalg_lu_solve(LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False):
    """X of A X = B (of X A = B unless `left`) from what `lu_factor` answers; A^H for A with `adjoint`."""
    return _lu_solve(LU, pivots, B, bool(left), bool(adjoint))


@op(grad="LinalgLuSolveBackward0", unsaved=["input"], saved=["result"])
def lu_solve(input: Array, LU_data: Array, LU_pivots: Array):
    """X of A X = B from what `lu_factor` answers."""
    renamed("torch.lu_solve", "torch.linalg.lu_solve")
    return _lu_solve(LU_data, LU_pivots, input, True, False)
