"""Powers: `pow` and `float_power`, and the operators made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.missing_dtypes import is_rare
from ..._core.define.op import Array, Number, Operand, function, method, methods, op
from ..._core.define.signature import need_kind
from ..._core.dispatch.number_limits import check_common
from ..._core.dispatch.operators import foreign, or_not_implemented
from ..._core.tensor.tensor import Tensor, from_host, write_out
from ..._core.types import dtypes
from ..._core.types.value import python_number
from ..common.rules import derivatives, kind, masked, refuse, to_float, unsupported
from ..types.casting import cast
from .arithmetic import NUMBERS, _single
from .bitwise import bitwise_or
from .unary import complex_sqrt


def _integer_power(base: Any, exponent: Any) -> Any:
    """Integer powers by squaring; negative exponents give the whole part of the result, as PyTorch does."""
    base, exponent = jnp.broadcast_arrays(base, exponent)

    def step(state: Any) -> Any:
        result, square, left = state
        return jnp.where(left & 1 == 1, result * square, result), square * square, left >> 1

    start = (jnp.ones_like(base), base, jnp.maximum(exponent, 0))
    result = lax.while_loop(lambda state: jnp.any(state[2] > 0), step, start)[0]
    if not jnp.issubdtype(base.dtype, jnp.signedinteger):
        return result
    odd = jnp.where(exponent & 1 == 1, -1, 1).astype(base.dtype)
    inverse = jnp.where(base == 1, 1, jnp.where(base == -1, odd, 0)).astype(base.dtype)
    return jnp.where(exponent < 0, inverse, result)


def _pow_base(t: Any, ans: Any, x: Any, y: Any) -> Any:
    return masked(y != 0, t, y * _power(x, y - 1))


def _pow_exponent(t: Any, ans: Any, x: Any, y: Any) -> Any:
    at_zero = (x == 0) & ((y.real >= 0) if kind(y) == "complex" else (y >= 0))
    return masked(~at_zero, t, ans * jnp.log(x))


@derivatives(_pow_base, _pow_exponent)
def _power(x: Any, y: Any) -> Any:
    return jnp.power(x, y)


def _pow_name(operand_keys: Any, statics: Any) -> str:
    base, exponent = operand_keys
    return f"PowBackward{0 if exponent.wrapped else 2 if base.wrapped else 1}"


def _pow_saves(operand_keys: Any, statics: Any) -> Any:
    return () if operand_keys[1].wrapped else ("result",)


@op(function=False, method=False, promote=True, inplace="_pow_", grad=_pow_name, broadcast=True, saved=_pow_saves)
def _pow(input: Operand, exponent: Operand):
    """`input ** exponent` where either may be a tensor."""
    refuse("pow", input, "bool")
    if kind(input) == "int":
        return _integer_power(input, exponent)
    return _power(input, exponent)


def _plain_power(x: Any, n: Any) -> Any:
    """`x ** n` for a number that the program may be specialised to."""
    if n == 0:
        return jnp.ones_like(x)
    if n == 0.5:
        return complex_sqrt(x) if kind(x) == "complex" else jnp.sqrt(x)
    if n == -0.5:
        return 1 / complex_sqrt(x) if kind(x) == "complex" else lax.rsqrt(x)
    if n == -1:
        return 1 / x
    if n == int(n) and n < 0:
        return 1 / lax.integer_pow(x, -int(n))
    return lax.integer_pow(x, int(n)) if n == int(n) else jnp.power(x, n)


@op(function=False, method=False, elementwise=True, inplace="_pow_number_", grad="PowBackward0")
def _pow_number(input: Array, exponent: Number):
    """`input ** exponent` for one of a few common exponents."""
    if kind(input) == "bool" or (kind(input) == "int" and isinstance(exponent, float)):
        input = input.astype(jnp.int64) if isinstance(exponent, int) else to_float(input)
    if is_rare(dtypes.from_numpy(input.dtype)) and exponent not in (0, 1):
        unsupported("pow", input)
    return _power_by(exponent)(input)


def _power_by(exponent: Any) -> Callable[[Any], Any]:
    """The power function, whose derivative is that of the next lower exponent, and 0 for the exponent 0."""

    @derivatives(lambda t, ans, x: t * (exponent * _power_by(exponent - 1)(x)) if exponent else jnp.zeros_like(t))
    def power(x: Any) -> Any:
        return _single(lambda a: _plain_power(a, exponent), x)

    return power


@op(inplace=True, elementwise=True, grad="PowBackward0")
def square(input: Array):
    """`input * input`; bools count as integers."""
    return _power_by(2)(input.astype(jnp.int64) if kind(input) == "bool" else input)


_COMMON_EXPONENTS = frozenset([0, 1, 2, 3, 4, 0.5, -0.5, -1, -2])


def _check_exponent(base: Tensor, exponent: Any) -> None:
    d = base._value.aval.dtype
    if isinstance(exponent, int) and exponent < 0 and not (d.is_floating_point or d.is_complex):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if d is not dtypes.float32:
        check_common(exponent, (base, exponent), True, False)


def _pow_arguments(input: Any, exponent: Any) -> TypeError:
    return TypeError(
        "pow() received an invalid combination of arguments - got "
        f"({type(input).__name__}, {type(exponent).__name__}), but expected one of:\n"
        " * (Tensor input, Tensor exponent, *, Tensor out = None)\n"
        " * (Number self, Tensor exponent, *, Tensor out = None)\n"
        " * (Tensor input, Number exponent, *, Tensor out = None)\n"
    )


@function("pow", method=True)
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent`, broadcast; integers to negative integer numbers raise RuntimeError."""
    if isinstance(input, Tensor):
        if exponent.__class__ in (int, float) and exponent in _COMMON_EXPONENTS:
            if exponent in (-1, -2):
                _check_exponent(input, exponent)
            return _pow_number(input, exponent, out=out)
        if not isinstance(exponent, Tensor):
            if not isinstance(exponent, NUMBERS):
                raise _pow_arguments(input, exponent)
            _check_exponent(input, exponent)
            if isinstance(exponent, (bool, np.bool_)) and input.dtype is dtypes.bool_:
                return bitwise_or(input, not exponent, out=out)  # x ** True is x, x ** False is True
    elif not isinstance(exponent, Tensor):
        raise _pow_arguments(input, exponent)
    elif out is None:
        powers = _pow(input, exponent)
        powers._layout = None  # of a number contiguous, always
        return powers
    elif input == 1 and not exponent.requires_grad:
        ones = np.ones(exponent._value.aval.shape, getattr(out, "dtype", dtypes.float32).np)
        return write_out(out, from_host(ones, exponent.device), "pow")
    elif exponent._layout is not None and getattr(out, "shape", None) != exponent.shape:
        return write_out(out, pow(input, exponent), "pow")
    return _pow(input, exponent, out=out)


