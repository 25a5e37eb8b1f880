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
from .._jit_internal import BroadcastingList1 as BroadcastingList1
from .._jit_internal import BroadcastingList2 as BroadcastingList2
from .._jit_internal import BroadcastingList3 as BroadcastingList3
from ._grouped import ScalingType as ScalingType
from ._grouped import SwizzleType as SwizzleType
from .._core.tensor.tensor import Tensor as Tensor
from ._attention import _none_or_dtype as _none_or_dtype
from ._pooling import adaptive_max_pool1d as adaptive_max_pool1d
from ._pooling import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices
from ._pooling import adaptive_max_pool2d as adaptive_max_pool2d
from ._pooling import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices
from ._pooling import adaptive_max_pool3d as adaptive_max_pool3d
from ._pooling import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices
from ._pooling import fractional_max_pool2d as fractional_max_pool2d
from ._pooling import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
from ._pooling import fractional_max_pool3d as fractional_max_pool3d
from ._pooling import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
# of another package
from ..overrides import handle_torch_function as handle_torch_function
from ._pooling import max_pool1d as max_pool1d
from ._pooling import max_pool1d_with_indices as max_pool1d_with_indices
from ._pooling import max_pool2d as max_pool2d
from ._pooling import max_pool2d_with_indices as max_pool2d_with_indices
from ._pooling import max_pool3d as max_pool3d
from ._pooling import max_pool3d_with_indices as max_pool3d_with_indices
from ._grouped import scaled_grouped_mm as scaled_grouped_mm

# Methods and element types are called int, float, bool, type, ...: where they are defined, these are the builtin ones.
_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_type: TypeAlias = builtins.type
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex

GRID_SAMPLE_INTERPOLATION_MODES: Any
GRID_SAMPLE_PADDING_MODES: Any
__all__: list[_str]
def _canonical_mask(mask: Tensor | None, mask_name: _str, other_type: Any, other_name: _str, target_type: Any, check_other: _bool = ...) -> Tensor | None:
    """A mask to add: a float mask as it is, a bool one as -inf where it is True."""
def _in_projection(q: Any, k: Any, v: Any, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = ..., b_k: Tensor | None = ..., b_v: Tensor | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """The projections of query, key and value by a weight (E, own width) each."""
def _in_projection_packed(q: Any, k: Any, v: Any, w: Tensor, b: Tensor | None = ...) -> list[Tensor]:
    """The projections of query, key and value by one weight (3 * E, E)."""
def _local_response_norm(input: Tensor, size: Any, alpha: _Number | None = ..., beta: _Number | None = ..., k: _Number | None = ...) -> Tensor:
    """Divide by (k + alpha * mean square of `size` neighbouring channels) ** beta (Krizhevsky et al., 2012)."""
def _mha_shape_check(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: _int) -> _bool:
    """Whether there is a batch dimension. AssertionError where the operands' dimensions do not go together."""
def _sizes_differ(target: Any, input: Any) -> _bool: ...
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the last dimension into `output_size` parts."""
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the last 2 dimensions into `output_size` parts; None keeps a size."""
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the last 3 dimensions into `output_size` parts; None keeps a size."""
def affine_grid(theta: Tensor, size: Any, align_corners: _bool | None = ...) -> Tensor:
    """The grid for `grid_sample` of affine maps `theta`, (N, 2, 3) or (N, 3, 4)."""
def alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Dropout for SELU networks, which keeps mean and variance."""
def assert_int_or_pair(arg: Any, arg_name: _str, message: _str) -> None:
    """AssertionError unless `arg` is a number or two; `message` has a place for the name."""
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """The mean of each window of the last dimension."""
def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: Any = ..., *, out: Any = ...) -> Tensor:
    """The mean of each window of the last 2 dimensions."""
