"""Decompositions of low rank by random projection.

N. Halko, P. G. Martinsson, J. A. Tropp: Finding structure with randomness (2009), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from ..._core.define.op import function
from ..._core.define.op import functions as _f
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes
from .eigen_and_svd import linalg_svd
from .qr_and_cholesky import linalg_qr

_DRAWN = (dtypes.float16, dtypes.float32, dtypes.float64)


def _basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Orthonormal columns whose span holds most of that of A (minus M)."""

    def times(x: Tensor) -> Tensor:
        return A @ x if M is None else A @ x - M @ x

    def transposed(x: Tensor) -> Tensor:
        return A.mH @ x if M is None else A.mH @ x - M.mH @ x

    kind = A.dtype if A.is_complex() or A.dtype in _DRAWN else dtypes.float32  # a product with another type raises
    start = _f["randn"](A.shape[-1], q, dtype=kind, device=A.device)
    found = linalg_qr(times(start))[0]
    for _ in range(niter):
        found = linalg_qr(transposed(found))[0]
        found = linalg_qr(times(found))[0]
    return found


@function("svd_lowrank")
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A (minus M) near U diag(S) V^H, of rank q, for A (*, m, n), by random projections; Halko et al. (2011)."""
    q = 6 if q is None else q
    niter = 2 if niter is None else niter
    m, n = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.shape)
    if m < n:
        A, M = A.mH, None if M is None else M.mH
    Q = _basis(A, q, niter, M)
    B = Q.mH @ A if M is None else Q.mH @ (A - M)
    U, S, Vh = linalg_svd(B, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if m < n else (U, S, V)


@function("pca_lowrank")
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of rows: `svd_lowrank` of A, whose columns' means are taken away unless `center` is False."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not (0 <= q <= min(m, n)):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    A = A.to_dense() if center and A.is_sparse else A
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)
