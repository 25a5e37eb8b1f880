"""Arithmetic: sums, products, quotients, remainders and powers, and the operators made of them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core import dtypes
from .._core.checks import flag
from .._core.op import Array, Number, Operand, Scalar, function, method, methods, op
from .._core.tensor import Tensor, need_tensor
from .bitwise import bitwise_or
from .casting import cast
from .rules import (
    derivatives,
    in_single,
    kind,
    masked,
    needs_tensor,
    no_derivative,
    number_name,
    refuse,
    tensor_name,
    to_float,
    unbroken,
)

# -- sums and products


def _multiply_add(x: Any, y: Any, alpha: Any, minus: bool = False) -> Any:
    """`x + alpha * y`, or `x - alpha * y`, rounded once; alpha may be the Python default 1."""
    if isinstance(alpha, int):
        return x - y if minus else x + y
    _check_alpha(y, alpha)
    return in_single(lambda x, y, a: x - a * y if minus else x + a * y)(x, y, alpha.astype(y.dtype))


def _check_alpha(x: Any, alpha: Any) -> None:
    if kind(alpha) == "bool" and kind(x) != "bool":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if kind(alpha) == "complex" and kind(x) != "complex":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if kind(alpha) == "float" and kind(x) in ("bool", "int"):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


def _check_sub(a: Any, b: Any, *_: Any) -> None:
    if dtypes.bool_ not in (a.dtype, b.dtype):
        return
    if a.dtype is b.dtype:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    raise RuntimeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. "
        "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
    )


@op(promote=True, inplace=True, operator="add", broadcast=True, numbers_first=["alpha"])
def add(input: Operand, other: Operand, *, alpha: Scalar = 1):
    """`input + alpha * other`, broadcast."""
    return _multiply_add(input, other, alpha)


@op(
    promote=True,
    inplace=True,
    operator="sub",
    aliases=["subtract"],
    check=_check_sub,
    broadcast=True,
    numbers_first=["alpha"],
)
def sub(input: Operand, other: Operand, *, alpha: Scalar = 1):
    """`input - alpha * other`, broadcast; bools are refused."""
    return _multiply_add(input, other, alpha, minus=True)


@op(
    promote=True,
    method=False,
    grad=number_name("Rsub"),
    check=_check_sub,
    out=False,
    broadcast=True,
)
def rsub(input: Array, other: Operand, *, alpha: Scalar = 1):
    """`other - alpha * input`, broadcast; bools are refused."""
    return _multiply_add(other, input, alpha, minus=True)


@op(promote=True, opmath="last", inplace=True, operator="mul", aliases=["multiply"], broadcast=True)
def mul(input: Operand, other: Operand):
    """`input * other`, broadcast."""
    return input * other


@op(promote=True, opmath="scalars", inplace=True, broadcast=True, numbers_first=["value"])
def addcmul(input: Array, tensor1: Array, tensor2: Array, *, value: Scalar = 1):
    """`input + value * tensor1 * tensor2`, broadcast."""
    refuse("addcmul_cpu_out", input, "bool")
    if isinstance(value, int):
        return in_single(lambda x, a, b: x + a * b)(input, tensor1, tensor2)
    return input + value.astype(input.dtype) * tensor1 * tensor2


def _check_addcdiv(input: Any, tensor1: Any, tensor2: Any, *_: Any) -> None:
    if all(kind(t) in ("bool", "int") for t in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
            "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
            "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
            "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
            "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), "
            "for all dtypes."
        )


@op(
    promote=True,
    opmath="scalars",
    inplace=True,
    check=_check_addcdiv,
    broadcast=True,
    numbers_first=["value"],
    saved=["tensor2"],
)
def addcdiv(input: Array, tensor1: Array, tensor2: Array, *, value: Scalar = 1):
    """`input + value * tensor1 / tensor2`, broadcast; two integer tensors are refused."""
    if isinstance(value, int):
        return in_single(lambda x, a, b: x + divide(a, b))(input, tensor1, tensor2)
    return input + divide(value.astype(input.dtype) * tensor1, tensor2)


def _check_lerp(input: Any, end: Any, weight: Any, *_: Any) -> None:
    for name, x in (("end", end), ("weight", weight)):
        if not x.wrapped and x.dtype is not input.dtype:
            words = [_LERP_NAMES.get(d.name, d.name) for d in (input.dtype, x.dtype)]
            raise RuntimeError(f"expected dtype {words[0]} for `{name}` but got dtype {words[1]}")
    if kind(input) in ("bool", "int"):
        refuse("lerp_kernel_scalar" if weight.wrapped else "lerp_kernel_tensor", input, "bool", "int")


_LERP_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


@op(promote=True, opmath="last", inplace=True, grad=tensor_name("Lerp", 2), check=_check_lerp, broadcast=True)
def lerp(input: Array, end: Array, weight: Operand):
    """`input + weight * (end - input)`; all of one element type."""
    if input.dtype in (jnp.float16, jnp.bfloat16):
        single = [x.astype(jnp.float32) for x in (input, end, weight)]
        return _between(*single).astype(input.dtype)
    return _between(input, end, weight)


def _between(input: Any, end: Any, weight: Any) -> Any:
    near = jnp.abs(unbroken(weight)) < 0.5
    difference = end - input
    return jnp.where(near, input + weight * difference, end - difference * (1 - weight))


# -- quotients and remainders


@derivatives(lambda t, ans, x, y: t / y, lambda t, ans, x, y: -t * ((x / y) / y))
def divide(x: Any, y: Any) -> Any:
    """The true quotient, with a derivative that does not square the divisor."""
    return x / y


def _flag_zero(y: Any) -> None:
    """Integer division by zero raises, as far as the data says so."""
    flag(jnp.any(y == 0).astype(jnp.int64), lambda code: RuntimeError("ZeroDivisionError"))


def _whole_quotient(x: Any, y: Any) -> Any:
    """`x / y` rounded down, exact for integers."""
    if kind(x) == "int":
        _flag_zero(y)
        quotient, rest = lax.div(x, y), lax.rem(x, y)
        return jnp.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    rest = lax.rem(x, y)
    quotient = (x - rest) / y
    quotient = jnp.where((rest != 0) & ((y < 0) != (rest < 0)), quotient - 1, quotient)
    down = jnp.floor(quotient)
    down = jnp.where(quotient - down > 0.5, down + 1, down)
    whole = jnp.where(quotient != 0, down, jnp.copysign(jnp.zeros_like(quotient), x / y))
    return jnp.where(y == 0, x / y, whole)


def _single(fn: Any, *xs: Any) -> Any:
    """A rounded quotient of half precision numbers is taken in float32."""
    half = xs[0].dtype
    if half not in (dtypes.float16.np, dtypes.bfloat16.np):
        return fn(*xs)
    return fn(*[x.astype(np.float32) for x in xs]).astype(half)


def _stored_quotient(x: Any, y: Any) -> Any:
    """`x / y` rounded to its type before the next step; XLA would keep a half precision one in float32."""
    info = jnp.finfo(x.dtype)
    if info.bits != 16:
        return x / y
    return lax.reduce_precision(x.astype(jnp.float32) / y.astype(jnp.float32), info.nexp, info.nmant)


def _rounded(x: Any, y: Any, mode: str) -> Any:
    x, y = jnp.broadcast_arrays(x, y)
    if mode == "floor":
        refuse("div_floor_cpu", x, "bool", "complex")
        return _single(_whole_quotient, unbroken(x), unbroken(y))
    if mode != "trunc":
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
    refuse("div_trunc_cpu", x, "bool", "complex")
    if kind(x) == "int":
        _flag_zero(y)
        return lax.div(x, y)
    return jnp.trunc(_stored_quotient(unbroken(x), unbroken(y))).astype(x.dtype)


def _div_name(operand_keys: Any, statics: Any) -> str:
    if statics[0] is None:
        return "DivBackward0"
    return "DivBackward3" if operand_keys[1].wrapped else "DivBackward2"


@op(
    promote=True,
    opmath="last",
    inplace=True,
    operator="truediv",
    aliases=["divide"],
    grad=_div_name,
    broadcast=True,
    saved=lambda operands, statics: () if statics[0] is None else {"input": "other", "other": "input other"},
)
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None):
    """`input / other`, broadcast: the true quotient, or rounded down ('floor') or towards zero ('trunc').

    Rounding integer quotients raises RuntimeError on division by zero.
    """
    if rounding_mode is None:
        return divide(to_float(input), to_float(other))
    return _rounded(input, other, rounding_mode)


@op(promote=True, opmath="last", inplace=True, grad="DivBackward0", broadcast=True)
def true_divide(input: Operand, other: Operand):
    """`input / other`, broadcast; integers give floating-point results."""
    return divide(to_float(input), to_float(other))


@op(promote=True, opmath="last", inplace=True, operator="floordiv", grad="NotImplemented", broadcast=True)
def floor_divide(input: Operand, other: Operand):
    """`input / other` rounded down, broadcast; integers by zero raise RuntimeError. Not differentiable."""
    return _floor_divide(input, other)


@no_derivative(RuntimeError, "derivative for aten::floor_divide is not implemented")
def _no_floor_divide(x: Any, y: Any) -> Any:
    return _rounded(x, y, "floor")


def _floor_divide(x: Any, y: Any) -> Any:
    return _no_floor_divide(x, y) if kind(x) == "float" else _rounded(x, y, "floor")


@derivatives(lambda t, ans, x, y: t, lambda t, ans, x, y: -t * _rounded(x, y, "floor"))
def _remainder(x: Any, y: Any) -> Any:
    rest = lax.rem(x, y)
    return jnp.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


@op(
    promote=True,
    inplace=True,
    operator="mod",
    grad=tensor_name("Remainder"),
    check=needs_tensor("remainder"),
    broadcast=True,
)
def remainder(input: Operand, other: Operand):
    """The rest of division rounded down; it has the divisor's sign. Integers by zero raise RuntimeError."""
    refuse("remainder_cpu", input, "bool", "complex")
    x, y = jnp.broadcast_arrays(input, other)
    if kind(x) == "int":
        _flag_zero(y)
    return _single(_remainder, x, y)


