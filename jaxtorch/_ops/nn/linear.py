"""Affine maps: `linear` and `bilinear`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ..._core.define.op import Array, op
from ..common.product_primitives import on_cpu, plus_row, times_and_plus, times_transposed
from ..common.rules import HALVES, derivatives, scalar_name

_C_NAMES = {
    "Float": "float", "Double": "double", "Long": "long int", "Int": "int", "Half": "c10::Half",
    "Short": "short int", "BFloat16": "c10::BFloat16", "Bool": "bool", "Byte": "unsigned char",
    "Char": "signed char", "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>",
}  # fmt: skip


def c_name(x: Any) -> str:
    """The element type as PyTorch's C++ messages call it."""
    name = scalar_name(x)
    return _C_NAMES.get(name, name)


def check_types(input: Any, weight: Any, bias: Any) -> None:
    """RuntimeError where the operands of a product differ in type."""
    if input.dtype != weight.dtype:
        if bias is not None:
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {scalar_name(input)} and {scalar_name(weight)}"
            )
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {c_name(input)} != {c_name(weight)}")


def _linear_name(operands: Any, statics: Any) -> str:
    x, weight, bias = operands
    if weight.ndim == 1:
        return ("DotBackward0" if x.ndim == 1 else "MvBackward0") if bias is None else "AddBackward0"
    if x.ndim == 2:
        return "MmBackward0" if bias is None else "AddmmBackward0"
    if bias is not None:
        return "ViewBackward0"
    return "SqueezeBackward4" if x.ndim == 1 else "UnsafeViewBackward0"


@op(function=False, method=False, grad=_linear_name)
def linear(input: Array, weight: Array, bias: Array | None = None):
    """`input @ weight.T + bias`: (*, in) with weight (out, in) or (in), bias (out) or ()."""
    if input.ndim == 0 or weight.ndim == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if bias is not None and weight.ndim == 2:
        check_types(input, weight, bias)
    features = weight.shape[-1]
    if input.shape[-1] != features:
        rows = 1
        for n in input.shape[:-1]:
            rows *= n
        if weight.ndim == 1:
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{input.shape[-1]}), vec ({features})")
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and {features}x{weight.shape[0]})"
        )
    check_types(input, weight, bias)
    if input.dtype == jnp.bool_:
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    flat = weight.ndim == 2 and input.ndim > 1
    if bias is None:
        return times_transposed(input, weight) if flat else jnp.matmul(input, weight.T)
    if bias.dtype != input.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {scalar_name(bias)} and {scalar_name(weight)}"
        )
    if weight.ndim == 2 and bias.ndim <= 1 and bias.shape not in ((), (1,), (weight.shape[0],)):
        rows = [int(input.size // max(features, 1)), weight.shape[0]]
        raise RuntimeError(
            f"The expanded size of the tensor ({rows[1]}) must match the existing size ({bias.shape[0]}) "
            "at non-singleton "
            f"dimension 1.  Target sizes: {rows}.  Tensor sizes: {list(bias.shape)}"
        )
    if weight.ndim == 2 and bias.ndim == 2:  # as a row of a matrix
        rows, shape = int(input.size // max(features, 1)), (*input.shape[:-1], weight.shape[0])
        if bias.shape[0] not in (1, rows) or bias.shape[1] not in (1, weight.shape[0]):
            raise RuntimeError(
                f"The expanded size of the tensor ({rows}) must match the existing size ({bias.shape[0]}) at non-singleton "
                f"dimension 0.  Target sizes: {[rows, weight.shape[0]]}.  Tensor sizes: {list(bias.shape)}"
            )
        if input.ndim == 1:
            bias = jnp.broadcast_to(bias, (rows, weight.shape[0])).reshape(shape)
    if input.dtype in HALVES:
        return _rounded_once(input, weight, bias)
    return times_and_plus(input, weight, bias) if flat else jnp.matmul(input, weight.T) + bias


def _unbiased(x: Any, weight: Any) -> Any:
    return times_transposed(x, weight) if weight.ndim == 2 and x.ndim > 1 else jnp.matmul(x, weight.T)


@derivatives(
    lambda t, ans, x, weight, bias: _unbiased(t, weight),
    lambda t, ans, x, weight, bias: _unbiased(x, t),
    lambda t, ans, x, weight, bias: plus_row(jnp.zeros_like(ans), t),
)
def _rounded_once(x: Any, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` of half precision, summed in float32; the derivatives are products of half precision."""
    along = (x.ndim - 1,), (weight.ndim - 1,)
    if not on_cpu():  # the library adds the bias before it rounds
        return lax.dot_general(x, weight, (along, ((), ()))) + bias
    total = lax.dot_general(x, weight, (along, ((), ())), preferred_element_type=jnp.float32)
    return (total + bias.astype(jnp.float32)).astype(x.dtype)


def _bilinear_name(operands: Any, statics: Any) -> str:
    return "ViewBackward0" if operands[3] is None else "AddBackward0"


@op(method=False, out=False, grad=_bilinear_name, unsaved=["bias"], saved={"weight": "input1 input2"})
def bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None):
    """`out[..., k] = input1 @ weight[k] @ input2 + bias[k]`: weight is (out, in1, in2)."""
    given = {"input1": input1, "input2": input2, "weight": weight, **({} if bias is None else {"bias": bias})}
    if any(x.dtype != input1.dtype for x in given.values()):
        found = ", ".join(f"{name}: {c_name(x)}" for name, x in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {found}")
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for i in range(input1.ndim - 1):
        if input1.shape[i] != input2.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {input1.shape[i]} and "
                f"{input2.shape[i]}"
            )
    if weight.ndim < 3:
        low, high = -weight.ndim, weight.ndim - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {weight.ndim})")
    for n, x in ((1, input1), (2, input2)):
        if x.shape[-1] != weight.shape[n]:
            raise RuntimeError(
                f"bilinear(): input{n} size does not match weight size: got {x.shape[-1]} but expected "
                f"{weight.shape[n]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    if input1.dtype == jnp.bool_:
        raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
    out = jnp.einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias
