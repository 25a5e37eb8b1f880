"""Operations on the bits of integers and bools, and the operators `& | ^ ~ << >>`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ..._core.define.op import Array, Operand, methods, op
from ..._core.tensor.tensor import Tensor
from ..common.rules import bits, needs_tensor, refuse


@op(
    promote=True,
    inplace=True,
    operator="and",
    differentiable=False,
    check=needs_tensor("bitwise_and"),
    broadcast=True,
)
def bitwise_and(input: Operand, other: Operand):
    """`input & other`, broadcast; integers and bools only."""
    refuse("bitwise_and_cpu", input, "float", "complex")
    return input & other


@op(
    promote=True,
    inplace=True,
    operator="or",
    differentiable=False,
    check=needs_tensor("bitwise_or"),
    broadcast=True,
)
def bitwise_or(input: Operand, other: Operand):
    """`input | other`, broadcast; integers and bools only."""
    refuse("bitwise_or_cpu", input, "float", "complex")
    return input | other


@op(
    promote=True,
    inplace=True,
    operator="xor",
    differentiable=False,
    check=needs_tensor("bitwise_xor"),
    broadcast=True,
)
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


@op(
    promote=True,
    inplace=True,
    operator="lshift",
    differentiable=False,
    check=needs_tensor("bitwise_left_shift"),
    broadcast=True,
)
def bitwise_left_shift(input: Operand, other: Operand):
    """`input << other`, broadcast; shifting by more bits than there are (or fewer than none) gives 0."""
    x, by, beyond = _broadcast("lshift_cpu", input, other)
    return jnp.where(beyond, 0, lax.shift_left(x, jnp.where(beyond, 0, by)))


@op(
    promote=True,
    inplace=True,
    operator="rshift",
    differentiable=False,
    check=needs_tensor("bitwise_right_shift"),
    broadcast=True,
)
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
