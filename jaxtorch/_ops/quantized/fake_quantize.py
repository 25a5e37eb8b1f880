"""Rounding to the values that a quantised tensor could hold, as training that is aware of quantisation does it.

The derivative is 1 where the input lies within the range and 0 outside (Bengio, Léonard and Courville 2013, "Estimating or
Propagating Gradients Through Stochastic Neurons").
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, function, inner_op, op
from ..._core.define.signature import need_kind
from ..._core.record.value_checks import flag
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes
from ..common.rules import derivatives, kind, scalar_name, unsupported


@functools.partial(jax.custom_jvp, nondiff_argnums=(3, 4))
def _rounded(x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    steps = _steps(x, scale, zero)
    inside = jnp.fmin(jnp.fmax(steps, low), high)
    return ((inside - zero).astype(scale.dtype) * scale).astype(x.dtype)


def _steps(x: Any, scale: Any, zero: Any) -> Any:
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    scaled = wide * (1 / scale).astype(wide.dtype)
    if jnp.issubdtype(zero.dtype, jnp.integer):
        return jnp.round(scaled) + zero.astype(wide.dtype)
    return jnp.round(scaled + zero.astype(wide.dtype))


@_rounded.defjvp
def _rounded_rule(low: int, high: int, primals: Any, tangents: Any) -> Any:
    x, scale, zero = primals
    steps = _steps(x, scale, zero)
    within = (steps >= low) & (steps <= high)
    return _rounded(x, scale, zero, low, high), jnp.where(within, tangents[0], jnp.zeros_like(x))


def _check(x: Any, low: int, high: int, kernel: str) -> None:
    if low > high:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")
    if kind(x) != "float":
        unsupported(kernel, x)


def _in_range(zero: Any, low: int, high: int) -> None:
    """The error for a zero point outside of the range."""
    bad = jnp.any((zero < low) | (zero > high))
    flag(bad.astype(jnp.int64), lambda _: RuntimeError("`zero_point` must be between `quant_min` and `quant_max`."))


@inner_op(grad="FakeQuantizePerTensorAffineCachemaskBackward0", saved=())
def _fake_quantize(input: Array, scale: float, zero_point: int, quant_min: int, quant_max: int):
    _check(input, quant_min, quant_max, "fake_quantize_tensor_cachemask_kernel_type_handling")
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    return _rounded(input, np.float32(scale), np.int64(zero_point), quant_min, quant_max)


@inner_op(grad="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0")
def _fake_quantize_tensors(input: Array, scale: Array, zero_point: Array, quant_min: int, quant_max: int):
    _check(input, quant_min, quant_max, "fake_quantize_tensor_cachemask_kernel_type_handling")
    fixed = [lax.stop_gradient(a.reshape(())) for a in (scale.astype(np.float32), zero_point)]
    return _rounded(input, *fixed, quant_min, quant_max)


@function("fake_quantize_per_tensor_affine")
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """The input rounded to `(n - zero_point) * scale`, n from `quant_min` to `quant_max`. The scale and the zero point: two
    numbers, or two tensors of one element, which get no gradient."""
    if isinstance(scale, Tensor) and isinstance(zero_point, Tensor):
        return _fake_quantize_tensors(input, scale, zero_point, quant_min, quant_max)
    need_kind("fake_quantize_per_tensor_affine", "scale", "float", scale)
    need_kind("fake_quantize_per_tensor_affine", "zero_point", "int", zero_point)
    return _fake_quantize(input, float(scale), int(zero_point), quant_min, quant_max)


@op(method=False, out=False, grad="FakeQuantizePerChannelAffineCachemaskBackward0")
def fake_quantize_per_channel_affine(
    input: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int
):
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point (n) for each index of the dimension `axis` of size n."""
    if scale.dtype.name not in ("float32", "bfloat16"):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scalar_name(scale)}")
    if zero_point.dtype.name not in ("int32", "float32", "float16"):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {scalar_name(zero_point)}")
    if scale.ndim != 1 or zero_point.ndim != 1:
        raise RuntimeError("scale and zero point need to be 1-D tensors")
    strides.wrap_dim(axis, input.ndim)
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if scale.shape != zero_point.shape or scale.shape[0] != input.shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check(input, quant_min, quant_max, "fake_quantize_channel_cachemask_cpu_type_handling")
    shape = tuple(-1 if d == axis else 1 for d in range(input.ndim))
    wide = np.float64 if input.dtype == np.float64 else np.float32
    fixed = [lax.stop_gradient(a.reshape(shape)) for a in (scale.astype(wide), zero_point)]
    if dtypes.from_numpy(zero_point.dtype) is dtypes.int32:
        _in_range(fixed[1], quant_min, quant_max)
    return _rounded(input, *fixed, quant_min, quant_max)