@derivatives(lambda t, ans, x, y: t, lambda t, ans, x, y: -t * _rounded(x, y, "trunc"))
def _fmod(x: Any, y: Any) -> Any:
    return lax.rem(x, y)


@op(promote=True, inplace=True, grad=tensor_name("Fmod"), broadcast=True)
def fmod(input: Array, other: Operand):
    """The rest of division rounded towards zero, of the dividend's sign. Integers by zero raise."""
    refuse("fmod_cpu", input, "bool", "complex")
    x, y = jnp.broadcast_arrays(input, other)
    if kind(x) == "int":
        _flag_zero(y)
    return _fmod(x, y)


# -- powers


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
        return jnp.sqrt(x)
    if n == -0.5:
        return lax.rsqrt(x)
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

    @derivatives(lambda t, ans, x: t * (exponent * _plain_power(x, exponent - 1)) if exponent else jnp.zeros_like(t))
    def power(x: Any) -> Any:
        return _single(lambda a: _plain_power(a, exponent), x)

    return power(input)


_COMMON_EXPONENTS = frozenset([0, 1, 2, 3, 4, 0.5, -0.5, -1, -2])


def _check_exponent(base: Tensor, exponent: Any) -> None:
    d = base._value.aval.dtype
    if isinstance(exponent, int) and exponent < 0 and not (d.is_floating_point or d.is_complex):
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def _pow_arguments(input: Any, exponent: Any) -> TypeError:
    return TypeError(
        "pow() received an invalid combination of arguments - got "
        f"({type(input).__name__}, {type(exponent).__name__}), but expected one of:\n"
        " * (Tensor input, Tensor exponent, *, Tensor out = None)\n"
        " * (Number self, Tensor exponent, *, Tensor out = None)\n"
        " * (Tensor input, Number exponent, *, Tensor out = None)\n"
    )


