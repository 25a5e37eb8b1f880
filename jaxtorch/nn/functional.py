"""`torch.nn.functional`: the functions behind the layers. Most of them are operations of `_ops`, under
their public names.
"""

# ruff: noqa: F401 - what is imported here is the namespace
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define import op as _op
from .._core.tensor.tensor import Tensor, need_tensor
from .._jit_internal import BroadcastingList1 as BroadcastingList1
from .._jit_internal import BroadcastingList2 as BroadcastingList2
from .._jit_internal import BroadcastingList3 as BroadcastingList3
from .._jit_internal import boolean_dispatch as boolean_dispatch
from .._ops.linalg.distance import pdist
from .._ops.losses import regression as _loss
from .._ops.losses.classification import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    multilabel_soft_margin_loss,
    nll_loss,
    soft_margin_loss,
)
from .._ops.losses.ctc import ctc_loss
from .._ops.losses.regression import (
    gaussian_nll_loss,
    kl_div,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    poisson_nll_loss,
    triplet_margin_loss,
)
from .._ops.nn import activation as _activation
from .._ops.nn import normalization as _norm
from .._ops.nn.activation import (
    gelu,
    gumbel_softmax,
    hardshrink,
    logsigmoid,
    prelu,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
)
from .._ops.nn.adaptive_pooling import adaptive_avg_pool1d
from .._ops.nn.attention import scaled_dot_product_attention
from .._ops.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    fold,
    unfold,
)
from .._ops.nn.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from .._ops.nn.embedding import embedding, embedding_bag, one_hot
from .._ops.nn.linear import bilinear, linear
from .._ops.nn.normalization import (
    batch_norm,
    cosine_similarity,
    instance_norm,
    layer_norm,
    normalize,
    pairwise_distance,
    rms_norm,
)
from .._ops.nn.padding import pad
from .._ops.nn.pooling import avg_pool1d, avg_pool2d, avg_pool3d, lp_pool1d, lp_pool2d, lp_pool3d
from .._ops.nn.resampling import channel_shuffle, pixel_shuffle, pixel_unshuffle
from .._ops.nn.resampling import channel_shuffle as native_channel_shuffle
from .._ops.nn.response_norm import local_response_norm as _local_response_norm
from ..overrides import handle_torch_function as handle_torch_function
from ..overrides import has_torch_function as has_torch_function
from ..overrides import has_torch_function_unary as has_torch_function_unary
from ..overrides import has_torch_function_variadic as has_torch_function_variadic
from . import _reduction as _Reduction
from . import grad as grad
from ._attention import (
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _none_or_dtype,
    multi_head_attention_forward,
)
from ._attention import _check_shapes as _mha_shape_check
from ._grouped import ScalingType as ScalingType
from ._grouped import SwizzleType as SwizzleType
from ._grouped import assert_int_or_pair, grouped_mm
from ._grouped import scaled_grouped_mm as scaled_grouped_mm
from ._grouped import scaled_mm as scaled_mm
from ._linear_cross_entropy import linear_cross_entropy
from ._pooling import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from ._resampling import affine_grid, grid_sample, interpolate, upsample, upsample_bilinear, upsample_nearest

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


# -- activations ---------------------------------------------------------------------------------------

