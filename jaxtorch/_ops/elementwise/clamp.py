"""Bounds: clamping, and the larger and the smaller of two."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..._core.define.op import Array, Operand, op
from ..._core.types import dtypes
from ..common.rules import derivatives, kind, real_only, refuse, tensor_name, zeros_mask

# -- bounds


def _clamp_self(t: Any, ans: Any, x: Any, low: Any, high: Any) -> Any:
    return zeros_mask((x >= low) & (x <= high), t)


def _clamp_low(t: Any, ans: Any, x: Any, low: Any, high: Any) -> Any:
    return zeros_mask((low < high) & (x < low), t)


def _clamp_high(t: Any, ans: Any, x: Any, low: Any, high: Any) -> Any:
    return zeros_mask((x > high) | (high < low), t)


@derivatives(_clamp_self, _clamp_low, _clamp_high)
def _between(x: Any, low: Any, high: Any) -> Any:
    return jnp.minimum(jnp.maximum(x, low), high)


@derivatives(lambda t, ans, x, y: zeros_mask(x >= y, t), lambda t, ans, x, y: zeros_mask(x < y, t))
def _at_least(x: Any, low: Any) -> Any:
    return jnp.maximum(x, low)


@derivatives(lambda t, ans, x, y: zeros_mask(x <= y, t), lambda t, ans, x, y: zeros_mask(x > y, t))
def _at_most(x: Any, high: Any) -> Any:
    return jnp.minimum(x, high)


def _clamp_name(operand_keys: Any, statics: Any) -> str:
    return f"ClampBackward{int(all(k is None or k.wrapped for k in operand_keys[1:]))}"


def _check_clamp(input: Any, min: Any = None, max: Any = None) -> None:
    """Bools have a kernel for one limit, a tensor, only."""
    limits = [limit for limit in (min, max) if limit is not None]
    if len({x.wrapped for x in limits}) > 1 and any(x.ndim for x in limits):
        kinds = ", ".join("number" if x.wrapped else "Tensor" for x in limits)
        raise TypeError(
            f"clamp() received an invalid combination of arguments - got (Tensor, {kinds}): both limits are numbers, or both tensors"
        )
    if all(x.dtype is dtypes.bool_ for x in (input, *limits)) and (len(limits) == 2 or any(x.wrapped for x in limits)):
        raise NotImplementedError("\"clamp_cpu\" not implemented for 'Bool'")


def _check_limits(input: Any, min: Any = None, max: Any = None) -> None:
    _check_clamp(input, min, max)
    complex_numbers = [x for x in (min, max) if x is not None and x.wrapped and x.dtype.is_complex]
    if complex_numbers and input.dtype.is_floating_point:
        raise RuntimeError("value cannot be converted to type double without overflow")


@op(promote=True, inplace=True, aliases=["clip"], grad=_clamp_name, check=_check_limits, broadcast=True)
def clamp(input: Array, min: Operand | None = None, max: Operand | None = None):
    """Each element, but at least `min` and at most `max` (numbers or tensors); `max` wins if they cross."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    real_only("clamp is not supported for complex types", input, error=NotImplementedError)
    if max is None:
        return _at_least(input, min)
    return _at_most(input, max) if min is None else _between(input, min, max)


@op(promote=True, inplace=True, grad=tensor_name("ClampMin"), check=_check_clamp, broadcast=True)
def clamp_min(input: Array, min: Operand):
    """Each element, but at least `min`."""
    refuse("maximum_cpu", input, "complex")
    return _at_least(input, min)


@op(promote=True, inplace=True, grad=tensor_name("ClampMax"), check=_check_clamp, broadcast=True)
def clamp_max(input: Array, max: Operand):
    """Each element, but at most `max`."""
    refuse("minimum_cpu", input, "complex")
    return _at_most(input, max)


def _share(t: Any, mine: Any, other: Any, ahead: Any) -> Any:
    """Half of the change where the two are equal, none where the other one is ahead."""
    return jnp.where(mine == other, t / 2, zeros_mask(~ahead, t))


@derivatives(lambda t, ans, x, y: _share(t, x, y, x < y), lambda t, ans, x, y: _share(t, y, x, y < x))
def larger(x: Any, y: Any) -> Any:
    """The larger of two; NaN wins, and a tie shares the gradient."""
    return jnp.maximum(x, y)


@derivatives(lambda t, ans, x, y: _share(t, x, y, x > y), lambda t, ans, x, y: _share(t, y, x, y > x))
def smaller(x: Any, y: Any) -> Any:
    """The smaller of two; NaN wins, and a tie shares the gradient."""
    return jnp.minimum(x, y)


@op(promote=True, broadcast=True)
def maximum(input: Array, other: Array):
    """The larger of the two, broadcast; NaN where either is NaN."""
    real_only("maximum not implemented for complex tensors.", input)
    return larger(input, other)


@op(promote=True, broadcast=True)
def minimum(input: Array, other: Array):
    """The smaller of the two, broadcast; NaN where either is NaN."""
    real_only("minimum not implemented for complex tensors.", input)
    return smaller(input, other)


def _first_larger(x: Any, y: Any) -> Any:
    return (x >= y) | jnp.isnan(y)


def _first_smaller(x: Any, y: Any) -> Any:
    return (x <= y) | jnp.isnan(y)


@derivatives(
    lambda t, ans, x, y: zeros_mask(_first_larger(x, y), t),
    lambda t, ans, x, y: zeros_mask(~_first_larger(x, y), t),
)
def _fmax(x: Any, y: Any) -> Any:
    return jnp.fmax(x, y)


@derivatives(
    lambda t, ans, x, y: zeros_mask(_first_smaller(x, y), t),
    lambda t, ans, x, y: zeros_mask(~_first_smaller(x, y), t),
)
def _fmin(x: Any, y: Any) -> Any:
    return jnp.fmin(x, y)


@op(promote=True, broadcast=True)
def fmax(input: Array, other: Array):
    """The larger of the two, broadcast; a number is preferred to NaN."""
    real_only("fmax not implemented for complex tensors.", input)
    return _fmax(input, other) if kind(input) == "float" else jnp.maximum(input, other)


@op(promote=True, broadcast=True)
def fmin(input: Array, other: Array):
    """The smaller of the two, broadcast; a number is preferred to NaN."""
    real_only("fmin not implemented for complex tensors.", input)
    return _fmin(input, other) if kind(input) == "float" else jnp.minimum(input, other)
