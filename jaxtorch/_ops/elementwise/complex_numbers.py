"""Complex numbers: building them from parts, angles, and conjugates in memory of their own."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

from ..._core.define.op import Array, function, inner_op, op
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.types import dtypes
from ..common.rules import derivatives, kind, scalar_name, to_float, unbroken, zeros_mask


def _check_parts(first: Any, second: Any) -> None:
    names = [x.dtype.name for x in (first, second)]
    if any(n not in ("float16", "float32", "float64") for n in names):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{scalar_name(first)} and {scalar_name(second)}"
        )
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {scalar_name(first)} but got scalar type {scalar_name(second)} "
            "for second argument"
        )
    if names[0] == "float16":
        raise dtypes.no_storage(dtypes.complex32)


@op(method=False, elementwise=True, check=_check_parts, broadcast=True, saved={"real": "real", "imag": "imag"})
def complex(real: Array, imag: Array):
    """`real + 1j * imag`, broadcast; both float32 or both float64."""
    return lax.complex(*jnp.broadcast_arrays(real, imag))


@op(method=False, elementwise=True, check=_check_parts, broadcast=True, saved=["result"], unsaved=["abs", "angle"])
def polar(abs: Array, angle: Array):
    """The complex number of that magnitude and angle, broadcast; both float32 or both float64."""
    size, turn = jnp.broadcast_arrays(abs, angle)
    return lax.complex(size * jnp.cos(turn), size * jnp.sin(turn))


@op(elementwise=True, saved=["input"])
def angle(input: Array):
    """The angle of each element in radians; for real numbers 0 or pi (NaN stays)."""
    if kind(input) == "complex":
        return _angle(input)
    x = unbroken(to_float(input))
    return jnp.where(jnp.isnan(x), x, jnp.where(x < 0, math.pi, 0).astype(x.dtype))


def _turn(t: Any, ans: Any, z: Any) -> Any:
    square = z.real * z.real + z.imag * z.imag
    slope = (z.real * t.imag - z.imag * t.real) / jnp.where(square == 0, 1, square)
    return zeros_mask(square != 0, slope)


@derivatives(_turn)
def _angle(z: Any) -> Any:
    return lax.atan2(z.imag, z.real)


@op(function=False, method=False, elementwise=True, grad="ConjPhysicalBackward0")
def _conj_physical(input: Array):
    """The complex conjugate, in memory of its own."""
    return jnp.conj(input) if kind(input) == "complex" else input


@inner_op(elementwise=True, inplace="conj_physical_", grad="ConjPhysicalBackward1")
def _conj_physical_here(input: Array):
    return jnp.conj(input) if kind(input) == "complex" else input


@function("conj_physical", method=True)
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, in memory of its own; a real tensor is returned itself."""
    if type(input) is not Tensor:
        need_tensor(input, "conj_physical", "input")
    if out is None and not input._value.aval.dtype.is_complex:
        return input
    return _conj_physical(input, out=out)


function("conj_physical_")(_conj_physical_here.inplace)
