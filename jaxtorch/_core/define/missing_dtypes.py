"""Operations that PyTorch's CPU kernels lack for 8-bit floats and for unsigned integers of more than 8 bits.

XLA has some of them, fails in others when the program is compiled, and knows no such rule; so they are refused where their entry
is built. `scripts/rare_types.py` prints the tables, from PyTorch: the kernels, and the operations that end in them, with a star
where those of a tensor without dimensions do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..types import dtypes
from ..types.value import Aval

_ELEMENTS = frozenset(
    """adaptive_avg_pool1d cholesky cummax cummin cumprod cumsum linalg_vecdot linalg_svd linalg_svdvals log_softmax linalg_lu
    linalg_lu_factor linalg_lu_factor_ex mode multilabel_margin_loss nansum linalg_vector_norm prod searchsorted softmax linear
    tril triu addbmm addmm addmv mv addr baddbmm bilinear bmm mm matmul linalg_multi_dot dot vdot conv1d conv2d conv3d index_add
    index_copy gather scatter_add scatter_reduce take put masked_scatter bucketize avg_pool1d avg_pool2d avg_pool3d
    adaptive_avg_pool2d adaptive_avg_pool3d max_pool1d max_pool2d max_pool3d linalg_eigh linalg_eigvalsh linalg_det
    linalg_solve layer_norm group_norm native_layer_norm native_group_norm""".split()
)
"""Operations of which PyTorch has an empty result of tensors without elements before it looks for the kernel."""
_WIDE = (dtypes.uint16, dtypes.uint32, dtypes.uint64)


def is_rare(kind: dtypes.dtype) -> bool:
    """Is it an 8-bit float, or an unsigned integer of more than 8 bits?"""
    return kind in _WIDE or (kind.is_floating_point and kind.itemsize == 1)


@cache
def _kernels() -> tuple[dict[str, str], dict[str, str]]:
    """The missing kernel of each operation: of those of 8-bit floats, and of unsigned integers."""
    found: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for table, kernels in zip((_FLOAT8, _UNSIGNED), found, strict=True):
        kernel = ""
        for word in table.split():
            if word.endswith(":"):
                kernel = word[:-1]
            else:
                kernels[word] = kernel
    return found


def refuse(name: str, flat: Sequence[Aval], settings: dict[str, Any], common: dtypes.dtype | None = None) -> None:
    """NotImplementedError where PyTorch has no kernel for an operation of these types. settings: its static arguments;
    common: the type that the operands are converted to, where they are."""
    first = flat[0] if flat else None
    if first is None or (first.wrapped and common is None) or first.slot.name != "cpu":
        return
    if settings.get("dtype") is not None:
        return
    kind = common or first.dtype
    wide = kind in _WIDE
    if not is_rare(kind) or (name in _ELEMENTS and not all(a.numel for a in flat)):
        return
    kernels = _kernels()[wide]
    kernel = kernels.get(name) or (kernels.get(name + "*") if first.ndim else None)
    if kernel is not None:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.scalar_name(kind)}'")


_FLOAT8 = """\
GeluKernelImpl: gelu
GroupNormKernelImpl: group_norm native_group_norm
LayerNormKernelImpl: layer_norm native_layer_norm
acos_vml_cpu: acos
acosh_cpu: acosh
adaptive_avg_pool2d: adaptive_avg_pool1d adaptive_avg_pool2d
adaptive_avg_pool3d_cpu: adaptive_avg_pool3d
adaptive_max_pool2d: adaptive_max_pool2d_with_indices
adaptive_max_pool3d_cpu: adaptive_max_pool3d_with_indices
add_stub: add cumulative_trapezoid dist hinge_embedding_loss index_add l1_loss margin_ranking_loss pairwise_distance
  poisson_nll_loss rsub smooth_l1_loss softsign sub trapezoid triplet_margin_loss
