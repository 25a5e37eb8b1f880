"""Which Python numbers an element type holds."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

from . import dtypes
from .op import common_type
from .tensor import Tensor
from .value import wrap_number

SCALAR_NAMES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t", "uint16": "uint16_t",
    "uint32": "uint32_t", "uint64": "uint64_t", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
    "float64": "double",
}  # fmt: skip
"""Element types in PyTorch's message about a number that does not fit."""
_SMALL = 127
"""Every type that is checked holds the numbers from -127 to 127."""
_PLAIN = (int, float)


@functools.cache
def _largest(dtype: dtypes.dtype) -> float:
    return float(jnp.finfo(dtype.np).max)


def check_number(value: Any, dtype: dtypes.dtype, to_infinity: bool = False) -> None:
    """RuntimeError where a Python number does not fit an element type. Unsigned types take negative integers, wrapping.

    to_infinity: types of half precision take numbers that are too large, as infinity: single elements do.
    """
    if dtype.is_complex or dtype is dtypes.bool_:
        return
    if isinstance(value, complex):
        if value.imag == 0:
            return check_number(value.real, dtype, to_infinity)
    elif dtype.is_floating_point:
        if (
            (to_infinity and dtype.itemsize == 2)
            or not math.isfinite(value)
            or -_largest(dtype) <= value <= _largest(dtype)
        ):
            return
    elif math.isfinite(value):
        info = np.iinfo(dtype.np)
        if (info.min or (0 if isinstance(value, float) else -info.max)) <= value <= info.max:
            return
    raise RuntimeError(f"value cannot be converted to type {SCALAR_NAMES.get(dtype.name, dtype.name)} without overflow")


def check_common(x: Any, operands: Iterable[Any], promoted: bool, to_infinity: bool) -> None:
    """RuntimeError where a number among an operation's arguments does not fit the type that it computes in: the common one
    of its operands, or that of the first."""
    if x.__class__ not in _PLAIN or -_SMALL <= x <= _SMALL:
        return
    avals = [t._value.aval if isinstance(t, Tensor) else wrap_number(t).aval for t in operands if t is not None]
    check_number(x, common_type(avals) if promoted else avals[0].dtype, to_infinity)
