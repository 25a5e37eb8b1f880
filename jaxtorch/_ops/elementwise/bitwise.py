"""Operations on the bits of integers and bools, and the operators `& | ^ ~ << >>`."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import lax

from ..._core.define.op import Array, Operand, methods, op
from ..._core.tensor.tensor import Tensor
from ..common.rules import bits, needs_tensor, refuse

_of_bits = partial(op, promote=True, inplace=True, differentiable=False, broadcast=True)


@_of_bits(operator="and", check=needs_tensor("bitwise_and"))
def bitwise_and(input: Operand, other: Operand):
    """`input & other`, broadcast; integers and bools only."""
    refuse("bitwise_and_cpu", input, "float", "complex")
    return input & other


@_of_bits(operator="or", check=needs_tensor("bitwise_or"))
def bitwise_or(input: Operand, other: Operand):
    """`input | other`, broadcast; integers and bools only."""
    refuse("bitwise_or_cpu", input, "float", "complex")
    return input | other


@_of_bits(operator="xor", check=needs_tensor("bitwise_xor"))
def bitwise_xor(input: Operand, other: Operand):
    """`input ^ other`, broadcast; integers and bools only."""
    refuse("bitwise_xor_cpu", input, "float", "complex")
    return input ^ other


@op(inplace=True, elementwise=True, differentiable=False)
def bitwise_not(input: Array):
    """`~input`: the complement of integers, the negation of bools."""
    refuse("bitwise_not_cpu", input, "float", "complex")
    return ~input


def _broadcast(kernel: str, x: Any, by: Any) -> Any:
    refuse(kernel, x, "bool", "float", "complex")
    x, by = jnp.broadcast_arrays(x, by)
    return x, by, (by < 0) | (by >= bits(x))


@_of_bits(operator="lshift", check=needs_tensor("bitwise_left_shift"))
def bitwise_left_shift(input: Operand, other: Operand):
    """`input << other`, broadcast; shifting by more bits than there are (or fewer than none) gives 0."""
    x, by, beyond = _broadcast("lshift_cpu", input, other)
    return jnp.where(beyond, 0, lax.shift_left(x, jnp.where(beyond, 0, by)))


@_of_bits(operator="rshift", check=needs_tensor("bitwise_right_shift"))
def bitwise_right_shift(input: Operand, other: Operand):
    """`input >> other`, broadcast, keeping the sign; shifting by more bits than there are leaves the sign."""
    x, by, beyond = _broadcast("rshift_cpu", input, other)
    by = jnp.where(beyond, 0, by)
    if not jnp.issubdtype(x.dtype, jnp.signedinteger):
        return jnp.where(beyond, 0, lax.shift_right_logical(x, by))
    return jnp.where(beyond, jnp.where(x < 0, -1, 0), lax.shift_right_arithmetic(x, by))


def _invert(self: Tensor) -> Tensor:
    if self._value.aval.dtype.is_floating_point or self._value.aval.dtype.is_complex:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


_invert.__name__ = "__invert__"
methods["__invert__"] = _invert