addcdiv_cpu_out: addcdiv
addcmul_cpu_out: addcmul
addmv_impl_cpu: addmv mv
addr_cpu: addr
airy_ai_cpu: special_airy_ai
aminmax_cpu: aminmax* histc
angle_cpu: angle
arange_cpu: mvlgamma
asin_vml_cpu: asin
asinh_cpu: asinh
atan2_cpu: atan2
atan_vml_cpu: atan
atanh_cpu: atanh
avg_pool2d: avg_pool1d avg_pool2d local_response_norm
avg_pool3d_out_frame: avg_pool3d
baddbmm: baddbmm
baddbmm_with_gemm: bilinear bmm
bessel_j0_cpu: special_bessel_j0
bessel_j1_cpu: special_bessel_j1
bessel_y0_cpu: special_bessel_y0
bessel_y1_cpu: special_bessel_y1
binary_cross_entropy: binary_cross_entropy
bitwise_and_cpu: bitwise_and
bitwise_not_cpu: bitwise_not
bitwise_or_cpu: bitwise_or
bitwise_xor_cpu: bitwise_xor
ceil_vml_cpu: ceil
channel_shuffle: channel_shuffle
chebyshev_polynomial_t_cpu: special_chebyshev_polynomial_t
chebyshev_polynomial_u_cpu: special_chebyshev_polynomial_u
chebyshev_polynomial_v_cpu: special_chebyshev_polynomial_v
chebyshev_polynomial_w_cpu: special_chebyshev_polynomial_w
cholesky_cpu: cholesky
cholesky_inverse_out_cpu: cholesky_inverse
cholesky_solve_cpu: cholesky_solve
clamp_cpu: clamp
clamp_min_scalar_cpu: normalize relu
clamp_scalar_cpu: hardtanh
compute_columns3d: conv3d
copysign_cpu: copysign
cos_vml_cpu: cos
cosh_cpu: cosh
cross: cross linalg_cross
cummax_cpu: cummax*
cummin_cpu: cummin*
cumprod_out_cpu: cumprod*
cumsum_out_cpu: cumsum*
digamma: digamma
div_cpu: div true_divide
div_cpu_reduced_float: mean
div_floor_cpu: floor_divide
dot: dot linalg_vecdot vdot
elu_cpu: celu elu selu
entr_cpu: special_entr
erf_vml_cpu: erf
erfc_vml_cpu: erfc
erfcx_cpu: special_erfcx
erfinv_vml_cpu: erfinv
exp2: exp2
exp_vml_cpu: exp
expm1_vml_cpu: expm1
floor_vml_cpu: floor
fmax_cpu: fmax
fmin_cpu: fmin
fmod_cpu: fmod
frac_cpu: frac
frexp_cpu: frexp
gcd_cpu: gcd
ge_cpu: ge
geqrf_cpu: geqrf linalg_qr qr
glu_cpu: glu
gt_cpu: gt
hardshrink_cpu: hardshrink
hardsigmoid_cpu: hardsigmoid
hardswish_cpu: hardswish
heaviside_cpu: heaviside
hermite_polynomial_h_cpu: special_hermite_polynomial_h
hermite_polynomial_he_cpu: special_hermite_polynomial_he
huber_cpu: huber_loss
hypot_cpu: hypot
i0_vml_cpu: i0
i0e_cpu: special_i0e
i1_cpu: special_i1
i1e_cpu: special_i1e
igamma_cpu: igamma
igammac_cpu: igammac
index_copy_cpu: index_copy
isneginf_cpu: isneginf
isposinf_cpu: isposinf
kthvalue_cpu: kthvalue*
laguerre_polynomial_l_cpu: special_laguerre_polynomial_l
lcm_cpu: lcm
ldl_solve_kernel_cpu: linalg_ldl_solve
le_cpu: le
leaky_relu_cpu: leaky_relu
legendre_polynomial_p_cpu: special_legendre_polynomial_p
lerp_kernel_scalar: lerp
lgamma_vml_cpu: lgamma
linalg.lu_solve_cpu: linalg_lu_solve lu_solve
linalg_eigh_cpu: linalg_eigh linalg_eigvalsh
linalg_svd_cpu: linalg_svd linalg_svdvals
log10_vml_cpu: log10
log1p_vml_cpu: log1p
log2_vml_cpu: log2
log_ndtr_cpu: special_log_ndtr
log_sigmoid_cpu: binary_cross_entropy_with_logits logsigmoid multilabel_soft_margin_loss
log_softmax_kernel_impl: cross_entropy log_softmax
log_vml_cpu: log
logaddexp2_cpu: logaddexp2
logaddexp_cpu: logaddexp
logcumsumexp_out_cpu: logcumsumexp
logical_and_cpu: logical_and
logical_not_cpu: logical_not
logical_or_cpu: logical_or
logical_xor_cpu: logical_xor
logit_cpu: logit
lshift_cpu: bitwise_left_shift
lt_cpu: lt
lu_cpu: linalg_det linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_solve linalg_solve_ex
masked_scatter: masked_scatter
max_pool1d_impl: max_pool1d
max_pool2d: max_pool2d
max_pool3d: max_pool3d
max_values_cpu: amax logsumexp
maximum_cpu: clamp_min maximum
min_all: cov
min_values_cpu: amin
minimum_cpu: clamp_max minimum
mish_cpu: mish
mode_cpu: mode*
modified_bessel_i0_cpu: special_modified_bessel_i0
modified_bessel_i1_cpu: special_modified_bessel_i1
modified_bessel_k0_cpu: special_modified_bessel_k0
modified_bessel_k1_cpu: special_modified_bessel_k1
mse_cpu: mse_loss
mul_cpu_reduced_float: deg2rad rad2deg special_ndtr
multi_margin_loss_cpu_kernel: multi_margin_loss
multilabel_margin_loss_forward_out_frame: multilabel_margin_loss
nan_to_num: nan_to_num
nansum_cpu: nanmean nansum
ndtri_cpu: special_ndtri
neg_cpu: neg soft_margin_loss
nextafter_cpu: nextafter
nonzero_count_cpu: count_nonzero nonzero nonzero_static
nll_loss2d_forward_out_frame: nll_loss
norm_cpu: cosine_similarity linalg_vector_norm*
orgqr_cpu: linalg_householder_product
ormqr_cpu: ormqr
pixel_shuffle: pixel_shuffle
pixel_unshuffle: pixel_unshuffle
polygamma: polygamma _polygamma
pow: ldexp square _pow
prelu_cpu: prelu
prod_out_cpu: prod
reciprocal_cpu: reciprocal
remainder_cpu: remainder
rms_norm: rms_norm
round_cpu: round
rshift_cpu: bitwise_right_shift
rsqrt_cpu: rsqrt
scaled_modified_bessel_k0_cpu: special_scaled_modified_bessel_k0
scaled_modified_bessel_k1_cpu: special_scaled_modified_bessel_k1
scatter_gather_tensor_cpu: gather scatter_add scatter_reduce
searchsorted_out_cpu: bucketize searchsorted
shifted_chebyshev_polynomial_t_cpu: special_shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u_cpu: special_shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v_cpu: special_shifted_chebyshev_polynomial_v
shifted_chebyshev_polynomial_w_cpu: special_shifted_chebyshev_polynomial_w
sigmoid_cpu_reduced_float: sigmoid
sign_cpu: sgn sign
signbit_cpu: signbit
silu_cpu: silu
sin_vml_cpu: sin
sinc_cpu: sinc
sinh_cpu: sinh
slow_conv2d_cpu: conv1d conv2d
slow_conv_transpose2d_out_cpu: conv_transpose1d conv_transpose2d
slow_conv_transpose3d_out_cpu: conv_transpose3d
softmax_kernel_impl: softmax
softplus_cpu: softplus
softshrink_check: softshrink
sorting_kernel_method_name: argsort msort sort
spherical_bessel_j0_cpu: special_spherical_bessel_j0
sqrt_vml_cpu: sqrt
sum_cpu: corrcoef cosine_embedding_loss
take_cpu: take
take_put_cpu: put
tan_vml_cpu: tan
tanh_vml_cpu: tanh tanhshrink
threshold_cpu: threshold
topk_cpu: topk*
trace: trace
triangular_solve_cpu: linalg_solve_triangular triangular_solve
tril: linalg_cholesky linalg_cholesky_ex linalg_ldl_factor linalg_ldl_factor_ex lu_unpack tril
triu: triu
trunc_vml_cpu: trunc
xlog1py_cpu: special_xlog1py
xlogy_cpu: xlogy _kl_div
xor_sum_cpu: hash_tensor
zeta_cpu: special_zeta
"""

_UNSIGNED = """\
GeluKernelImpl: gelu
GroupNormKernelImpl: group_norm native_group_norm
LayerNormKernelImpl: layer_norm native_layer_norm
abs_cpu: abs softsign
adaptive_avg_pool2d: adaptive_avg_pool1d adaptive_avg_pool2d
adaptive_avg_pool3d_cpu: adaptive_avg_pool3d
add_stub: add cumulative_trapezoid dist hinge_embedding_loss index_add l1_loss margin_ranking_loss pairwise_distance rsub
  smooth_l1_loss sub trapezoid triplet_margin_loss
