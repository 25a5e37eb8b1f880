"""The names of operations whose positional arguments, in TorchScript, are those of the function or method of the same name.

`test_torchscript_files.py` compares them with PyTorch's schemas. An archive can call these, those of `_operations.py`, no others.
"""

from __future__ import annotations

SAME = frozenset(
    """
    _int_mm _pack_padded_sequence _pad_packed_sequence _unsafe_masked_index _unsafe_masked_index_put_accumulate _weight_norm
    abs abs_ absolute absolute_ acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_max_pool1d addbmm addbmm_ addcdiv
    addcdiv_ addcmul addcmul_ addmm_ addmv addmv_ addr addr_ adjoint affine_grid_generator alias_copy all allclose
    alpha_dropout amax amin aminmax angle any arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2
    arctan2_ arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_scatter asin asin_ asinh asinh_
    atan atan2 atan2_ atan_ atanh atanh_ avg_pool1d baddbmm_ bartlett_window batch_norm bernoulli bernoulli_ bilinear
    binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_
    bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_
    blackman_window broadcast_to bucketize cat cauchy_ cdist ceil ceil_ celu celu_ chalf channel_shuffle cholesky
    cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clone column_stack
    complex concat concatenate conj conj_physical conj_physical_ constant_pad_nd contiguous conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d convolution copysign copysign_ corrcoef cos cos_ cosh cosh_
    cosine_embedding_loss cosine_similarity count_nonzero cov cross ctc_loss cummax cummin cumprod cumprod_ cumsum cumsum_
    cumulative_trapezoid deg2rad deg2rad_ detach detach_ detach_copy diag diag_embed diagflat diagonal diagonal_scatter diff
    digamma digamma_ dist div div_ divide divide_ dot dropout dstack embedding empty_like empty_strided eq_ equal erf erf_
    erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expand_as expm1 expm1_ exponential_ eye fake_quantize_per_tensor_affine
    feature_alpha_dropout feature_dropout fill fill_ fill_diagonal_ fix fix_ flatten flip fliplr flipud float_power
    float_power_ floor floor_ floor_divide floor_divide_ fmax fmin fmod fmod_ frac frac_ frexp frobenius_norm full full_like
    gather gcd gcd_ ge ge_ geometric_ geqrf ger greater greater_ greater_equal greater_equal_ grid_sampler grid_sampler_2d
    grid_sampler_3d group_norm gru_cell gt gt_ hamming_window hann_window hardshrink heaviside heaviside_ hinge_embedding_loss
    histc histogram histogramdd hstack hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ imag index_add index_add_
    index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_reduce index_reduce_ index_select inner
    instance_norm is_complex is_floating_point is_nonzero is_same_size is_signed isclose isfinite isinf isnan isneginf
    isposinf isreal istft kaiser_window kl_div kron kthvalue layer_norm lcm lcm_ ldexp ldexp_ le le_ lerp lerp_ less less_
    less_equal less_equal_ lgamma lgamma_ linspace log log10 log10_ log1p log1p_ log2 log2_ log_ log_normal_ log_softmax
    logaddexp logaddexp2 logcumsumexp logdet logical_and logical_and_ logical_not logical_not_ logical_or logical_or_
    logical_xor logical_xor_ logit logit_ logspace logsumexp lstm_cell lt lt_ lu_solve lu_unpack margin_ranking_loss
    masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select matmul matrix_power max_pool1d
    max_pool1d_with_indices max_pool2d max_pool3d maximum mean median minimum mode moveaxis movedim msort mul mul_ multinomial
    multiply multiply_ mv mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow
    native_batch_norm native_channel_shuffle native_dropout native_group_norm native_layer_norm ne_ neg neg_ negative
    negative_ new_empty_strided new_full nextafter nextafter_ nonzero norm normal normal_ not_equal not_equal_ numel ones_like
    outer pairwise_distance pdist permute pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma
    polygamma_ positive pow pow_ prelu prod qr quantile rad2deg rad2deg_ rand_like randn_like randperm ravel real reciprocal
    reciprocal_ relu relu_ remainder remainder_ renorm renorm_ reshape reshape_as resize_as_ resolve_conj resolve_neg rms_norm
    rnn_relu_cell rnn_tanh_cell roll rot90 round round_ row_stack rrelu rrelu_ rsqrt rsqrt_ scalar_tensor scatter_add
    scatter_add_ scatter_reduce scatter_reduce_ searchsorted segment_reduce select select_scatter selu selu_ sgn sgn_ sigmoid
    sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh sinh_ slice_scatter slogdet softmax split_with_sizes sqrt sqrt_
    square square_ squeeze squeeze_ stack sum svd swapaxes swapaxes_ swapdims swapdims_ t t_ t_copy take take_along_dim tan
    tan_ tanh tanh_ threshold threshold_ tile topk trace transpose transpose_ trapezoid trapz triangular_solve tril tril_
    tril_indices triplet_margin_loss triu triu_ triu_indices true_divide trunc trunc_ type_as unbind unflatten unfold
    unique_consecutive unsqueeze unsqueeze_ vander vdot view_as view_as_complex view_as_complex_copy view_as_real
    view_as_real_copy vstack where xlogy xlogy_ zero_ zeros_like
    """.split()
)
