"""Functions of two tensors, element by element: angles and magnitudes, sums of exponentials, divisors, `xlogy`."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

from ..._core.define.op import Array, Operand, op
from ..common.rules import (
    derivatives,
    in_single,
    kind,
    masked,
    needs_tensor,
    no_derivative,
    number_name,
    real_only,
    refuse,
    zeros_mask,
)
from .unary import exp2_of

# -- angles and magnitudes


def _by_square(x: Any, y: Any) -> Any:
    """`1 / (x^2 + y^2)`, and 0 at the origin."""
    square = x * x + y * y
    return jnp.where(square == 0, 0, 1 / jnp.where(square == 0, 1, square))


@derivatives(
    lambda t, ans, x, y: t * (y * _by_square(x, y)),
    lambda t, ans, x, y: t * (-x * _by_square(x, y)),
)
def _atan2(x: Any, y: Any) -> Any:
    return lax.atan2(*jnp.broadcast_arrays(x, y))


@op(promote="float", inplace=True, aliases=["arctan2"], broadcast=True)
def atan2(input: Array, other: Array):
    """The angle of the points (other, input), in [-pi, pi]."""
    refuse("atan2_cpu", input, "complex")
    return _atan2(input, other)


@derivatives(lambda t, ans, x, y: t * (x / ans), lambda t, ans, x, y: t * (y / ans))
@in_single
def _hypot(x: Any, y: Any) -> Any:
    return jnp.hypot(x, y)


@op(promote=True, inplace=True, broadcast=True)
def hypot(input: Array, other: Array):
    """`sqrt(input^2 + other^2)`, broadcast, without overflow in between."""
    refuse("hypot_cpu", input, "bool", "int", "complex")
    return _hypot(input, other)


def _copysign_slope(t: Any, ans: Any, x: Any, y: Any) -> Any:
    return t * jnp.where(x == 0, 0, jnp.where(jnp.signbit(x) == jnp.signbit(ans), 1, -1)).astype(t.dtype)


@derivatives(_copysign_slope, None)
def _copysign(x: Any, y: Any) -> Any:
    return jnp.copysign(x, y)


@op(promote="float", inplace=True, grad=number_name("Copysign"), broadcast=True, saved=["result"])
def copysign(input: Array, other: Operand):
    """The magnitude of `input` with the sign of `other`, broadcast; the sign of -0.0 counts."""
    refuse("copysign_cpu", input, "complex")
    return _copysign(*jnp.broadcast_arrays(input, other))


@derivatives(lambda t, ans, x, y: zeros_mask(x != y, t), None)
def _nextafter(x: Any, y: Any) -> Any:
    return jnp.nextafter(x, y)


@op(promote=True, inplace=True, broadcast=True)
def nextafter(input: Array, other: Array):
    """The floating-point number after `input` in the direction of `other`."""
    refuse("nextafter_cpu", input, "bool", "int", "complex")
    return _nextafter(*jnp.broadcast_arrays(input, other))


# -- logarithms of two


def _part_of_sum(base: float) -> Any:
    """The derivative of log(b^x + b^y): each term's share of the sum."""

    def first(t: Any, ans: Any, x: Any, y: Any) -> Any:
        if kind(x) == "complex":
            return t * jnp.exp(x - ans)
        return t / (1 + jnp.exp((y - x) * math.log(base)))

    return first, lambda t, ans, x, y: first(t, ans, y, x)


def _log_sum(x: Any, y: Any, base: float) -> Any:
    top, other = jnp.maximum(x, y), jnp.minimum(x, y)
    same = jnp.isinf(x) & (x == y)
    gap = jnp.where(same, 0, other - top)
    if base == 2:
        out = top + lax.log1p(lax.exp2(gap)) / math.log(2)
    else:
        out = top + lax.log1p(lax.exp(gap))
    return jnp.where(same, x, out)


def _complex_log_sum(x: Any, y: Any) -> Any:
    """The same for complex numbers, scaled by the one of larger real part."""
    first = x.real >= y.real
    top, other = jnp.where(first, x, y), jnp.where(first, y, x)
    same = jnp.isinf(x.real) & (x == y)
    return jnp.where(same, x, top + jnp.log1p(jnp.exp(jnp.where(same, 0, other - top))))


@derivatives(*_part_of_sum(math.e))
@in_single
def _logaddexp(x: Any, y: Any) -> Any:
    x, y = jnp.broadcast_arrays(x, y)
    return _complex_log_sum(x, y) if kind(x) == "complex" else _log_sum(x, y, math.e)


