# Made by scripts/make_stub.py; do not edit.
# ruff: noqa
# fmt: off
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false, reportRedeclaration=false
from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

import numpy as np
from typing_extensions import TypeIs

from .. import return_types as _return_types
from .._core.types.device import device as _Device
from .._core.types.dtypes import dtype as _dtype
from .._core.random.generator import Generator
from .._core.types.size import Size
from .._core.tensor.tensor import Tensor
from .._ops.linalg.checks import LinAlgError as LinAlgError

# Methods and element types are called int, float, bool, type, ...: where they are defined, these are the builtin ones.
_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_type: TypeAlias = builtins.type
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex

__all__: list[_str]
def _names_of_its_own(space: dict[_str, Any], names: Sequence[_str]) -> None:
    """Make functions of a module that `torch` or `Tensor` has as well its own: `torch.linalg.det` is not `torch.det`."""
def cholesky(A: Tensor, *, upper: _bool = ..., out: Any = ...) -> Tensor:
    """The lower triangular L of A = L L^H (or its adjoint, with `upper`); LinAlgError if A is not positive-definite."""
def cholesky_ex(A: Tensor, *, upper: _bool = ..., check_errors: _bool = ..., out: Any = ...) -> _return_types.linalg_cholesky_ex:
    """As `cholesky`, with the order of the first minor that is not positive (0: all is well) instead of an error."""