def avg_pool3d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: Any = ..., *, out: Any = ...) -> Tensor:
    """The mean of each window of the last 3 dimensions."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = ..., bias: Tensor | None = ..., training: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Normalise each channel of (N, C, *) by the batch's moments (training) or the running ones (Ioffe and Szegedy, 2015)."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """`out[..., k] = input1 @ weight[k] @ input2 + bias[k]`: weight is (out, in1, in2)."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """Cross entropy between probabilities; logarithms are limited to -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: Any = ..., reduce: Any = ..., reduction: _str = ..., pos_weight: Tensor | None = ...) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), computed stably; `pos_weight` multiplies the positive class's part."""
def boolean_dispatch(arg_name: _str, arg_index: _int, default: _bool, if_true: Callable[..., Any], if_false: Callable[..., Any], module_name: _str, func_name: _str) -> Callable[..., Any]:
    """A function that is `if_true` or `if_false`, as the argument `arg_name` says."""
def celu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
def celu_(input: Any, alpha: Any = ...) -> Tensor:
    """In-place form of `celu`."""
def channel_shuffle(input: Tensor, groups: Any) -> Tensor:
    """Channels (dimension 1) of (N, C, *) interleaved from `groups` groups."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """Cross-correlation of (N, C, L) with (O, C / groups, k). `padding` may be 'same' or 'valid'."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """Cross-correlation of (N, C, H, W) with (O, C / groups, kH, kW). `padding` may be 'same' or 'valid'."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """Cross-correlation of (N, C, D, H, W) with (O, C / groups, kD, kH, kW). `padding` may be 'same' or 'valid'."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: Any = ...) -> Any:
    """1-D convolution of (T, N, C) with (k, C, O)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The adjoint of `conv1d` with respect to its input: (N, C, L) with weight (C, O / groups, k)."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The adjoint of `conv2d` with respect to its input: (N, C, H, W) with weight (C, O / groups, kH, kW)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The adjoint of `conv3d` with respect to its input: (N, C, D, H, W) with weight (C, O / groups, kD, kH, kW)."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1; reduced."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: Any = ..., eps: Any = ..., *, axis: Any = ...) -> Tensor:
    """The cosine of the angle between vectors along `dim`; the norms are taken to be at least `eps`."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: Any = ..., ignore_index: Any = ..., reduce: Any = ..., reduction: _str = ..., label_smoothing: Any = ...) -> Tensor:
    """Cross entropy between softmax(input), classes in dimension 1, and class numbers (N, *) or probabilities (N, C, *)."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = ..., reduction: _str = ..., zero_infinity: _bool = ...) -> Tensor:
    """Connectionist temporal classification (Graves et al., 2006): (T, N, C) log-probabilities, (N, S) labels."""
def dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Zero elements with probability `p` and scale the rest by 1 / (1 - p); the input itself when not training."""
def dropout1d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Dropout of whole channels of a (N, C, L) or (C, L) input."""
def dropout2d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Dropout of whole channels of a (N, C, H, W) input."""
def dropout3d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Dropout of whole channels of a (N, C, D, H, W) or (C, D, H, W) input."""
def elu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """The input where positive, alpha * (exp(input) - 1) elsewhere (Clevert et al., 2016)."""
def elu_(input: Any, alpha: Any = ..., scale: Any = ..., input_scale: Any = ...) -> Tensor:
    """In-place form of `elu`."""
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """Rows of `weight`: (*) indices give (*, dim). IndexError at the next synchronisation if one is out of range."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., mode: _str = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ...) -> Tensor:
    """Sums, means or maxima of bags of rows: (B, N) indices, or (N) indices cut into bags at `offsets`."""
def feature_alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Alpha dropout of whole channels."""
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> Tensor:
    """Sum columns of sliding blocks into (N, C, H, W): the adjoint of `unfold`."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: _bool = ..., eps: _float = ..., reduction: _str = ...) -> Tensor:
    """Minus the log-likelihood of targets under normal distributions (input, var); `var` at least `eps`."""