@derivatives(*_part_of_sum(2.0))
@in_single
def _logaddexp2(x: Any, y: Any) -> Any:
    x, y = jnp.broadcast_arrays(x, y)
    return _log_sum(x, y, 2.0)


@op(promote=True, broadcast=True)
def logaddexp(input: Array, other: Array):
    """`log(exp(input) + exp(other))`, broadcast, without overflow in between."""
    refuse("logaddexp_cpu", input, "bool", "int")
    return _logaddexp(input, other)


@op(promote=True, broadcast=True)
def logaddexp2(input: Array, other: Array):
    """`log2(2^input + 2^other)`, broadcast, without overflow in between."""
    refuse("logaddexp2_cpu", input, "bool", "int", "complex")
    return _logaddexp2(input, other)


# -- steps, exponents, divisors


def _check_heaviside(input: Any, values: Any) -> None:
    real_only("heaviside is not yet implemented for complex tensors.", input, values)
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


def _step(x: Any, at_zero: Any) -> Any:
    return jnp.where(x == 0, at_zero, (x > 0).astype(x.dtype))


_no_step = no_derivative(RuntimeError, "derivative for aten::heaviside is not implemented")(_step)


@op(promote=True, inplace=True, grad="NotImplemented", check=_check_heaviside, broadcast=True)
def heaviside(input: Array, values: Array):
    """0 below zero, `values` at zero, 1 above. Not differentiable."""

    step = _no_step if kind(input) == "float" else _step
    return step(*jnp.broadcast_arrays(input, values))


@op(promote="float", inplace=True, broadcast=True, saved={"result": "input other", "other": "input"}, unsaved=["input"])
def ldexp(input: Array, other: Array):
    """`input * 2^other`, broadcast."""
    if kind(other) == "complex":
        return input * jnp.power(2.0, other).astype(input.dtype)
    return input * in_single(exp2_of)(other)


def _natural(kernel: str, *xs: Any) -> Any:
    refuse(kernel, xs[0], "bool", "float", "complex")
    return jnp.broadcast_arrays(*xs)


def _common_divisor(x: Any, y: Any) -> Any:
    """By Euclid. Of the smallest number of a type, which is its own absolute value, it may be negative, as in PyTorch."""

    def step(pair: Any) -> Any:
        x, y = pair
        more = x != 0
        return jnp.where(more, lax.rem(y, jnp.where(more, x, 1)), 0), jnp.where(more, x, y)

    x, y = jnp.broadcast_arrays(jnp.abs(x), jnp.abs(y))
    return lax.while_loop(lambda pair: (pair[0] != 0).any(), step, (x, y))[1]


@op(promote=True, inplace=True, broadcast=True)
def gcd(input: Array, other: Array):
    """The greatest common divisor of integers, broadcast; negative at most where one is the smallest number of its type."""
    return _common_divisor(*_natural("gcd_cpu", input, other))


@op(promote=True, inplace=True, broadcast=True)
def lcm(input: Array, other: Array):
    """The least common multiple of integers, broadcast; it wraps where the type does not hold it."""
    x, y = _natural("lcm_cpu", input, other)
    divisor = _common_divisor(x, y)
    there = divisor != 0
    wide = jnp.promote_types(x.dtype, jnp.int32)  # as numbers of C
    product = lax.div(x, jnp.where(there, divisor, 1)).astype(wide) * y.astype(wide)
    return jnp.where(there, jnp.abs(product).astype(x.dtype), 0)  # which may have wrapped


def no_product_at_zero(x: Any, y: Any, log: Any) -> Any:
    """`x * log`, but 0 where x is 0, and NaN where y is."""
    return jnp.where(jnp.isnan(y), y, zeros_mask(x != 0, x * log))


def _xlogy_x(t: Any, ans: Any, x: Any, y: Any) -> Any:
    return masked(~((x == 0) & (y <= 0)), t, jnp.log(y))


@derivatives(_xlogy_x, lambda t, ans, x, y: t * (x / y))
def _xlogy(x: Any, y: Any) -> Any:
    return no_product_at_zero(x, y, jnp.log(y))


def _xlogy_name(operand_keys: Any, statics: Any) -> str:
    x, y = operand_keys
    return f"XlogyBackward{1 if x.wrapped else 2 if y.wrapped else 0}"


@op(promote="float", inplace=True, grad=_xlogy_name, check=needs_tensor("xlogy"), broadcast=True)
def xlogy(input: Operand, other: Operand):
    """`input * log(other)`, broadcast; 0 where `input` is 0 (unless `other` is NaN)."""
    refuse("xlogy_cpu", input, "complex")
    return _xlogy(input, other)