def cond(input: Tensor, p: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """The condition number of matrices in a norm (2 by default); inf where they are singular."""
def cross(input: Tensor, other: Tensor, *, dim: Any = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """The cross product of vectors of three elements, broadcast."""
def det(A: Tensor, *, out: Any = ...) -> Tensor:
    """The determinant of square matrices; shapes (..., n, n) to (...)."""
def diagonal(A: Tensor, *, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """The diagonals of matrices, as a view."""
def eig(A: Tensor, *, out: Any = ...) -> _return_types.linalg_eig:
    """Eigenvalues and eigenvectors of length 1 of square matrices, both complex."""
def eigh(A: Tensor, UPLO: _str = ..., *, out: Any = ...) -> _return_types.linalg_eigh:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices, of which one triangle is read."""
def eigvals(A: Tensor, *, out: Any = ...) -> Tensor:
    """The complex eigenvalues of square matrices."""
def eigvalsh(A: Tensor, UPLO: _str = ..., *, out: Any = ...) -> Tensor:
    """The eigenvalues of Hermitian matrices in ascending order."""
def householder_product(A: Tensor, tau: Tensor, *, out: Any = ...) -> Tensor:
    """The first columns of the product of the reflections that `geqrf` keeps; shapes (..., m, n), (..., k) to (..., m, n)."""
def inv(A: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse of square matrices; LinAlgError where they are singular."""
def inv_ex(A: Tensor, *, check_errors: _bool = ..., out: Any = ...) -> _return_types.linalg_inv_ex:
    """As `inv`, with the position of the first zero pivot (0: there is none) instead of an error."""
def ldl_factor(A: Tensor, *, hermitian: _bool = ..., out: Any = ...) -> _return_types.linalg_ldl_factor:
    """L and the block-diagonal D of A = L D L^T (L^H if `hermitian`) in one matrix, and LAPACK's pivots. No gradient."""
def ldl_factor_ex(A: Tensor, *, hermitian: _bool = ..., check_errors: _bool = ..., out: Any = ...) -> _return_types.linalg_ldl_factor_ex:
    """As `ldl_factor`, with LAPACK's code instead of an error."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = ..., out: Any = ...) -> Tensor:
    """X of A X = B from what `ldl_factor` answers. No gradient, as in PyTorch."""
def lstsq(input: Tensor, b: Tensor, rcond: Any = ..., *, driver: _str | None = ..., out: tuple[Tensor, ...] | None = ...) -> _return_types.linalg_lstsq:
    """The X of least norm among those that minimise |A X - B|, with residuals, rank and singular values."""
def lu(A: Tensor, *, pivot: _bool = ..., out: Any = ...) -> _return_types.linalg_lu:
    """P, L and U with A = P L U."""
def lu_factor(A: Tensor, *, pivot: _bool = ..., out: Any = ...) -> _return_types.linalg_lu_factor:
    """L and U in one matrix, and the row swaps counted from 1; RuntimeError where U has a zero on its diagonal."""
def lu_factor_ex(A: Tensor, *, pivot: _bool = ..., check_errors: _bool = ..., out: Any = ...) -> _return_types.linalg_lu_factor_ex:
    """As `lu_factor`, with the position of the first zero on U's diagonal instead of an error."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = ..., adjoint: _bool = ..., out: Any = ...) -> Tensor:
    """X of A X = B (of X A = B unless `left`) from what `lu_factor` answers; A^H for A with `adjoint`."""
def matmul(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The matrix product of two tensors: of vectors, matrices, or batches of matrices (broadcast)."""
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices."""
def matrix_norm(input: Tensor, ord: Any = ..., dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """The norm of matrices: 'fro', 'nuc', or 1, -1, 2, -2, inf, -inf. Shapes: (..., m, n) to (...)."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """A to an integer power; the inverse's where that is negative."""
def matrix_rank(input: Tensor, tol: Any = ..., hermitian: _bool = ..., *, atol: Any = ..., rtol: Any = ..., out: Tensor | None = ...) -> Tensor:
    """How many singular values exceed max(atol, rtol * the largest); `tol` is the older name of `atol`."""
def multi_dot(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor:
    """The product of two or more matrices in the cheapest order; the first and the last may be vectors."""
def norm(input: Tensor, ord: Any = ..., dim: Any = ..., keepdim: _bool = ..., *, out: Tensor | None = ..., dtype: Any = ...) -> Tensor:
    """A vector norm over one dimension (or all of them, with no `ord`), a matrix norm over two."""
def pinv(input: Tensor, rcond: Any = ..., hermitian: _bool = ..., *, atol: Any = ..., rtol: Any = ..., out: Tensor | None = ...) -> Tensor:
    """The pseudo-inverse; singular values up to max(atol, rtol * the largest) count as 0 (`rcond` is an older `rtol`)."""
def qr(A: Tensor, mode: _str = ..., *, out: Any = ...) -> _return_types.linalg_qr:
    """Q with orthonormal columns and upper triangular R, A = QR; modes 'reduced', 'complete', 'r'."""
def slogdet(A: Tensor, *, out: Any = ...) -> _return_types.linalg_slogdet:
    """The sign (a number of modulus 1) and the logarithm of the absolute value of the determinant."""
def solve(A: Tensor, B: Tensor, *, left: _bool = ..., out: Any = ...) -> Tensor:
    """X of A X = B (of X A = B unless `left`); LinAlgError where A is singular. Batches broadcast."""
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = ..., check_errors: _bool = ..., out: Any = ...) -> _return_types.linalg_solve_ex:
    """As `solve`, with codes that say where A is singular instead of an error."""
def solve_triangular(A: Tensor, B: Tensor, *, upper: _bool, left: _bool = ..., unitriangular: _bool = ..., out: Any = ...) -> Tensor:
    """X of A X = B (of X A = B unless `left`) with triangular A; the other triangle is not read."""
def svd(A: Tensor, full_matrices: _bool = ..., *, driver: Any = ..., out: Any = ...) -> _return_types.svd:
    """U, the singular values, and V^H, of A = U diag(S) V^H."""
def svdvals(A: Tensor, *, driver: Any = ..., out: Any = ...) -> Tensor:
    """The singular values, largest first; shapes (..., m, n) to (..., min(m, n))."""
def tensorinv(input: Tensor, ind: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse of the map from the dimensions of `A` from `ind` on to those before."""
def tensorsolve(input: Tensor, other: Tensor, dims: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """X of tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first."""
def vander(x: Tensor, *, N: _int | None = ...) -> Tensor:
    """The powers 0 to N - 1 of each element along a new last dimension; N is the length of x by default."""
def vecdot(x: Tensor, y: Tensor, *, dim: Any = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """The sum of conj(x) * y along a dimension, broadcast."""
def vector_norm(x: Tensor, ord: _Number | None = ..., dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The p-norm over dimensions (an int, a tuple, None for all) of floating-point or complex numbers."""
