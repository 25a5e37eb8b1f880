"""`Value`, the immutable content of a tensor, and `Aval`, its type."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from . import dtypes
from .device import DeviceSlot, cpu
from .size import Size


class Aval:
    """Shape, element type and device of a value. Interned, so that comparing and hashing is by identity.

    `wrapped` marks a Python number: a 0-dimensional operand of the lowest promotion priority, which enters a program as
    an input so that a number that varies (a learning rate) never makes a new program.
    """

    __slots__ = ("shape", "size", "dtype", "slot", "wrapped", "ndim", "numel", "struct")

    shape: tuple[int, ...]
    size: Size
    dtype: dtypes.dtype
    slot: DeviceSlot
    wrapped: bool
    ndim: int
    numel: int
    struct: jax.ShapeDtypeStruct

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}" + (" wrapped" if self.wrapped else f" on {self.slot.name}")


_avals: dict[tuple[Any, ...], Aval] = {}


def aval_of(shape: tuple[int, ...], dtype: dtypes.dtype, slot: DeviceSlot, wrapped: bool = False) -> Aval:
    """The interned type of values with this shape, element type and device."""
    key = (shape, dtype, slot, wrapped)
    found = _avals.get(key)
    if found is None:
        if dtype.np is None:
            raise dtypes.no_storage(dtype)
        if math.prod(shape) * dtype.itemsize >= 1 << 63:  # XLA would end the process
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
        shape = tuple(
            [int(n) if isinstance(n, (bool, np.integer)) else n for n in shape]
        )  # others will be given this one
        found = Aval()
        found.shape, found.dtype, found.slot, found.wrapped = shape, dtype, slot, wrapped
        found.size, found.ndim, found.numel = Size(shape), len(shape), math.prod(shape)
        found.struct = jax.ShapeDtypeStruct(shape, dtype.np)
        found = _avals.setdefault((shape, dtype, slot, wrapped), found)  # another thread may have been quicker
    return found


VIEW, WHOLE, DETACHED = range(3)
"""Kinds of guards."""


class Value:
    """Content that never changes: an array, or the promise of one in a program that has not run.

    array:   a `jax.Array`, a NumPy array that nobody writes, a Python number (wrapped), or None while pending.
    program: the program that knows this value, as input or as result; `slot` is its place there.
    guard:   None, or what backward must heed before it reads this value: (version cell, version of this value, kind, layout),
             for a VIEW's value from the start, for a WHOLE once its tensor has been written in place or its memory shared
             with NumPy, for a DETACHED one from `detach_()` on; or, once the memory has been written through `.data`, the
             value that is there now.
    owned:   an XLA program made the buffer and nothing outside the engine has seen it, so it may be donated.
    pack:    the array that holds this value and others, at place `part`, while it has no array of its own (run/state_packing.py).
    """

    __slots__ = ("aval", "array", "program", "slot", "guard", "owned", "pack", "part", "fine", "fails", "tangent",
                 "__weakref__")  # fmt: skip

    part: int
    fine: Any  # what its numbers were last found to hold: see record/value_checks.py and `Places`
    fails: Any  # (run, slot), set where the program that made it may have failed: see record/deferred_errors.py

    tangent: Any  # pairs (dual level, tensor), set only while such a level is open; see transforms/forward_mode.py

    def __init__(self, aval: Aval, array: Any = None) -> None:
        self.aval = aval
        self.array = array
        self.program: Any = None
        self.slot = -1
        self.guard: Any = None
        self.owned = False
        self.pack: Any = None

    def __repr__(self) -> str:
        return f"Value({self.aval}, {'pending' if self.array is None else 'concrete'})"


def same_content(value: Value) -> Value:
    """Another value with the content of this one, which is not pending."""
    return marked_as(value, Value(value.aval, value.array))


def marked_as(value: Value, made: Value) -> Value:
    """A value whose content was taken from another's on the host: what that one fails with, this one does."""
    if (mark := getattr(value, "fails", None)) is not None:
        made.fails = mark
    return made


class Mapped:
    """In the place of a value's array: one example each, at this level, of another value (transforms/vmap.py)."""

    __slots__ = ("level", "value")

    def __init__(self, level: Any, value: Value) -> None:
        self.level, self.value = level, value

    @property
    def shape(self) -> tuple[int, ...]:
        """That of one example."""
        return self.value.aval.shape[1:]

    @property
    def dtype(self) -> Any:
        """NumPy's element type."""
        return self.value.aval.dtype.np


FLOAT = aval_of((), dtypes.float64, cpu.slot, True)
INT = aval_of((), dtypes.int64, cpu.slot, True)
UNSIGNED = aval_of((), dtypes.uint64, cpu.slot, True)
BOOL = aval_of((), dtypes.bool_, cpu.slot, True)
COMPLEX = aval_of((), dtypes.complex128, cpu.slot, True)
_WRAPPED = {float: FLOAT, int: INT, bool: BOOL, complex: COMPLEX}


def python_number(number: Any) -> Any:
    """The Python number that PyTorch takes a NumPy number for: an int, a float (for flags and short complex numbers too) or a
    complex one. What is no NumPy number comes back as it is, or as the one number that it holds."""
    if not isinstance(number, np.generic):
        return number.item() if hasattr(number, "item") else number
    return (
        int(number)
        if isinstance(number, np.integer)
        else number.item()
        if isinstance(number, complex)
        else float(number)
    )  # pyright: ignore[reportArgumentType]


def wrap_number(number: Any) -> Value:
    """The value of a Python (or NumPy) number."""
    aval = _WRAPPED.get(type(number))
    if aval is None:
        number = python_number(number)
        aval = _WRAPPED.get(type(number))
        if aval is None:
            for kind, aval in ((bool, BOOL), (int, INT), (float, FLOAT), (complex, COMPLEX)):
                if isinstance(number, kind):
                    return Value(aval, kind(number))  # pyright: ignore[reportArgumentType]
            raise TypeError(f"expected a Tensor or a number, but got {type(number).__name__}")
    if aval is INT and not -(2**63) <= number < 2**63:
        check_long(number)
        aval = UNSIGNED
    return Value(aval, number)


def check_long(number: Any) -> None:
    """OverflowError for a whole number of more than 64 bits; from 2**63 to 2**64 it is taken for an unsigned one."""
    if isinstance(number, int) and not -(2**63) <= number < 2**64:
        raise OverflowError("int too big to convert" if number > 0 else "can't convert negative int to unsigned")
