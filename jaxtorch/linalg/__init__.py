"""`torch.linalg`: linear algebra."""

# ruff: noqa: F401 - what is imported here is the namespace
from __future__ import annotations

from .._core.define.op import names_of_its_own as _names_of_its_own
from .._ops.linalg.checks import LinAlgError
from .._ops.linalg.eigen_and_svd import linalg_eig as eig
from .._ops.linalg.eigen_and_svd import linalg_eigh as eigh
from .._ops.linalg.eigen_and_svd import linalg_eigvals as eigvals
from .._ops.linalg.eigen_and_svd import linalg_eigvalsh as eigvalsh
from .._ops.linalg.eigen_and_svd import linalg_svd as svd
from .._ops.linalg.eigen_and_svd import linalg_svdvals as svdvals
from .._ops.linalg.eigen_and_svd import lstsq, matrix_rank, pinv
from .._ops.linalg.ldl import linalg_ldl_factor as ldl_factor
from .._ops.linalg.ldl import linalg_ldl_factor_ex as ldl_factor_ex
from .._ops.linalg.ldl import linalg_ldl_solve as ldl_solve
from .._ops.linalg.matmul import matmul
from .._ops.linalg.matrix_functions import diagonal, matrix_power, tensorinv, tensorsolve, vander
from .._ops.linalg.matrix_functions import linalg_cross as cross
from .._ops.linalg.matrix_functions import linalg_matrix_exp as matrix_exp
from .._ops.linalg.matrix_functions import linalg_multi_dot as multi_dot
from .._ops.linalg.matrix_functions import linalg_vecdot as vecdot
from .._ops.linalg.norms import cond, matrix_norm, norm
from .._ops.linalg.norms import linalg_vector_norm as vector_norm
from .._ops.linalg.qr_and_cholesky import linalg_cholesky as cholesky
from .._ops.linalg.qr_and_cholesky import linalg_cholesky_ex as cholesky_ex
from .._ops.linalg.qr_and_cholesky import linalg_householder_product as householder_product
from .._ops.linalg.qr_and_cholesky import linalg_qr as qr
from .._ops.linalg.solve_and_lu import linalg_det as det
from .._ops.linalg.solve_and_lu import linalg_inv as inv
from .._ops.linalg.solve_and_lu import linalg_inv_ex as inv_ex
from .._ops.linalg.solve_and_lu import linalg_lu as lu
from .._ops.linalg.solve_and_lu import linalg_lu_factor as lu_factor
from .._ops.linalg.solve_and_lu import linalg_lu_factor_ex as lu_factor_ex
from .._ops.linalg.solve_and_lu import linalg_lu_solve as lu_solve
from .._ops.linalg.solve_and_lu import linalg_slogdet as slogdet
from .._ops.linalg.solve_and_lu import linalg_solve as solve
from .._ops.linalg.solve_and_lu import linalg_solve_ex as solve_ex
from .._ops.linalg.solve_and_lu import linalg_solve_triangular as solve_triangular

__all__ = [n for n in sorted(globals()) if n[0] != "_" and n != "annotations"]  # pyright: ignore[reportUnsupportedDunderAll]

_names_of_its_own(globals(), __all__)