relu_ = _activation.relu.inplace
hardtanh_ = _activation.hardtanh.inplace
leaky_relu_ = _activation.leaky_relu.inplace
threshold_ = _activation.threshold.inplace
elu_ = _activation.elu.inplace
selu_ = _activation.selu.inplace
celu_ = _activation.celu.inplace
rrelu_ = _activation.rrelu_


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of `dim` times the sigmoid of the second."""
    return _activation.glu(input, dim)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input)), elementwise."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent, elementwise."""
    return input.tanh()


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0), elementwise."""
    return relu_(input) if inplace else _activation.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6)."""
    return hardtanh_(input, 0.0, 6.0) if inplace else _activation.hardtanh(input, 0.0, 6.0)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input, limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return hardtanh_(input, min_val, max_val) if inplace else _activation.hardtanh(input, min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The input where positive, `negative_slope` times it elsewhere."""
    return leaky_relu_(input, negative_slope) if inplace else _activation.leaky_relu(input, negative_slope)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The input where it is above `threshold`, `value` elsewhere."""
    return threshold_(input, threshold, value) if inplace else _activation.threshold(input, threshold, value)


_threshold = threshold


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where positive, alpha * (exp(input) - 1) elsewhere (Clevert et al., 2016)."""
    return elu_(input, alpha) if inplace else _activation.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalising exponential unit of Klambauer et al. (2017)."""
    return selu_(input) if inplace else _activation.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    return celu_(input, alpha) if inplace else _activation.celu(input, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input); Elfwing et al. (2018)."""
    return _activation.silu.inplace(input) if inplace else _activation.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input)); Misra (2019)."""
    return _activation.mish.inplace(input) if inplace else _activation.mish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input + 3, 0), 6) / 6."""
    return _activation.hardsigmoid.inplace(input) if inplace else _activation.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input)."""
    return _activation.hardswish.inplace(input) if inplace else _activation.hardswish(input)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Leaky ReLU whose slope is drawn from [lower, upper) in training, and is their mean in evaluation."""
    return rrelu_(input, lower, upper, training) if inplace else _activation.rrelu(input, lower, upper, training)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input), normalised to sum 1 along `dim`."""
    if dim is None:
        dim = _activation.implicit_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-input)."""
    if dim is None:
        dim = _activation.implicit_dim("softmin", input.dim(), _stacklevel)
    return _activation._softmin(input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed stably."""
    if dim is None:
        dim = _activation.implicit_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim, dtype)


# -- losses that warn before they broadcast ------------------------------------------------------------


def _sizes_differ(target: Any, input: Any) -> bool:
    try:
        return target._value.aval.shape != input._value.aval.shape
    except AttributeError:
        return target.size() != input.size()  # names what is no tensor


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target) ** 2, reduced."""
    if _sizes_differ(target, input):
        _loss.warn_sizes(input, target)
    return _loss.mse_loss(input, target, size_average, reduce, reduction, weight)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|, reduced."""
    if _sizes_differ(target, input):
        _loss.warn_sizes(input, target)
    return _loss.l1_loss(input, target, size_average, reduce, reduction, weight)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Quadratic (divided by 2 beta) up to a distance `beta`, linear beyond; reduced."""
    if _sizes_differ(target, input):
        _loss.warn_sizes(input, target)
    return _loss.smooth_l1_loss(input, target, size_average, reduce, reduction, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the square up to a distance `delta`, linear beyond; reduced."""
    if _sizes_differ(target, input):
        _loss.warn_sizes(input, target)
    return _loss.huber_loss(input, target, reduction, delta, weight)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1; reduced."""
    need_tensor(target, "cosine_embedding_loss", "target", 3)
    target = target.detach() if target.requires_grad else target  # which of the two it is has no derivative
    return _loss.cosine_embedding_loss(input1, input2, target, margin, size_average, reduce, reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1; reduced."""
    need_tensor(target, "hinge_embedding_loss", "target", 2)
    target = target.detach() if target.requires_grad else target  # which of the two it is has no derivative
    return _loss.hinge_embedding_loss(input, target, margin, size_average, reduce, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for any distance (pairwise_distance by
    default).
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = anchor.ndim, positive.ndim, negative.ndim
    if len(set(dims)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _op.functions["minimum"](far, distance(positive, negative))
    loss = (margin + near - far).clamp_min(0)
    return loss.sum() if reduction == "sum" else loss.mean() if reduction == "mean" else loss


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise groups of channels of each sample of (N, C, *) by their moments (Wu and He, 2018)."""
    if input.dim() > 1:
        input.shape[1] // num_groups
    shape = input._value.aval.shape
    if len(shape) > 1 and num_groups > 0 and input._value.aval.numel == num_groups:
        sizes = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {sizes}")
    return _norm.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide by (k + alpha * mean square of `size` neighbouring channels) ** beta (Krizhevsky et al., 2012)."""
    if input.dim() > 2 and not input.numel():
        return input
    return _local_response_norm(input, size, alpha, beta, k)


_HELPERS = (
    "boolean_dispatch handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic need_tensor "
    "scaled_grouped_mm scaled_mm"
).split()
__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    n
    for n, f in sorted(globals().items())
    if callable(f) and not isinstance(f, type) and n[0] != "_" and n not in _HELPERS
]

for _name, _function in list(globals().items()):  # what a function made is called in a message about its arguments
    if "<locals>" in getattr(_function, "__qualname__", "") and _function.__name__ != "<lambda>":
        _function.__qualname__ = _name
