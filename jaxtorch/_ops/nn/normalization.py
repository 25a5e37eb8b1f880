"""Normalisation: batch, layer, group, instance, root mean square, local response; scaling vectors to unit length."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.missing_dtypes import is_rare
from ..._core.define.op import Array, Ints, Scalar, Sizes, inner_op, op
from ..._core.define.signature import need_kind
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor
from ..._core.tuning import NORM_CHANNEL
from ..._core.types import dtypes
from ..._core.types.size import LONG
from ..._core.types.value import check_long
from ..common.nan_extremes import largest, smallest
from ..common.product_primitives import on_cpu
from ..common.rules import check_mean, check_subtraction, kind, refuse, scalar_name, to_float, unsupported
from .activation import normal_dim
from .standardize import first_of_two, layer_norm_p, moments, standardised

_HALF = (jnp.float16, jnp.bfloat16)


def _wide(x: Any) -> Any:
    """Statistics of half-precision inputs are computed in single precision."""
    return x.astype(jnp.float32) if x.dtype in _HALF else x


def _affine(y: Any, weight: Any, bias: Any, shape: Any) -> Any:
    if weight is not None:
        y = y * weight.astype(y.dtype).reshape(shape)
    if bias is not None:
        y = y + bias.astype(y.dtype).reshape(shape)
    return y


def _check_float(kernel: str, x: Any) -> None:
    if kind(x) != "float" or is_rare(dtypes.from_numpy(x.dtype)):
        unsupported(kernel, x)


def _check_parameters(x: Any, *parameters: Any) -> None:
    """Parameters have the input's type; for half precision input they may be in single precision."""
    mixed = [p.dtype for p in parameters if p is not None and p.dtype != x.dtype]
    if any(dtype != jnp.float32 for dtype in mixed):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if mixed and x.dtype not in _HALF:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


# -- batch -------------------------------------------------------------------------------------------------


def _check_channels(channels: int, **given: Any) -> None:
    for name, x in given.items():
        if x is not None and x.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {x.size}")


def _of_nothing(x: Any, weight: Any, bias: Any) -> Any:
    """What is made of an input without elements: its product with the first number of `weight`, plus that of `bias`."""
    for p in (weight, bias):
        if p is not None and not (p.ndim and p.shape[0]):
            where = f"select(): index 0 out of range for tensor of size {list(p.shape)} at dimension 0"
            raise IndexError(where if p.ndim else "select() cannot be applied to a 0-dim tensor.")
        if p is not None:
            same = p.ndim == 1 and kind(x) == kind(p)  # a number among tensors
            x = (x + p[0]).astype(x.dtype if same else jnp.promote_types(x.dtype, p.dtype))
    return x


def _check_vectors(*running: Any) -> None:
    for x in running:
        if x is not None and x.ndim != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {x.ndim}")


def _check_repeated(n: int, channels: int, **given: Any) -> None:
    """`instance_norm` takes vectors that hold each channel's number, and repeats them for each sample."""
    for name, x in given.items():
        if x is not None and x.ndim > 1:
            raise RuntimeError(
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
            )
        if x is not None and x.size != channels and n:
            raise RuntimeError(f"{name} should contain {n * channels} elements not {n * x.size}")