_NUMBERS = (int, float, complex, np.number, np.bool_)


@function("pow", method=True)
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent`, broadcast; integers to negative integer numbers raise RuntimeError."""
    if isinstance(input, Tensor):
        if exponent.__class__ in (int, float) and exponent in _COMMON_EXPONENTS:
            if exponent in (-1, -2):
                _check_exponent(input, exponent)
            return _pow_number(input, exponent, out=out)
        if not isinstance(exponent, Tensor):
            if not isinstance(exponent, _NUMBERS):
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
    return _pow(input, exponent, out=out)


@method("pow_")
def pow_(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """In-place form of `pow`."""
    if exponent.__class__ in (int, float) and exponent in _COMMON_EXPONENTS:
        _check_exponent(self, exponent)
        return _pow_number.inplace(self, exponent)
    if not isinstance(exponent, Tensor):
        _check_exponent(self, exponent)
    return _pow.inplace(self, exponent)


def _power_operator(self: Tensor, other: Any) -> Any:
    return pow(self, other) if isinstance(other, (Tensor, *_NUMBERS)) else NotImplemented


def _reflected_power(self: Tensor, other: Any) -> Any:
    return pow(other, self) if isinstance(other, (Tensor, *_NUMBERS)) else NotImplemented


def _augmented_power(self: Tensor, other: Any) -> Any:
    return pow_(self, other) if isinstance(other, (Tensor, *_NUMBERS)) else NotImplemented


def _double(x: Any) -> tuple[Any, Any]:
    """A tensor or number in double precision, and the type that has."""
    if isinstance(x, Tensor):
        d = dtypes.complex128 if x._value.aval.dtype.is_complex else dtypes.float64
        return d, cast(x, d)
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


# -- signs


@op(inplace=True, elementwise=True, aliases=["negative"])
def neg(input: Array):
    """`-input`; bools are refused."""
    if kind(input) == "bool":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead."
        )
    return -input


@function("positive", method=True)
def positive(input: Tensor) -> Tensor:
    """The tensor itself; bools are refused."""
    if need_tensor(input, "positive")._value.aval.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _abs_slope(t: Any, ans: Any, x: Any) -> Any:
    if kind(x) != "complex":
        return t * ((x > 0).astype(x.dtype) - (x < 0).astype(x.dtype))
    size = jnp.where(ans == 0, jnp.ones_like(ans), ans)
    return (x.real / size) * t.real + (x.imag / size) * t.imag


@derivatives(_abs_slope)
def _absolute(x: Any) -> Any:
    return jnp.abs(x)


def _check_abs(input: Any) -> None:
    refuse("abs_cpu", input, "bool")


@op(inplace="_abs_", elementwise=True, aliases=[], check=_check_abs, name="abs")
def absolute_value(input: Array):
    """The magnitude of each element; real for complex tensors."""
    return _absolute(input)


def abs_(self: Tensor) -> Tensor:
    """In-place form of `abs`; complex tensors are refused."""
    if need_tensor(self, "abs_")._value.aval.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return absolute_value.inplace(self)


function("abs_", method=True)(abs_)
method("absolute_")(abs_)
function("absolute", method=True)(absolute_value)


@op(inplace=True, elementwise=True, grad="PowBackward0")
def square(input: Array):
    """`input * input`; bools count as integers."""
    x = input.astype(jnp.int64) if kind(input) == "bool" else input
    return x * x


@derivatives(lambda t, ans, x: -t * (ans * ans))
def _reciprocal(x: Any) -> Any:
    return 1 / x


@op(promote="float", inplace=True)
def reciprocal(input: Array):
    """`1 / input`; integers give floating-point results."""
    return _reciprocal(input)


# -- operators whose reflected form is its own operation in PyTorch


def _reflected_sub(self: Tensor, other: Any) -> Any:
    return rsub(self, other) if isinstance(other, (Tensor, *_NUMBERS)) else _sub_reflected(self, other)


def _reflected_div(self: Tensor, other: Any) -> Any:
    if not isinstance(self, Tensor):
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'reciprocal'")
    if isinstance(other, (Tensor, np.ndarray, *_NUMBERS)):
        return reciprocal(self) * other
    return _div_reflected(self, other)


_sub_reflected, _div_reflected = methods["__rsub__"], methods["__rtruediv__"]
methods["__rsub__"] = _reflected_sub
methods["__rtruediv__"] = methods["__rdiv__"] = _reflected_div
methods["__div__"] = methods["__truediv__"]
methods["__idiv__"] = methods["__itruediv__"]
methods["__pow__"] = _power_operator
methods["__rpow__"] = _reflected_power
methods["__ipow__"] = _augmented_power
methods["__neg__"] = neg
methods["__pos__"] = positive
methods["__abs__"] = absolute_value
