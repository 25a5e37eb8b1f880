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

from .._core import dtypes, strides
from .._core.checks import flag
from .._core.op import Array, function, op
from .._core.tensor import Tensor
from .rules import kind, scalar_name, unsupported


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


@op(function=False, method=False, out=False, grad="FakeQuantizePerTensorAffineCachemaskBackward0", saved=())
def _fake_quantize(input: Array, scale: float, zero_point: int, quant_min: int, quant_max: int):
    _check(input, quant_min, quant_max, "fake_quantize_tensor_cachemask_kernel_type_handling")
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    return _rounded(input, np.float32(scale), np.int64(zero_point), quant_min, quant_max)


@op(function=False, method=False, out=False, grad="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0")
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
