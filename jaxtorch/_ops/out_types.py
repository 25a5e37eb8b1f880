"""Operations whose `out=` tensor must have the very type of the result; the others convert to it."""

from __future__ import annotations

from typing import NoReturn

from .._core import dtypes
from .._core.tensor import strict_out

_EXACT = """
    abs addbmm addmm addmv alias_copy all amax amin aminmax any argmax argmin as_strided_copy baddbmm bitwise_not bmm bucketize
    ceil complex _conj_physical cross cummax cummin diagonal_copy dot expand_copy fft_ihfft floor frac frexp
    histc histogram _isin isneginf isposinf kthvalue linalg_cholesky linalg_cholesky_ex linalg_cross
    linalg_det linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve
    linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matrix_norm linalg_multi_dot linalg_norm linalg_qr
    linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals linalg_vecdot
    linalg_vector_norm log_softmax logcumsumexp lu_solve lu_unpack matmul _max_dim _min_dim mm mode msort
    multinomial mv nan_to_num nanquantile narrow_copy neg avg_pool2d avg_pool3d gelu hardshrink linear logsigmoid softplus
    softshrink norm ormqr permute_copy polar qr quantile renorm round searchsorted sgn sign signbit slice_scatter
    softmax sort split_with_sizes_copy squeeze_copy svd t_copy take tensordot topk transpose_copy triangular_solve tril triu
    trunc unbind_copy unfold_copy unsqueeze_copy vdot view_copy inverse
    logdet det slogdet native_batch_norm hash_tensor heaviside index_copy index_reduce index_add
""".split()


def _refuse(name: str) -> object:
    def refuse(found: dtypes.dtype, wanted: dtypes.dtype) -> NoReturn:
        raise RuntimeError(
            f"{name}(): expected the out tensor to have dtype {dtypes.scalar_name(found)}, but got {dtypes.scalar_name(wanted)}"
        )

    return refuse


for _name in _EXACT:
    strict_out.setdefault(_name, _refuse(_name))