def _check_both(mean: Any, var: Any) -> None:
    if (mean is None) != (var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def _check_momentum(name: str, momentum: Any) -> None:
    if jnp.iscomplexobj(momentum):
        raise TypeError(f"{name}(): argument 'momentum' (position 7) must be float, not complex")


def _check_more_than_one(shape: Any) -> None:
    if (math.prod([n for d, n in enumerate(shape) if d != 1]) if len(shape) > 1 else 0 * shape[0]) == 1:
        size = f"torch.Size({list(shape)})"
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _channel_shape(x: Any) -> tuple[int, ...]:
    return (1, x.shape[1]) + (1,) * (x.ndim - 2)


def _updated(running: Any, fresh: Any, momentum: Any) -> Any:
    return (running * (1 - momentum) + fresh.reshape(-1) * momentum).astype(running.dtype)


def of_sample(count: int) -> float:
    """What the variance of so many values is multiplied by to be that of a sample; of one there is none."""
    return count / (count - 1) if count != 1 else math.nan


def _batch_norm_saves(operands: Any, statics: Any) -> Any:
    return ("input", "weight", "running_mean", "running_var") if operands[0].numel else ()


def _batch_norm_name(operands: Any, statics: Any) -> str:
    return "NativeBatchNormBackward0" if operands[0].numel else "CloneBackward0"


_batch_norm_op = op(
    function=False,
    method=False,
    out=False,
    grad=_batch_norm_name,
    unsaved=["bias", "result"],
    saved=_batch_norm_saves,
    channels=1,
)


@_batch_norm_op
def _batch_norm_train(
    input: Array,
    running_mean: Array | None,
    running_var: Array | None,
    weight: Array | None,
    bias: Array | None,
    momentum: Scalar,
    eps: float,
):
    """(normalised by the batch's own moments, new running mean, new running variance)."""
    _check_momentum("batch_norm", momentum)
    if input.size == 0:
        return (_of_nothing(input, weight, bias), *[r for r in (running_mean, running_var) if r is not None])
    channels = input.shape[1] if input.ndim > 1 else 0
    _check_channels(channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    _check_both(running_mean, running_var)
    strides.wrap_dim(1, input.ndim, scalar=False)
    _check_float("batch_norm", input)
    _check_parameters(input, weight, bias, running_mean, running_var)
    _check_vectors(running_mean, running_var)
    axes = (0, *range(2, input.ndim))
    x = _wide(input)
    out = _affine(standardised(x, axes, eps), weight, bias, _channel_shape(x)).astype(input.dtype)
    outs = [out]
    mean, var = moments(lax.stop_gradient(x), axes)
    count = math.prod(input.shape) // max(channels, 1)
    for running, fresh in ((running_mean, mean), (running_var, var * of_sample(count))):
        if running is not None:
            outs.append(_updated(lax.stop_gradient(running), fresh, jnp.asarray(momentum, fresh.dtype)))
    return tuple(outs)


@_batch_norm_op
def _batch_norm_eval(
    input: Array,
    running_mean: Array | None,
    running_var: Array | None,
    weight: Array | None,
    bias: Array | None,
    eps: float,
):
    """Normalised by the running moments."""
    for name, x in (("running_mean", running_mean), ("running_var", running_var)):
        if x is None:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    if input.size == 0:
        return _of_nothing(input, weight, bias)
    channels = input.shape[1] if input.ndim > 1 else 0
    _check_channels(channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    strides.wrap_dim(1, input.ndim, scalar=False)
    _check_float("batch_norm", input)
    _check_parameters(input, weight, bias, running_mean, running_var)
    _check_vectors(running_mean, running_var)
    x, shape = _wide(input), _channel_shape(input)
    scale = lax.rsqrt(running_var.astype(x.dtype) + np.asarray(eps, x.dtype))  # pyright: ignore[reportOptionalMemberAccess]
    y = (x - running_mean.astype(x.dtype).reshape(shape)) * scale.reshape(shape)  # pyright: ignore[reportOptionalMemberAccess]
    return _affine(y, weight, bias, shape).astype(input.dtype)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel of (N, C, *) by the batch's moments (training) or the running ones (Ioffe and Szegedy, 2015).

    In training the running moments, where given, are updated in place.
    """
    if training is not True and training is not False:
        bool(training)  # its own error first
        need_kind("batch_norm", "training", "bool", training)
    if training:
        _check_more_than_one(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return batch_normed(input, running_mean, running_var, weight, bias, training, momentum, eps)


def batch_normed(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """`batch_norm` of as few values as there are, with any `eps`."""
    momentum = float(momentum) if momentum.__class__ is int else momentum  # however large
    if not training:
        return _batch_norm_eval(input, running_mean, running_var, weight, bias, eps)
    given = (input, running_mean, running_var, weight, bias, momentum, eps)
    outs, apart = first_of_two(_batch_norm_train, given, (*given[:3], None, None, *given[5:]))
    store_running(outs[1:], running_mean, running_var)
    return _batch_norm_train(*given)[0] if apart else outs[0]


def store_running(new: Any, *running: Tensor | None) -> None:
    """Update the running moments that are given, as PyTorch does: unseen by autograd."""
    fresh = iter(new)
    for buffer in running:
        if buffer is not None:
            buffer._write_uncounted(next(fresh)._value)


# -- instance, group ---------------------------------------------------------------------------------------


@inner_op(grad="ViewBackward0", unsaved=["weight", "bias", "result", "running_mean", "running_var"], saved=["input"])
def _instance_norm(
    input: Array,
    running_mean: Array | None,
    running_var: Array | None,
    weight: Array | None,
    bias: Array | None,
    use_input_stats: bool,
    momentum: Scalar,
    eps: float,
):
    """(normalised, new running mean, new running variance); the running moments are means over the batch."""
    _check_momentum("instance_norm", momentum)
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    strides.wrap_dim(1 if input.ndim else 0, input.ndim, scalar=False)
    n, channels = input.shape[:2]
    _check_repeated(
        n * bool(input.size), channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    if not n and (weight is not None or bias is not None):
        raise IndexError("select(): index 0 out of range for tensor of size [0] at dimension 0")
    if use_input_stats and input.size == 0:
        kept = [r for r in (running_mean, running_var) if r is not None]
        if kept:
            check_mean(input)  # of the running moments over the samples
        if any([r.size != channels for r in kept]):  # noqa: C419
            raise RuntimeError(f"shape '{[n, channels]}' is invalid for input of size {n * kept[0].size}")
        return (_of_nothing(input, weight, bias), *[r if n else jnp.full_like(r, math.nan) for r in kept])
    if use_input_stats:
        _check_both(running_mean, running_var)
    _check_float("batch_norm", input)
    _check_parameters(input, weight, bias, running_var)
    x, shape = _wide(input), _channel_shape(input)
    if not use_input_stats:
        assert running_mean is not None and running_var is not None
        scale = lax.rsqrt(running_var.astype(x.dtype) + np.asarray(eps, x.dtype))
        y = (x - running_mean.astype(x.dtype).reshape(shape)) * scale.reshape(shape)
        return (_affine(y, weight, bias, shape).astype(input.dtype),)
    axes = tuple(range(2, input.ndim))
    outs = [_affine(standardised(x, axes, eps), weight, bias, shape).astype(input.dtype)]
    mean, var = moments(lax.stop_gradient(x), axes)
    count = math.prod(input.shape[2:])
    for running, fresh in ((running_mean, mean), (running_var, var * of_sample(count))):
        if running is not None:
            per_channel = jnp.mean(fresh, 0)
            outs.append(_updated(lax.stop_gradient(running), per_channel, jnp.asarray(momentum, fresh.dtype)))
    return tuple(outs)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel of each sample of (N, C, *) by its own moments, or by the running ones (Ulyanov et al., 2016)."""
    shape = input.size()
    if use_input_stats and math.prod(shape[2:]) == 1:
        size = f"torch.Size({list(shape)})"
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")
    return instance_normed(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def instance_normed(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """`instance_norm` of as few values as there are."""
    momentum = float(momentum) if momentum.__class__ is int else momentum
    outs = _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
    if use_input_stats:
        fresh = iter(outs[1:])
        for buffer in (running_mean, running_var):
            if buffer is not None:
                buffer._write(next(fresh)._value)
    return outs[0]


def _check_groups(x: Any, channels: int, groups: int, weight: Any, bias: Any) -> None:
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if channels % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(x.shape)} and num_groups={groups}"
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and (p.ndim != 1 or p.size != channels):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(p.shape)} and input of shape {list(x.shape)}"
            )


@op(
    method=False,
    out=False,
    grad="NativeGroupNormBackward0",
    unsaved=["bias", "result"],
    saved=["input", "weight"],
    channels=1,
)
def group_norm(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
):
    """Normalise groups of channels of each sample of (N, C, *) by their moments (Wu and He, 2018)."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    n, channels = input.shape[:2]
    _check_groups(input, channels, num_groups, weight, bias)
    _check_parameters(input, weight, bias)
    _check_float("GroupNormKernelImpl", input)
    if input.size == 0:
        return input
    if input.dtype == jnp.float32 and on_cpu() and math.prod(input.shape[2:]) >= NORM_CHANNEL:
        flat = [jnp.full(channels, given, input.dtype) if p is None else p for given, p in ((1, weight), (0, bias))]
        return layer_norm_p.bind(input.reshape(n * num_groups, -1), *flat, eps=eps, groups=num_groups).reshape(
            input.shape
        )
    x = _wide(input).reshape(n, num_groups, -1)
    y = standardised(x, (2,), eps).reshape(input.shape)
    return _affine(y, weight, bias, _channel_shape(input)).astype(input.dtype)


# -- layer -------------------------------------------------------------------------------------------------


def _normalised_axes(x: Any, shape: Any, star: str, **parameters: Any) -> tuple[int, ...]:
    if isinstance(shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    shape = tuple(shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got "
            "normalized_shape = []"
        )
    for name, p in parameters.items():
        if p is not None and p.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(p.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    if x.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*{star}{', '.join(map(str, shape))}], but got "
            f"input of size{list(x.shape)}"
        )
    return tuple(range(x.ndim - len(shape), x.ndim))


@op(method=False, out=False, grad="NativeLayerNormBackward0", unsaved=["result"], saved=["input", "weight", "bias"])
def layer_norm(
    input: Array,
    normalized_shape: Sizes,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
):
    """Normalise over the last dimensions, which must be `normalized_shape`, by their moments (Ba et al., 2016)."""
    axes = _normalised_axes(input, normalized_shape, ", ", weight=weight, bias=bias)
    _check_parameters(input, weight, bias)
    _check_float("LayerNormKernelImpl", input)
    if weight is not None and input.dtype == jnp.float32 and on_cpu() and input.size:
        rows = input.reshape(-1, weight.size)
        flat = [jnp.zeros(weight.size, input.dtype) if x is None else x.reshape(-1) for x in (weight, bias)]
        return layer_norm_p.bind(rows, *flat, eps=eps).reshape(input.shape)
    y = standardised(_wide(input), axes, eps)
    return _affine(y, weight, bias, normalized_shape).astype(input.dtype)


def _rms_name(operands: Any, statics: Any) -> str:
    """A result that was computed in a wider type than the input's is cast."""
    kinds = [o.dtype for o in operands if o is not None]
    wide = any([k.itemsize > kinds[0].itemsize for k in kinds])  # noqa: C419
    return "ToCopyBackward0" if wide or kinds[0].np in _HALF else "MulBackward0"


@op(method=False, out=False, grad=_rms_name, saved={"input": "input", "weight": "input"})
def rms_norm(input: Array, normalized_shape: Sizes, weight: Array | None = None, eps: float | None = None):
    """Divide by the root mean square over the last dimensions (Zhang and Sennrich, 2019). `eps=None`: the type's machine epsilon."""
    if not isinstance(normalized_shape, int) and input.ndim < len(normalized_shape):
        raise ValueError(f"Input tensor must have at least {len(normalized_shape)} dimensions, but got {input.ndim}")
    axes = _normalised_axes(input, normalized_shape, "", weight=weight)
    refuse("rms_norm", input, "int", "bool")
    x = _wide(input)
    small = jnp.finfo(x.dtype).eps if eps is None else eps
    y = x * lax.rsqrt(jnp.mean(x * x, axes, keepdims=True) + np.asarray(small, x.dtype))
    if weight is not None:
        real = jnp.iscomplexobj(weight) and not jnp.iscomplexobj(y)
        y = y * (jnp.real(weight) if real else weight).astype(y.dtype)
    return y.astype(input.dtype)


# -- unit length, distances --------------------------------------------------------------------------------


def _safe_root(x: Any) -> Any:
    """sqrt whose derivative at 0 is 0, as the norm's is in PyTorch."""
    zero = x == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, x)))


