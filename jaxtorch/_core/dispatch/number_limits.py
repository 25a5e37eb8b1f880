"""Which Python numbers an element type holds."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..define.op import common_type, registry
from ..record.value_checks import flag
from ..tensor.tensor import Tensor
from ..types import dtypes
from ..types.value import BOOL, COMPLEX, FLOAT, INT, Value, check_long, python_number, wrap_number

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
    if isinstance(value, np.generic):
        value = python_number(value)
    check_long(value)
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


def check_common(x: Any, operands: Iterable[Any], promoted: bool, in_single: bool, to_infinity: bool = False) -> None:
    """RuntimeError where a number among an operation's arguments does not fit the type that it computes in: the common one
    of its operands, or that of the first. in_single: types of half precision are computed in float32."""
    if x.__class__ is not complex and (x.__class__ not in _PLAIN or -_SMALL <= x <= _SMALL):
        return
    avals = [t._value.aval if isinstance(t, Tensor) else wrap_number(t).aval for t in operands if t is not None]
    dtype = common_type(avals) if promoted else avals[0].dtype
    check_number(x, computed_in(dtype) if in_single else dtype, to_infinity)


_AS_NUMBERS = (BOOL, INT, FLOAT, COMPLEX)


def number_in_program(x: Tensor, operands: Iterable[Any], promoted: bool, in_single: bool) -> Value:
    """The value of a number that is given as a 0-d tensor, computed in the program instead of read: a captured call must not
    freeze it. Where it does not fit, as in `check_common`, the error is flagged."""
    avals = [t._value.aval if isinstance(t, Tensor) else wrap_number(t).aval for t in operands if t is not None]
    within = None if not avals else common_type(avals) if promoted else avals[0].dtype
    if within is not None and in_single:
        within = computed_in(within)
    value = registry["_number"].public(x, within)._value
    value.aval = _AS_NUMBERS[dtypes.category(value.aval.dtype)]  # of the type that operations take Python's numbers for
    return value


def computed_in(dtype: dtypes.dtype) -> dtypes.dtype:
    """float32 for types of half precision, others as they are."""
    return dtypes.float32 if dtype.is_floating_point and dtype.itemsize == 2 else dtype


def flag_overflow(value: Any, target: Any) -> Any:
    """From the body of an operation: the 0-d array as `target`; a RuntimeError is due where its element does not fit."""
    source, target = value.dtype, np.dtype(target)
    dtype = dtypes.from_numpy(target)
    if source == target or dtype is dtypes.bool_ or dtype.is_complex or source == np.bool_:
        return value.astype(target)
    bad = value.imag != 0 if jnp.iscomplexobj(value) else None
    real = value.real if jnp.iscomplexobj(value) else value
    floating = jnp.issubdtype(real.dtype, jnp.floating)
    limits: Any = jnp.finfo(target) if dtype.is_floating_point else np.iinfo(target)
    own: Any = jnp.finfo(real.dtype) if floating else np.iinfo(real.dtype)
    low = -limits.max if dtype.is_floating_point or (not limits.min and not floating) else limits.min
    if own.max > limits.max or own.min < low:
        wide = real.astype(np.float64) if floating or dtype.is_floating_point else real.astype(np.int64)
        beyond = (wide < float(low)) | (wide > float(limits.max)) if wide.dtype == np.float64 else (wide < int(low)) | (
            wide > int(limits.max)
        )  # fmt: skip
        if dtype.is_floating_point:
            beyond &= jnp.isfinite(wide)
        elif floating:
            beyond |= ~jnp.isfinite(wide)
        bad = beyond if bad is None else bad | beyond
    if bad is not None:
        flag(bad.astype(np.int64), _Unfit(dtype))
    return real.astype(target)


class _Unfit:
    """The error for a number that does not fit a type."""

    def __init__(self, dtype: dtypes.dtype) -> None:
        self.dtype = dtype

    def __call__(self, code: int) -> RuntimeError:
        name = SCALAR_NAMES.get(self.dtype.name, self.dtype.name)
        return RuntimeError(f"value cannot be converted to type {name} without overflow")