@method("pow_")
def pow_(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """In-place form of `pow`."""
    if exponent.__class__ in (int, float) and exponent in _COMMON_EXPONENTS:
        _check_exponent(self, exponent)
        return _pow_number.inplace(self, exponent)
    if not isinstance(exponent, Tensor):
        _check_exponent(self, exponent)
        if isinstance(exponent, (bool, np.bool_)) and self.dtype is dtypes.bool_:
            return bitwise_or.inplace(self, not exponent)
    return _pow.inplace(self, exponent)


def _power_operator(self: Tensor, other: Any, modulo: Any = None) -> Any:
    if not isinstance(self, Tensor) or modulo is not None:
        return NotImplemented
    return pow(self, other) if isinstance(other, (Tensor, *NUMBERS)) else foreign(pow, self, other, "__pow__")


def _reflected_power(self: Tensor, other: Any) -> Any:
    if isinstance(self, Tensor) and not isinstance(other, (Tensor, *NUMBERS)):
        return foreign(pow, self, other, "__rpow__", swap=True)
    return or_not_implemented(pow, other, self)


def _augmented_power(self: Tensor, other: Any) -> Any:
    if not isinstance(self, Tensor):
        return NotImplemented
    return pow_(self, other) if isinstance(other, (Tensor, *NUMBERS)) else foreign(pow_, self, other, "__ipow__")


def _double(x: Any) -> tuple[Any, Any]:
    """A tensor or number in double precision, and the type that has."""
    if isinstance(x, Tensor):
        d = dtypes.complex128 if x._value.aval.dtype.is_complex else dtypes.float64
        return d, cast(x, d)
    need_kind("float_power", "exponent", "Number", x)
    x = python_number(x)
    return (dtypes.complex128, x) if isinstance(x, complex) else (dtypes.float64, float(x))


@function("float_power", method=True)
def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent` in double precision."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError(str(_pow_arguments(input, exponent)).replace("pow()", "float_power()", 1))
    (a, base), (b, power) = _double(input), _double(exponent)
    if dtypes.complex128 in (a, b):
        base = cast(base, dtypes.complex128) if isinstance(base, Tensor) else complex(base)
        power = cast(power, dtypes.complex128) if isinstance(power, Tensor) else complex(power)
    found = dtypes.complex128 if dtypes.complex128 in (a, b) else dtypes.float64
    if out is not None and out.dtype is not found:
        raise RuntimeError(
            f"the output given to float_power has dtype {dtypes.scalar_name(out.dtype)} but the operation's result requires "
            f"dtype {dtypes.scalar_name(found)}"
        )
    if not isinstance(base, Tensor):
        return _pow(base, power, out=out)
    return pow(base, power, out=out)


@method("float_power_")
def float_power_(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """In-place form of `float_power`; the tensor must be of double precision."""
    needed = dtypes.complex128 if dtypes.complex128 in (_double(self)[0], _double(exponent)[0]) else dtypes.float64
    found = self._value.aval.dtype
    if found is not needed:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.scalar_name(found)} but the operation's "
            f"result requires dtype {dtypes.scalar_name(needed)}"
        )
    return pow_(self, cast(exponent, needed) if isinstance(exponent, Tensor) else exponent)


_reflected_power.__name__ = "__rpow__"
methods["__pow__"] = _power_operator
methods["__rpow__"] = _reflected_power
methods["__ipow__"] = _augmented_power