def vector_norm(x: Any, p: float, axis: Any, keepdims: bool = False) -> Any:
    """The p-norm along an axis, with PyTorch's derivative: 0 for a zero vector. Half precision sums in float32."""
    if x.dtype in (jnp.float16, jnp.bfloat16):
        return vector_norm(x.astype(np.float32), p, axis, keepdims).astype(x.dtype)
    if p == 2:
        return _safe_root(jnp.sum(jnp.real(x * jnp.conj(x)), axis, keepdims=keepdims))
    size = jnp.abs(x) if jnp.iscomplexobj(x) else jnp.where(x == x, jnp.sign(x), 0) * x  # jnp.abs has the slope 1 at 0
    if p and math.prod([x.shape[a] for a in ((axis,) if isinstance(axis, int) else axis or range(x.ndim))]) == 1:
        return size if keepdims else jnp.squeeze(size, axis)
    if p == math.inf:
        return largest(size, axis, keepdims=keepdims)
    if p == -math.inf:
        return smallest(size, axis, keepdims=keepdims)
    if p == 0:
        return jnp.sum((size != 0).astype(size.dtype), axis, keepdims=keepdims)
    if p == 1:
        return jnp.sum(size, axis, keepdims=keepdims)
    zero = size == 0
    at_zero = 0 if p > 0 else np.inf
    total = jnp.sum(jnp.where(zero, at_zero, jnp.where(zero, 1, size) ** p), axis, keepdims=keepdims)
    none = total == 0
    return jnp.where(none, 0, jnp.where(none, 1, total) ** (1.0 / p))