def gelu(input: Tensor, *, approximate: _str = ..., out: Any = ...) -> Tensor:
    """input * Phi(input), Phi the normal distribution function; approximate='tanh' approximates it."""
def glu(input: Tensor, dim: _int = ...) -> Tensor:
    """The first half of `dim` times the sigmoid of the second."""
def grid_sample(input: Tensor, grid: Tensor, mode: _str = ..., padding_mode: _str = ..., align_corners: _bool | None = ...) -> Tensor:
    """Sample (N, C, [D,] H, W) at the places in `grid` (N, [D,] H, W, 2 or 3), whose coordinates run from -1 to 1."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Normalise groups of channels of each sample of (N, C, *) by their moments (Wu and He, 2018)."""
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = ..., bias: Tensor | None = ..., out_dtype: Any = ...) -> Tensor:
    """The products of groups of matrices. offs: where each group ends along the dimension that holds all groups; it is read."""
def gumbel_softmax(logits: Tensor, tau: _float = ..., hard: _bool = ..., eps: _float = ..., dim: _int = ...) -> Tensor:
    """A sample of the Gumbel-softmax distribution; `hard` makes it one-hot, with the soft sample's gradient."""
def hardshrink(input: Tensor, lambd: Any = ..., *, out: Any = ...) -> Tensor:
    """The input outside [-lambd, lambd], 0 inside."""
def hardsigmoid(input: Tensor, inplace: _bool = ...) -> Tensor:
    """min(max(input + 3, 0), 6) / 6."""
def hardswish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """input * hardsigmoid(input)."""
def hardtanh(input: Tensor, min_val: _float = ..., max_val: _float = ..., inplace: _bool = ...) -> Tensor:
    """The input, limited to [min_val, max_val]."""
def hardtanh_(input: Any, min_val: Any = ..., max_val: Any = ...) -> Tensor:
    """In-place form of `hardtanh`."""
def has_torch_function(relevant_args: Iterable[Any]) -> _bool:
    """Is one of the objects of a class with a `__torch_function__` of its own, or a mode in force?"""
def has_torch_function_unary(x: Any, /) -> _bool:
    """`has_torch_function` of one object."""
def has_torch_function_variadic(*args: Any) -> _bool:
    """`has_torch_function` of the arguments."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1; reduced."""
def huber_loss(input: Tensor, target: Tensor, reduction: _str = ..., delta: _float = ..., weight: Tensor | None = ...) -> Tensor:
    """Half the square up to a distance `delta`, linear beyond; reduced."""
