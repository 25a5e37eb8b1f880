"""Operations whose `out=` tensor must have the very type of the result; the others convert to it."""

from __future__ import annotations

from typing import NoReturn

from ..._core.tensor.out_tensors import ACCUMULATING
from ..._core.tensor.tensor import strict_out
from ..._core.types import dtypes
from ..indexing.gather import need_same

_EXACT = """
    addbmm addmm addmv alias_copy amax amin aminmax argmax argmin argsort as_strided_copy baddbmm bmm bucketize
    complex cross cummax cummin diagonal_copy dot expand_copy fft_ihfft frexp
    histc histogram _isin isneginf isposinf kthvalue linalg_cholesky linalg_cholesky_ex linalg_cross
    linalg_det linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve
    linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matrix_norm linalg_multi_dot linalg_norm linalg_qr
    linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals linalg_vecdot
    linalg_matrix_power linalg_vector_norm log_softmax logcumsumexp lu_solve lu_unpack matmul _max_dim _min_dim mm mode msort
    multinomial mv nan_to_num nanquantile narrow_copy avg_pool2d avg_pool3d hardshrink linear logsigmoid
    norm ormqr permute_copy polar qr quantile renorm searchsorted signbit slice_scatter
    softmax sort split_with_sizes_copy squeeze_copy svd t_copy take tensordot topk transpose_copy triangular_solve tril triu
    unbind_copy unfold_copy unsqueeze_copy vdot view_copy inverse
    logdet det slogdet native_batch_norm hash_tensor heaviside median nanmedian nonzero_static index_copy index_reduce index_add
""".split()
_ELEMENT_BY_ELEMENT = """
    abs bitwise_not ceil _conj_physical floor frac lerp softplus softshrink gelu round trunc neg sgn sign clamp|numbers fft_ihfftn
""".split()


def _found(found: dtypes.dtype, wanted: dtypes.dtype) -> NoReturn:
    raise RuntimeError(f"Found dtype {dtypes.scalar_name(wanted)} but expected {dtypes.scalar_name(found)}")


def _real_only(name: str) -> object:
    def refuse(found: dtypes.dtype, wanted: dtypes.dtype) -> None:
        if not wanted.is_floating_point:
            raise RuntimeError(f"{name} expects a floating point output tensor, but got {dtypes.scalar_name(wanted)}")

    return refuse


def _magnitude(found: dtypes.dtype, wanted: dtypes.dtype) -> None:
    """Into a complex tensor, that of the input's type only."""
    if wanted.is_complex and wanted is not found.to_complex():
        _found(found.to_complex(), wanted)


def _truth(found: dtypes.dtype, wanted: dtypes.dtype) -> None:
    """Into bool or uint8."""
    if wanted not in (dtypes.bool_, dtypes.uint8):
        need_same(found, wanted)


def _copied(found: dtypes.dtype, wanted: dtypes.dtype) -> NoReturn:
    raise RuntimeError(f"expected scalar_type {dtypes.scalar_name(found)} but found {dtypes.scalar_name(wanted)}")


strict_out["abs|complex"] = _magnitude
strict_out["diff|copy"] = _copied
strict_out["all"] = strict_out["any"] = _truth
for _name in _ELEMENT_BY_ELEMENT:
    strict_out[_name] = _found
for _name in ("hfft", "irfft", "hfftn", "irfftn"):
    strict_out["fft_" + _name] = _real_only(_name)
for _name in [*_EXACT, *[f"{n}|dtype" for n in ACCUMULATING]]:
    strict_out.setdefault(_name, need_same)