@op(name="normalize", function=False, method=False, grad="DivBackward0", elementwise=True)
def _normalize(input: Array, p: float | None = 2.0, dim: Ints | None = 1, eps: float = 1e-12):
    """Divide vectors along `dim` by their p-norm (None: 2), at least `eps`."""
    p = 2.0 if p is None else p
    if kind(input) in ("int", "bool"):
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {scalar_name(input)}"
        )
    axes = tuple(normal_dim(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim or range(input.ndim)))
    norm = vector_norm(input, p, axes if input.ndim else None, keepdims=True)
    return input / jnp.where((norm < eps) | (eps != eps), np.asarray(eps, norm.dtype), norm)


def normalize(
    input: Tensor, p: float | None = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Divide vectors along `dim` by their p-norm (None: 2), at least `eps`."""
    check_long(eps)
    if p.__class__ is not float or (dim.__class__ is int and abs(dim) >= LONG):
        input.norm(p, dim, True)  # its errors
    return _normalize(input, p, dim, eps, out=out)


@op(promote=True, method=False, out=False, grad="SumBackward1", saved={"x1": "x1", "x2": "x2"})
def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-08):
    """The cosine of the angle between vectors along `dim`; the norms are taken to be at least `eps`."""
    if kind(x1) != "float":
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {scalar_name(x1)}")
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    x1, x2 = _broadcast(x1, x2)
    axis = normal_dim(dim, x1.ndim)
    if x1.ndim == 0:
        x1, x2 = x1[None], x2[None]
    units = []
    for x in (x1, x2):
        norm = vector_norm(x, 2, axis, keepdims=True)
        # PyTorch limits the norm outside of autograd's sight: its derivative is 1 below eps, too.
        least = np.asarray(eps, norm.dtype)
        units.append(x / (norm + lax.stop_gradient(jnp.where(norm < least, least - norm, 0))))
    return jnp.sum(units[0] * units[1], axis)


def _broadcast(a: Any, b: Any) -> tuple[Any, Any]:
    shape = broadcast_shape(a.shape, b.shape)
    return jnp.broadcast_to(a, shape), jnp.broadcast_to(b, shape)


def broadcast_shape(a: Any, b: Any) -> tuple[int, ...]:
    """The common shape, or PyTorch's error."""
    n = max(len(a), len(b))
    left, right = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    for i in range(n - 1, -1, -1):
        if left[i] != right[i] and 1 not in (left[i], right[i]):
            raise RuntimeError(
                f"The size of tensor a ({left[i]}) must match the size of tensor b ({right[i]}) at "
                f"non-singleton dimension {i}"
            )
    return tuple(r if x == 1 else x for x, r in zip(left, right, strict=True))


def _check_difference(a: Any, b: Any, *_: Any) -> None:
    check_subtraction(a, b)


@op(promote=True, method=False, out=False, check=_check_difference, grad="NormBackward1",
    unsaved=["x1", "x2"], saved=["result"])  # fmt: skip
def pairwise_distance(x1: Array, x2: Array, p: float = 2, eps: float = 1e-06, keepdim: bool = False):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    x1, x2 = _broadcast(x1, x2)
    apart = to_float(x1 - x2)  # whole numbers are subtracted as such, and may wrap
    apart = apart + np.asarray(eps, apart.dtype)
    return vector_norm(apart, p, -1, keepdims=keepdim) if apart.ndim else vector_norm(apart.reshape(1), p, -1)