def instance_norm(input: Tensor, running_mean: Tensor | None = ..., running_var: Tensor | None = ..., weight: Tensor | None = ..., bias: Tensor | None = ..., use_input_stats: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Normalise each channel of each sample of (N, C, *) by its own moments, or by the running ones (Ulyanov et al., 2016)."""
def interpolate(input: Tensor, size: Any = ..., scale_factor: Any = ..., mode: _str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
    """Resample the spatial dimensions of (N, C, *) to `size`, or by `scale_factor`."""
def kl_div(input: Tensor, target: Tensor, size_average: Any = ..., reduce: Any = ..., reduction: _str = ..., log_target: _bool = ...) -> Tensor:
    """Kullback-Leibler divergence: `input` holds log-probabilities, `target` probabilities (or their logarithms)."""
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ..., weight: Tensor | None = ...) -> Tensor:
    """|input - target|, reduced."""
def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: Any = ..., cudnn_enable: _bool = ...) -> Tensor:
    """Normalise over the last dimensions, which must be `normalized_shape`, by their moments (Ba et al., 2016)."""
def leaky_relu(input: Tensor, negative_slope: _float = ..., inplace: _bool = ...) -> Tensor:
    """The input where positive, `negative_slope` times it elsewhere."""
def leaky_relu_(input: Any, negative_slope: Any = ...) -> Tensor:
    """In-place form of `leaky_relu`."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Any = ...) -> Tensor:
    """`input @ weight.T + bias`: (*, in) with weight (out, in) or (in), bias (out) or ()."""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = ..., weight: Tensor | None = ..., reduction: _str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., options: Any = ...) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`."""
def local_response_norm(input: Tensor, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...) -> Tensor:
    """Divide by (k + alpha * mean square of `size` neighbouring channels) ** beta (Krizhevsky et al., 2012)."""
def log_softmax(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: Any = ...) -> Tensor:
    """The logarithm of `softmax`, computed stably."""
def logsigmoid(input: Tensor, *, out: Any = ...) -> Tensor:
    """log(sigmoid(input))."""
def lp_pool1d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The p-th root of the sum of p-th powers of each window of the last 1 dimensions; at infinity the largest."""
def lp_pool2d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The p-th root of the sum of p-th powers of each window of the last 2 dimensions; at infinity the largest."""
def lp_pool3d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The p-th root of the sum of p-th powers of each window of the last 3 dimensions; at infinity the largest."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """The partial inverse of max_pool1d: maxima back at their positions, zeros elsewhere."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """The partial inverse of max_pool2d: maxima back at their positions, zeros elsewhere."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """The partial inverse of max_pool3d: maxima back at their positions, zeros elsewhere."""
def mish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """input * tanh(softplus(input)); Misra (2019)."""
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ..., weight: Tensor | None = ...) -> Tensor:
    """(input - target) ** 2, reduced."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: _bool = ..., key_padding_mask: Tensor | None = ..., need_weights: _bool = ..., attn_mask: Tensor | None = ..., use_separate_proj_weight: _bool = ..., q_proj_weight: Tensor | None = ..., k_proj_weight: Tensor | None = ..., v_proj_weight: Tensor | None = ..., static_k: Tensor | None = ..., static_v: Tensor | None = ..., average_attn_weights: _bool = ..., is_causal: _bool = ...) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads (Vaswani et al., 2017): projections in, attention, projection out."""
def multi_margin_loss(input: Tensor, target: Tensor, p: Any = ..., margin: _Number | None = ..., weight: Tensor | None = ..., size_average: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """The mean over wrong classes of max(0, margin - score[target] + score[class]) ** p."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """The mean over classes of all max(0, 1 - score[label] + score[other]); labels end at the first -1."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor | _Number, weight: Tensor | _Number | None = ..., size_average: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """The mean over the classes (last dimension) of a binary cross entropy each, from scores."""
def native_channel_shuffle(input: Tensor, groups: Any) -> Tensor:
    """Channels (dimension 1) of (N, C, *) interleaved from `groups` groups."""
def need_tensor(x: Any, function: _str, argument: _str = ..., position: _int = ...) -> Tensor:
    """An argument that must be a tensor; TypeError if it is none. position: its place among the arguments, from 1; 0 where it has none."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: Any = ..., ignore_index: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """Minus the log-probability of the target class: (N, C, *) log-probabilities, (N, *) class numbers."""
def normalize(input: Tensor, p: _float | None = ..., dim: Any = ..., eps: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Divide vectors along `dim` by their p-norm (None: 2), at least `eps`."""
def one_hot(input: Tensor, num_classes: _int = ...) -> Tensor:
    """(*) class numbers as (*, num_classes) zeros and ones; -1 reads the number of classes off the data."""
def pad(input: Tensor, pad: Any, mode: _str = ..., value: _float | None = ...) -> Tensor:
    """Pad the last dimensions; `pad` lists (low, high) from the last one backwards."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: Any = ..., eps: Any = ..., keepdim: _bool = ..., *, keepdims: Any = ...) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
def pdist(input: Tensor, p: Any = ...) -> Tensor:
    """The p-norms of the differences of all pairs of different rows: (N, M) to (N * (N - 1) / 2), row 0 with 1, 2, ... first."""
def pixel_shuffle(input: Tensor, upscale_factor: Any) -> Tensor:
    """(*, C * r * r, H, W) -> (*, C, H * r, W * r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: Any) -> Tensor:
    """(*, C, H * r, W * r) -> (*, C * r * r, H, W)."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = ..., full: _bool = ..., size_average: Any = ..., eps: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """Minus the log-likelihood of counts under Poisson rates (or their logarithms)."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input where positive, `weight` times it elsewhere: one weight, or one a channel (dimension 1)."""
def relu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """max(input, 0), elementwise."""
def relu6(input: Tensor, inplace: _bool = ...) -> Tensor:
    """min(max(input, 0), 6)."""
def relu_(input: Any) -> Tensor:
    """In-place form of `relu`."""
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = ..., eps: Any = ...) -> Tensor:
    """Divide by the root mean square over the last dimensions (Zhang and Sennrich, 2019). `eps=None`: the type's machine epsilon."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Leaky ReLU whose slope is drawn from [lower, upper) in training, and is their mean in evaluation."""
def rrelu_(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Any = ...) -> Tensor:
    """In-place form of `rrelu`."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., scale: _float | None = ..., enable_gqa: _bool = ...) -> Tensor:
    """(..., L, E) queries attend to (..., S, E) keys with (..., S, Ev) values: (..., L, Ev); Vaswani et al. (2017)."""
def scaled_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any, swizzle_a: Any = ..., swizzle_b: Any = ..., bias: Tensor | None = ..., output_dtype: Any = ..., contraction_dim: Any = ..., use_fast_accum: _bool = ...) -> Tensor:
    """The product of two float8 matrices (m, k) and (k, n), each times its scale, plus a bias (n,), in float32 rounded once."""
def selu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """The self-normalising exponential unit of Klambauer et al. (2017)."""
def selu_(input: Any) -> Tensor:
    """In-place form of `selu`."""
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input)), elementwise."""
def silu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """input * sigmoid(input); Elfwing et al. (2018)."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ..., beta: _float = ...) -> Tensor:
    """Quadratic (divided by 2 beta) up to a distance `beta`, linear beyond; reduced."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
def softmax(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: Any = ...) -> Tensor:
    """exp(input), normalised to sum 1 along `dim`."""
def softmin(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: Any = ...) -> Tensor:
    """softmax(-input)."""
def softplus(input: Tensor, beta: Any = ..., threshold: Any = ..., *, out: Any = ...) -> Tensor:
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input is above `threshold`."""
def softshrink(input: Tensor, lambd: Any = ..., *, out: Any = ...) -> Tensor:
    """The input moved towards 0 by `lambd`, 0 inside [-lambd, lambd]."""
def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent, elementwise."""
def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = ...) -> Tensor:
    """The input where it is above `threshold`, `value` elsewhere."""
def threshold_(input: Any, threshold: Any, value: Any) -> Tensor:
    """In-place form of `threshold`."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: Any = ..., p: Any = ..., eps: Any = ..., swap: _bool = ..., size_average: Any = ..., reduce: Any = ..., reduction: _str = ...) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin), distances in the p-norm of the last dimension."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = ..., margin: _float = ..., swap: _bool = ..., reduction: _str = ...) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for any distance (pairwise_distance by default)."""
def unfold(input: Tensor, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> Tensor:
    """Sliding blocks of (N, C, H, W) as columns: (N, C * kH * kW, blocks)."""
def upsample(input: Tensor, size: Any = ..., scale_factor: Any = ..., mode: _str = ..., align_corners: _bool | None = ...) -> Tensor:
    """The old name of `interpolate`."""
def upsample_bilinear(input: Tensor, size: Any = ..., scale_factor: Any = ...) -> Tensor:
    """The old name of `interpolate(mode='bilinear', align_corners=True)`."""
def upsample_nearest(input: Tensor, size: Any = ..., scale_factor: Any = ...) -> Tensor:
    """The old name of `interpolate(mode='nearest')`."""
