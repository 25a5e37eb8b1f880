"""Arithmetic of quantised tensors: numbers that stand for `(n - zero_point) * scale`, n an integer of a few bits.

Scales and zero points come as arrays that broadcast against the input, so that others give no new program.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, inner_op

_SMALLEST_SCALE = 6.1e-5


@inner_op(differentiable=False)
def _to_steps(input: Array, scale: Array, zero_point: Array, low: int, high: int, bits: str):
    """The integers (of the type named `bits`) that stand for the input; NaN gives the largest."""
    return _steps(input, scale, zero_point, low, high).astype(bits)


def _steps(x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    wide = high >= 1 << 30  # beyond what float32 holds
    steps = jnp.round(x * (1 / scale.astype(np.float32)) + zero.astype(np.float32))
    steps = steps.astype(np.float64) if wide else steps
    return jnp.clip(jnp.where(jnp.isnan(steps), low if wide else high, steps), low, high)


@inner_op(differentiable=False)
def _from_steps(input: Array, scale: Array, zero_point: Array):
    """What integers stand for, in float32."""
    return _values(input, scale, zero_point)


def _values(n: Any, scale: Any, zero: Any) -> Any:
    return (n.astype(np.int64) - zero.astype(np.int64)).astype(np.float32) * scale.astype(np.float32)


def _range_of(low: Any, high: Any, first: int, last: int) -> tuple[Any, Any]:
    """The scale (float64) and the zero point with which the integers from `first` to `last` hold 0 and [low, high].

    The zero point is the one of the end where rounding loses less (Jacob et al., 2018, "Quantization and Training of Neural
    Networks for Efficient Integer-Arithmetic-Only Inference").
    """
    low = jnp.minimum(low, 0).astype(np.float32).astype(np.float64)
    high = jnp.maximum(high, 0).astype(np.float32).astype(np.float64)
    span = last - first
    scale = (high - low) / span
    single = scale.astype(np.float32)
    scale = jnp.where((single == 0) | jnp.isinf(1 / single), 0.1, scale)
    tiny = scale < _SMALLEST_SCALE
    factor = _SMALLEST_SCALE / scale
    new_low = jnp.where(low == 0, low, jnp.where(high == 0, -_SMALLEST_SCALE * span, low * factor))
    new_high = jnp.where(low == 0, _SMALLEST_SCALE * span, jnp.where(high == 0, high, high * factor))
    low, high = jnp.where(tiny, new_low, low), jnp.where(tiny, new_high, high)
    scale = jnp.where(tiny, _SMALLEST_SCALE, scale)
    from_low, from_high = first - low / scale, last - high / scale
    lost_low = abs(first) + jnp.abs(low / scale)
    lost_high = abs(last) + jnp.abs(high / scale)
    zero = jnp.where(lost_low < lost_high, from_low, from_high)
    return scale, jnp.round(jnp.clip(zero, first, last)).astype(np.int64)


@inner_op(differentiable=False)
def _quantization_range(low: Array, high: Array, first: int, last: int):
    """(scale, zero_point) of integers from `first` to `last` for values of [low, high]."""
    return _range_of(low, high, first, last)


def _exact_product(a: Any, b: Any, terms: int) -> Any:
    """a @ b of whole numbers below 256, exactly, in the narrowest type whose products are quick."""
    kind = np.float32 if terms * 255 * 255 < 1 << 24 else np.float64
    return lax.dot_general(
        a.astype(kind), b.astype(kind), (((a.ndim - 1,), (0,)), ((), ())), precision=lax.Precision.HIGHEST
    )


def _dynamic_product(x: Any, weight: Any, scale: Any, zero: Any, last: int) -> Any:
    """x @ weight.T, with x rounded to what the integers from 0 to `last` hold."""
    found, middle = _range_of(x.min(), x.max(), 0, last)
    single = found.astype(np.float32)
    steps = _steps(x, single, middle, 0, 255).astype(np.int64) - middle
    total = _exact_product(steps, (weight.astype(np.int64) - zero.reshape(-1, 1)).T, weight.shape[1])
    return total.astype(np.float32) * (single * scale.astype(np.float32).reshape(-1))


@inner_op(differentiable=False)
def _linear_dynamic(
    input: Array, weight: Array, scale: Array, zero_point: Array, bias: Array | None, last: int, relu: bool = False
):
    """A linear layer on integers: the weights are integers, and the input (..., m) is rounded to integers of its own range."""
    out = (
        _dynamic_product(input, weight, scale, zero_point, last)
        if input.size
        else jnp.zeros((*input.shape[:-1], weight.shape[0]), np.float32)
    )
    out = out if bias is None else out + bias
    return jnp.maximum(out, 0) if relu else out


@inner_op(differentiable=False)
def _requantised(
    input: Array, factor: Array, bias: Array | None, scale: Array, zero_point: Array, low: int, high: int, bits: str
):
    """Sums of products of integers, each worth `factor`, plus a float32 bias, as integers of another scale and zero point."""
    factor, scale = factor.astype(np.float32), scale.astype(np.float32)
    total = input.astype(np.float32)
    total = total if bias is None else total + bias / factor
    steps = jnp.round(total * (factor / scale)) + zero_point.astype(np.float32)
    return jnp.clip(steps, low, high).astype(bits)


def _followed(low: Any, high: Any, first: int, last: int, symmetric: bool) -> tuple[Any, Any]:
    """`_range_of`, and for a symmetric scheme as many steps below 0 as above, with the middle integer for 0."""
    both = (low < 0) & (high > 0)
    below, above = -((last - first) // 2 + 1), (last - first) // 2
    wide = low.astype(np.float64), high.astype(np.float64)  # to be divided once, and not multiplied by a reciprocal
    widest = jnp.maximum(jnp.abs(wide[0] / below), jnp.abs(wide[1] / above)).astype(np.float32)
    even = both & symmetric
    scale, zero = _range_of(jnp.where(even, widest * below, low), jnp.where(even, widest * above, high), first, last)
    return scale, jnp.where(even, int((first + last) / 2), zero)


@inner_op(differentiable=False)
def _followed_range(low: Array, high: Array, first: int, last: int, symmetric: bool):
    """(scale, zero_point) of integers from `first` to `last` for values of [low, high], each float32 and int32."""
    scale, zero = _followed(low, high, first, last, symmetric)
    return scale.astype(np.float32), zero.astype(np.int32)
