"""What the definitions of elementwise operations share: refusing element types, and stating derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from ..._core.types import dtypes

HALVES = (dtypes.float16.np, dtypes.bfloat16.np)


def scalar_name(x: Any) -> str:
    """'Float', 'Long', ...: the name of an array's or an aval's element type in PyTorch's messages."""
    d = x.dtype
    return dtypes.scalar_name(d if isinstance(d, dtypes.dtype) else dtypes.from_numpy(d))


def kind(x: Any) -> str:
    """'bool', 'int', 'float' or 'complex': the category of an array's or an aval's element type."""
    d = x.dtype if isinstance(x.dtype, dtypes.dtype) else dtypes.from_numpy(x.dtype)
    return ("bool", "int", "float", "complex")[dtypes.category(d)]


def as_double(number: Any) -> Any:
    """A number that is no complex one; RuntimeError where that would lose a part of it."""
    if not isinstance(number, (complex, np.complexfloating)):
        return number
    if number.imag:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return number.real


def unsupported(kernel: str, x: Any) -> NoReturn:
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(x)}'")


def refuse(kernel: str, x: Any, *kinds: str) -> None:
    """Raise as PyTorch does where a kernel does not exist for these categories of element types."""
    if kind(x) in kinds:
        unsupported(kernel, x)


def full_precision(kernel: str, *xs: Any) -> None:
    """Refuse complex arrays and those of less than single precision, for which PyTorch has no such kernel."""
    for x in xs:
        if kind(x) == "complex" or (kind(x) not in ("bool", "int") and x.dtype.itemsize < 4):
            unsupported(kernel, x)


def needs_tensor(name: str) -> Callable[..., None]:
    """A check that not all operands are Python numbers."""

    def check(*operands: Any) -> None:
        if all(a.wrapped for a in operands if a is not None):
            words = ", ".join([{"int64": "int", "float64": "float"}.get(a.dtype.name, "bool") for a in operands])
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({words}), "
                "but expected one of:\n"
                " * (Tensor, Tensor)\n * (Number, Tensor)\n * (Tensor, Number)\n"
            )

    return check


def real_only(message: str, *xs: Any, error: type[Exception] = RuntimeError) -> None:
    if any(kind(x) == "complex" for x in xs):
        raise error(message)


def check_subtraction(a: Any, b: Any) -> None:
    """RuntimeError for the difference of bools, or of a bool and a number."""
    kinds = (kind(a), kind(b))
    if kinds == ("bool", "bool"):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if "bool" in kinds:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def check_negation(x: Any) -> None:
    """RuntimeError for a bool."""
    if kind(x) == "bool":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead."
        )


def check_mean(x: Any) -> None:
    """RuntimeError for the mean of integers."""
    if kind(x) in ("int", "bool"):
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
            f"dtype. Got: {scalar_name(x)}"
        )


def default_float() -> Any:
    return dtypes.default().np


def to_float(x: Any) -> Any:
    """Integers and bools in the default floating-point type."""
    return x.astype(default_float()) if kind(x) in ("bool", "int") else x


def in_single(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of several steps that computes in float32 where its operands are of half precision."""

    @functools.wraps(fn)
    def computed(*xs: Any, **kwargs: Any) -> Any:
        half = next((x.dtype for x in xs if getattr(x, "dtype", None) in HALVES), None)
        if half is None:
            return fn(*xs, **kwargs)
        out = fn(*[x.astype(jnp.float32) if getattr(x, "dtype", None) in HALVES else x for x in xs], **kwargs)
        return out.astype(half) if out.dtype == jnp.float32 else out

    return computed


def in_double(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A formula that loses digits on the way: it computes in float64, its result has its operands' type."""

    @functools.wraps(fn)
    def computed(*xs: Any) -> Any:
        return fn(*[x.astype(jnp.float64) for x in xs]).astype(xs[0].dtype)

    return computed


Partial = Callable[..., Any]


def derivatives(*partials: Partial | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """State the derivative of a function of arrays: one rule for each argument, None where it is zero.

    `partial(t, ans, *arguments)` is the change of the result for a change `t` of that argument. Rules in
    terms of `ans` make autograd save the result; rules in terms of the arguments save those.
    """

    def wrap(fn: Callable[..., Any]) -> Callable[..., Any]:
        made = jax.custom_jvp(fn)

        def rule(primals: Any, tangents: Any) -> Any:
            ans = made(*primals)
            total = None
            for partial, t in zip(partials, tangents, strict=True):
                if partial is not None and not isinstance(t, SymbolicZero):
                    term = jnp.broadcast_to(partial(t, ans, *primals), ans.shape).astype(ans.dtype)
                    total = term if total is None else total + term
            return ans, jnp.zeros_like(ans) if total is None else total

        made.defjvp(rule, symbolic_zeros=True)
        return functools.wraps(fn)(made)

    return wrap


def no_derivative(error: type[Exception], message: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The function, whose backward pass raises: PyTorch has no derivative for it either."""

    def wrap(fn: Callable[..., Any]) -> Callable[..., Any]:
        made = jax.custom_vjp(fn)

        def backward(_: Any, ct: Any) -> NoReturn:
            raise error(message)

        made.defvjp(lambda *xs: (fn(*xs), None), backward)
        return functools.wraps(fn)(made)

    return wrap


def number_name(name: str, operand: int = 1) -> Callable[..., str]:
    """grad_fn names of an operation with two overloads: 0 where that operand is a tensor, 1 for a number."""

    def named(operand_keys: Any, statics: Any) -> str:
        key = operand_keys[operand]
        return f"{name}Backward{int(key is not None and key.wrapped)}"

    return named


def tensor_name(name: str, operand: int = 1) -> Callable[..., str]:
    """As `number_name`, for overloads counted the other way: 0 for a number, 1 for a tensor."""

    def named(operand_keys: Any, statics: Any) -> str:
        key = operand_keys[operand]
        return f"{name}Backward{int(key is not None and not key.wrapped)}"

    return named


def zeros_mask(mask: Any, x: Any) -> Any:
    """`x` with zeros where the mask is False, whatever is there."""
    return jnp.where(mask, x, jnp.zeros_like(x))


def masked(mask: Any, t: Any, factor: Any) -> Any:
    """`t * factor` where the mask holds and 0 elsewhere, whatever the factor is there; linear in t."""
    return zeros_mask(mask, t * jnp.where(mask, factor, jnp.ones_like(factor)))


def unbroken(x: Any) -> Any:
    """The array, cut off from differentiation."""
    return jax.lax.stop_gradient(x)


def diagonal_of(x: Any, offset: int = 0) -> Any:
    """A diagonal of the last two dimensions. (`jnp.diagonal` leaves its backward pass a matrix of zeros to keep.)"""
    (rows, columns), (r, c) = x.shape[-2:], (max(-offset, 0), max(offset, 0))
    n = min(rows - r, columns - c)
    if n <= 0:
        return jnp.zeros((*x.shape[:-2], 0), x.dtype)
    first = r * columns + c
    flat = x.reshape(*x.shape[:-2], rows * columns)
    return lax.slice_in_dim(flat, first, first + (n - 1) * (columns + 1) + 1, columns + 1, axis=-1)


def bits(x: Any) -> int:
    """The width of an integer array's elements."""
    return np.dtype(x.dtype).itemsize * 8


C_NAMES = {
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "long", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
"""Names of element types in some of PyTorch's messages."""