# -- scales and zero points that are learnt (Jain et al. 2020, "Trained Quantization Thresholds")


def _learnt(x: Any, scale: Any, zero: Any, low: int, high: int, factor: float, nearest: Any) -> Any:
    """As `_rounded`, with derivatives by the scale and the zero point times `factor`.

    The zero point is brought into the range as a whole number; the derivatives by scales round it with `nearest`.
    """
    dtype, wide = x.dtype, x if x.dtype == np.float64 else x.astype(np.float32)

    def scaled(x: Any, scale: Any) -> Any:
        return x * (1 / scale).astype(x.dtype)

    def whole(x: Any, zero: Any, nearest: Any) -> Any:
        return jnp.clip(nearest(zero), low, high).astype(x.dtype)

    def place(x: Any, scale: Any, zero: Any) -> Any:
        """Where an input lies in backward, which adds before it rounds; what no integer holds is the lowest one there."""
        found = jnp.round(whole(x, zero, nearest) + scaled(x, scale))
        return jnp.where(jnp.abs(found) < 2.0**63, found, -jnp.inf)

    def of_x(t: Any, ans: Any, x: Any, scale: Any, zero: Any) -> Any:
        at = place(x, scale, zero)
        return jnp.where((at >= low) & (at <= high), t, jnp.zeros_like(t))

    def of_scale(t: Any, ans: Any, x: Any, scale: Any, zero: Any) -> Any:
        at, own = place(x, scale, zero), whole(x, zero, nearest)
        inside = ((at - own) * scale.astype(x.dtype) - x) / scale.astype(x.dtype)
        return t * factor * jnp.where(at < low, low - own, jnp.where(at > high, high - own, inside))

    def of_zero(t: Any, ans: Any, x: Any, scale: Any, zero: Any) -> Any:
        at = place(x, scale, zero)
        return t * factor * jnp.where((at < low) | (at > high), -scale.astype(x.dtype), jnp.zeros_like(x))

    @derivatives(of_x, of_scale, of_zero)
    def rounded(x: Any, scale: Any, zero: Any) -> Any:
        own = whole(x, zero, jnp.round)
        at = jnp.fmin(jnp.fmax(jnp.round(scaled(x, scale)) + own, low), high)
        return (at - own) * scale.astype(x.dtype)

    return rounded(wide, scale, zero).astype(dtype)


def _toward_zero(zero: Any) -> Any:
    return jnp.trunc(zero + 0.5)


@op(method=False, out=False, grad="FakeQuantizeLearnablePerTensorAffineBackward0")
def _fake_quantize_learnable_per_tensor_affine(
    input: Array, scale: Array, zero_point: Array, quant_min: int, quant_max: int, grad_factor: float = 1.0
):
    """As `fake_quantize_per_tensor_affine` by a scale and a zero point of shape (1,), which get gradients times `grad_factor`."""
    _check(input, quant_min, quant_max, "fake_quantize_tensor_cachemask_kernel_type_handling")
    if not scale.ndim or not zero_point.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    return _learnt(input, scale[0], zero_point[0], quant_min, quant_max, grad_factor, _toward_zero)


@op(method=False, out=False, grad="FakeQuantizeLearnablePerChannelAffineBackward0")
def _fake_quantize_learnable_per_channel_affine(
    input: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int, grad_factor: float = 1.0
):
    """As `_fake_quantize_learnable_per_tensor_affine`, with a scale and a zero point (n) for each index of the dimension `axis`."""
    if scale.ndim != 1 or zero_point.ndim != 1:
        raise RuntimeError(f"{'scale' if scale.ndim != 1 else 'zero point'} should be a 1-D tensor")
    if scale.shape != zero_point.shape:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    strides.wrap_dim(axis, input.ndim)
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if scale.shape[0] != input.shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check(input, quant_min, quant_max, "fake_quantize_channel_cachemask_cpu_type_handling")
    shape = tuple(-1 if d == axis else 1 for d in range(input.ndim))
    return _learnt(input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max, grad_factor, jnp.round)