addcmul_cpu_out: addcmul
addmm_impl_cpu_: addbmm addmm bilinear bmm linalg_multi_dot linear matmul mm
addmv_impl_cpu: addmv mv
addr_cpu: addr
aminmax_cpu: aminmax* histc
avg_pool2d: avg_pool1d avg_pool2d local_response_norm
avg_pool3d_out_frame: avg_pool3d
baddbmm: baddbmm
binary_cross_entropy: binary_cross_entropy
bitwise_not_cpu: bitwise_not
channel_shuffle: channel_shuffle
cholesky_cpu: cholesky
cholesky_inverse_out_cpu: cholesky_inverse
cholesky_solve_cpu: cholesky_solve
clamp_cpu: clamp
clamp_min_scalar_cpu: relu
clamp_scalar_cpu: hardtanh
compute_columns3d: conv3d
cross: cross linalg_cross
cummax_cpu: cummax*
cummin_cpu: cummin*
div_floor_cpu: floor_divide
dot: dot vdot
elu_cpu: celu elu selu
fmod_cpu: fmod
frac_cpu: frac
gcd_cpu: gcd
ge_cpu: ge
geqrf_cpu: geqrf
glu_cpu: glu
gt_cpu: gt
hardshrink_cpu: hardshrink
hardsigmoid_cpu: hardsigmoid
hardswish_cpu: hardswish
heaviside_cpu: heaviside
huber_cpu: huber_loss
hypot_cpu: hypot
igamma_cpu: igamma
igammac_cpu: igammac
index_copy_cpu: index_copy
kthvalue_cpu: kthvalue*
lcm_cpu: lcm
le_cpu: le
leaky_relu_cpu: leaky_relu
lerp_kernel_scalar: lerp
linalg_eigh_cpu: linalg_eigh linalg_eigvalsh
log_sigmoid_cpu: binary_cross_entropy_with_logits logsigmoid multilabel_soft_margin_loss
log_softmax_kernel_impl: cross_entropy log_softmax
logaddexp2_cpu: logaddexp2
logaddexp_cpu: logaddexp
logcumsumexp_out_cpu: logcumsumexp
logical_and_cpu: logical_and
logical_not_cpu: logical_not
logical_or_cpu: logical_or
logical_xor_cpu: logical_xor
lshift_cpu: bitwise_left_shift
lt_cpu: lt
lu_cpu: linalg_lu linalg_lu_factor linalg_lu_factor_ex
masked_scatter: masked_scatter
masked_select: masked_select
max_pool1d_impl: max_pool1d
max_pool2d: max_pool2d
max_pool3d: max_pool3d
max_values_cpu: amax
maximum_cpu: clamp_min fmax maximum
min_values_cpu: amin
minimum_cpu: clamp_max fmin minimum
mish_cpu: mish
mode_cpu: mode*
mse_cpu: mse_loss
multi_margin_loss_cpu_kernel: multi_margin_loss
multilabel_margin_loss_forward_out_frame: multilabel_margin_loss
neg_cpu: neg soft_margin_loss
nextafter_cpu: nextafter
nonzero_count_cpu: count_nonzero nonzero nonzero_static
nll_loss2d_forward_out_frame: nll_loss
orgqr_cpu: linalg_householder_product
ormqr_cpu: ormqr
pixel_shuffle: pixel_shuffle
pixel_unshuffle: pixel_unshuffle
pow: square _pow
prelu_cpu: prelu
remainder_cpu: remainder
rms_norm: rms_norm
rshift_cpu: bitwise_right_shift
scatter_gather_tensor_cpu: gather scatter_add scatter_reduce
searchsorted_out_cpu: bucketize searchsorted
sign_cpu: sgn sign
silu_cpu: silu
slow_conv2d_cpu: conv1d conv2d
slow_conv_transpose2d_out_cpu: conv_transpose1d conv_transpose2d
slow_conv_transpose3d_out_cpu: conv_transpose3d
softmax_kernel_impl: softmax
softplus_cpu: softplus
softshrink_check: softshrink
take_cpu: take
take_put_cpu: put
threshold_cpu: threshold
topk_cpu: topk*
trace: trace
triangular_solve_cpu: linalg_solve_triangular triangular_solve
tril: lu_unpack tril
triu: triu
xor_sum_cpu: hash_tensor
"""
