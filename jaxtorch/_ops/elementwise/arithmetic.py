"""Arithmetic: sums, products, quotients and remainders, signs, and the operators made of them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, Operand, Scalar, function, method, methods, op
from ..._core.dispatch.operators import or_not_implemented
from ..._core.record.value_checks import Nonzero, flag
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.types import dtypes
from ..common.exact_division import quotient
from ..common.rules import (
    check_negation,
    check_subtraction,
    derivatives,
    in_single,
    kind,
    needs_tensor,
    no_derivative,
    number_name,
    refuse,
    tensor_name,
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
    check_subtraction(a, b)


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
        alone = name == "weight" and not x.ndim  # is taken for a number
        if not x.wrapped and x.dtype is not input.dtype and not alone:
            words = [_LERP_NAMES.get(d.name, d.name) for d in (input.dtype, x.dtype)]
            raise RuntimeError(f"expected dtype {words[0]} for `{name}` but got dtype {words[1]}")
    if weight.wrapped and kind(weight) == "complex" and kind(input) == "float":
        raise RuntimeError(f"value cannot be converted to type {_LERP_NAMES[input.dtype.name]} without overflow")
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


@derivatives(lambda t, ans, x, y: quotient(t, y), lambda t, ans, x, y: -t * quotient(quotient(x, y), y))
def divide(x: Any, y: Any) -> Any:
    """The true quotient, with a derivative that does not square the divisor."""
    return quotient(x, y)


def _flag_zero(y: Any) -> None:
    """Integer division by zero raises, as far as the data says so. y: the operation's `other`."""
    flag(jnp.any(y == 0).astype(jnp.int64), lambda code: RuntimeError("ZeroDivisionError"), Nonzero("other", y.dtype))


def _whole_quotient(x: Any, y: Any) -> Any:
    """`x / y` rounded down, exact for integers."""
    if kind(x) == "int":
        _flag_zero(y)
        found, rest = lax.div(x, y), lax.rem(x, y)
        return jnp.where((rest != 0) & ((rest < 0) != (y < 0)), found - 1, found)
    rest = lax.rem(x, y)
    found = quotient(x - rest, y)
    found = jnp.where((rest != 0) & ((y < 0) != (rest < 0)), found - 1, found)
    down = jnp.floor(found)
    down = jnp.where(found - down > 0.5, down + 1, down)
    whole = jnp.where(found != 0, down, jnp.copysign(jnp.zeros_like(found), x / y))
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
        return quotient(x, y)
    return lax.reduce_precision(quotient(x.astype(jnp.float32), y.astype(jnp.float32)), info.nexp, info.nmant)


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
    promote=lambda statics: (
        "float" if statics[0] is None else True
    ),  # a number that meets integers is not made one of their type
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
        return divide(input, other)
    return _rounded(input, other, rounding_mode)


@op(promote="float", opmath="last", inplace=True, grad="DivBackward0", broadcast=True)
def true_divide(input: Operand, other: Operand):
    """`input / other`, broadcast; integers give floating-point results."""
    return divide(input, other)


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


# -- signs


@op(inplace=True, elementwise=True, aliases=["negative"])
def neg(input: Array):
    """`-input`; bools are refused."""
    check_negation(input)
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
    if kind(x) == "int" and jnp.issubdtype(x.dtype, jnp.signedinteger):
        return jnp.where(x < 0, -x, x)  # XLA takes its own for no less than 0, which that of the smallest number is
    return jnp.abs(x)


def _check_abs(input: Any) -> None:
    refuse("abs_cpu", input, "bool")


@op(inplace="_abs_", elementwise=True, aliases=[], check=_check_abs, name="abs")
def absolute_value(input: Array):
    """The magnitude of each element; real for complex tensors."""
    return _absolute(input)


def abs_(input: Tensor) -> Tensor:
    """In-place form of `abs`; complex tensors are refused."""
    if need_tensor(input, "abs_")._value.aval.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return absolute_value.inplace(input)


function("abs_", method=True)(abs_)
method("absolute_")(abs_)
function("absolute", method=True)(absolute_value)


@derivatives(lambda t, ans, x: -t * (ans * ans))
def _reciprocal(x: Any) -> Any:
    return 1 / x


@op(promote="float", inplace=True)
def reciprocal(input: Array):
    """`1 / input`; integers give floating-point results."""
    return _reciprocal(input)


# -- operators whose reflected form is its own operation in PyTorch

NUMBERS = (int, float, complex, np.number, np.bool_)


def _reflected_sub(self: Tensor, other: Any) -> Any:
    if isinstance(self, Tensor) and not isinstance(other, (Tensor, *NUMBERS)):
        return _sub_reflected(self, other)
    return or_not_implemented(rsub, self, other)


def _reflected_div(self: Tensor, other: Any) -> Any:
    if not isinstance(self, Tensor):
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'reciprocal'")
    if isinstance(other, (Tensor, np.ndarray, *NUMBERS)):
        return reciprocal(self) * other
    return _div_reflected(self, other)


_sub_reflected, _div_reflected = methods["__rsub__"], methods["__rtruediv__"]
_reflected_sub.__name__, _reflected_div.__name__ = "__rsub__", "__rdiv__"  # which overrides are told
methods["__rsub__"] = _reflected_sub
methods["__rtruediv__"] = methods["__rdiv__"] = _reflected_div
methods["__div__"] = methods["__truediv__"]
methods["__idiv__"] = methods["__itruediv__"]
methods["__neg__"] = neg
methods["__pos__"] = positive
methods["__abs__"] = absolute_value
