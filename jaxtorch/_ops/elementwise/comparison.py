"""Comparisons, logic and questions about each element; their results are bools."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Operand, function, inner_op, method, methods, numpy_names, op
from ..._core.dispatch.operators import foreign
from ..._core.run import capture
from ..._core.run.runner import concrete_array
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.types import dtypes
from ..._core.types.grad_mode import no_grad
from ..common.rules import kind, real_only, refuse, scalar_name, tensor_name
from ..creation.from_data import from_numpy

_compared = partial(op, promote=True, inplace=True, differentiable=False, broadcast=True)


@_compared(operator="eq", grad=tensor_name("Eq"))
def eq(input: Array, other: Operand):
    """`input == other`, broadcast."""
    return input == other


_OPERANDS = (Tensor, int, float, complex, np.number, np.bool_)


def _equals(self: Any, other: Any) -> Any:
    """`self == other`. An array is compared as a tensor, as in PyTorch, which leaves it to the other side in all other operators."""
    if isinstance(other, _OPERANDS):
        return eq(self, other)
    if isinstance(other, np.ndarray):
        try:
            other = from_numpy(other)
        except TypeError:  # no tensor holds its elements
            return NotImplemented
        return eq(self, other)
    return foreign(eq, self, other, "__eq__")


_equals.__name__ = "__eq__"
methods["__eq__"] = _equals


@_compared(operator="ne", grad=tensor_name("Ne"), aliases=["not_equal"])
def ne(input: Array, other: Operand):
    """`input != other`, broadcast."""
    return input != other


@_compared(operator="lt", grad=tensor_name("Lt"), aliases=["less"])
def lt(input: Array, other: Operand):
    """`input < other`, broadcast."""
    refuse("lt_cpu", input, "complex")
    return input < other


@_compared(operator="le", grad=tensor_name("Le"), aliases=["less_equal"])
def le(input: Array, other: Operand):
    """`input <= other`, broadcast."""
    refuse("le_cpu", input, "complex")
    return input <= other


@_compared(operator="gt", grad=tensor_name("Gt"), aliases=["greater"])
def gt(input: Array, other: Operand):
    """`input > other`, broadcast."""
    refuse("gt_cpu", input, "complex")
    return input > other


@_compared(operator="ge", grad=tensor_name("Ge"), aliases=["greater_equal"])
def ge(input: Array, other: Operand):
    """`input >= other`, broadcast."""
    refuse("ge_cpu", input, "complex")
    return input >= other


# -- logic: every number but zero counts as true


@op(inplace="_logical_not_", elementwise=True, differentiable=False)
def logical_not(input: Array):
    """Is the element zero?"""
    return input == 0


@op(inplace="_logical_and_", promote=True, differentiable=False, broadcast=True)
def logical_and(input: Array, other: Array):
    """Are both elements nonzero? Broadcast."""
    return (input != 0) & (other != 0)


@op(inplace="_logical_or_", promote=True, differentiable=False, broadcast=True)
def logical_or(input: Array, other: Array):
    """Is either element nonzero? Broadcast."""
    return (input != 0) | (other != 0)


@op(inplace="_logical_xor_", promote=True, differentiable=False, broadcast=True)
def logical_xor(input: Array, other: Array):
    """Is exactly one of the elements nonzero? Broadcast."""
    return (input != 0) ^ (other != 0)


@method("logical_not_")
def _logical_not_(self: Tensor) -> Tensor:
    """In-place form of `logical_not`; autograd takes no notice of it: history stays, and a leaf may be written to."""
    with no_grad():
        return logical_not.inplace(self)


def _beside_autograd(logical: Any) -> None:
    """The in-place form, of which autograd takes no notice: history stays, and a leaf may be written to."""

    def form(self: Tensor, other: Tensor) -> Tensor:
        with no_grad():
            return logical.inplace(self, other)

    form.__doc__ = f"In-place form of `{logical.__name__}`; autograd takes no notice of it."
    form.__qualname__ = logical.__name__ + "_"
    method(logical.__name__ + "_")(numpy_names(form))


for _logical in (logical_and, logical_or, logical_xor):
    _beside_autograd(_logical)


# -- questions


def _never(x: Any) -> bool:
    """Bools and integers are always finite numbers."""
    return kind(x) in ("bool", "int")


@op(elementwise=True, out=False, differentiable=False)
def isnan(input: Array):
    """Is the element (or either part of it) NaN?"""
    return jnp.zeros(input.shape, bool) if _never(input) else jnp.isnan(input)


@op(elementwise=True, out=False, differentiable=False)
def isinf(input: Array):
    """Is the element (or either part of it) infinite?"""
    if kind(input) == "complex":
        return jnp.isinf(input.real) | jnp.isinf(input.imag)
    return jnp.zeros(input.shape, bool) if _never(input) else jnp.isinf(input)


@op(elementwise=True, out=False, differentiable=False)
def isfinite(input: Array):
    """Is the element neither infinite nor NaN?"""
    return jnp.ones(input.shape, bool) if _never(input) else jnp.isfinite(input)


@op(elementwise=True, differentiable=False)
def isposinf(input: Array):
    """Is the element positive infinity? Complex tensors are refused."""
    real_only("isposinf does not support complex inputs.", input)
    return jnp.zeros(input.shape, bool) if _never(input) else input == jnp.inf


@op(elementwise=True, differentiable=False)
def isneginf(input: Array):
    """Is the element negative infinity? Complex tensors are refused."""
    real_only("isneginf does not support complex inputs.", input)
    return jnp.zeros(input.shape, bool) if _never(input) else input == -jnp.inf


@op(elementwise=True, out=False, differentiable=False)
def isreal(input: Array):
    """Has the element no imaginary part?"""
    return input.imag == 0 if kind(input) == "complex" else jnp.ones(input.shape, bool)


def _check_close(input: Any, other: Any) -> None:
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{scalar_name(input)} did not match {scalar_name(other)}")


def _close(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    close = x == y
    if equal_nan and not _never(x):
        close |= jnp.isnan(x) & jnp.isnan(y)
    if rtol == 0 and atol == 0:
        return close
    reference = y.astype(dtypes.default().np) if _never(y) else y
    allowed = atol + jnp.abs(rtol * reference)
    error = jnp.abs(x - reference)
    return close | (jnp.isfinite(error) & (error <= allowed))


@op(elementwise=True, out=False, differentiable=False, check=_check_close, broadcast=True)
def isclose(input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    """Is `|input - other| <= atol + rtol * |other|`? Both must have one element type."""
    return _close(input, other, rtol, atol, equal_nan)


@inner_op(differentiable=False, check=_check_close, broadcast=True)
def _all_close(input: Array, other: Array, rtol: float, atol: float, equal_nan: bool):
    """Are all elements close?"""
    return jnp.all(_close(input, other, rtol, atol, equal_nan))


@inner_op(differentiable=False, promote=True, broadcast=True)
def _all_equal(input: Array, other: Array):
    """Are all elements equal?"""
    return jnp.all(input == other)


@function("allclose", method=True)
@numpy_names
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Are all elements within `atol + rtol * |other|` of each other? A Python bool."""
    capture.refuse_fullgraph(f"{capture.OPERATOR}: allclose")
    return bool(concrete_array(_all_close(input, other, rtol, atol, equal_nan)._array()))


@function("equal", method=True)
@numpy_names
def equal(input: Tensor, other: Tensor) -> bool:
    """Have both the same shape and equal elements? A Python bool; NaN equals nothing."""
    need_tensor(input, "equal")
    need_tensor(other, "equal", "other", 2)
    if input._value.aval.shape != other._value.aval.shape:
        return False
    capture.refuse_fullgraph(f"{capture.OPERATOR}: equal")
    return bool(concrete_array(_all_equal(input, other)._array()))
