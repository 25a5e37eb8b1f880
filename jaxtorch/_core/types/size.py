"""`torch.Size`: the shape of a tensor."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, NoReturn, SupportsIndex, overload

import numpy as np


class Size(tuple[int, ...]):
    """A tuple of ints that knows its product; slices and sums of it are Sizes too."""

    __module__ = "jaxtorch"

    __slots__ = ()

    def __new__(cls, items: Iterable[Any] = ()) -> Size:
        made = tuple.__new__(cls, items)
        for i, n in enumerate(made):
            if n.__class__ is not int:
                return tuple.__new__(cls, _whole(list(made), i))
        return made

    def numel(self) -> int:
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: tuple[Any, ...]) -> Size:
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: tuple[Any, ...]) -> Size:
        return Size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


_NO_SIZES = (float, complex, str, bytes, list, tuple, dict)


def _whole(items: list[Any], first: int) -> list[Any]:
    """The items as ints, NumPy's and symbols as they are; TypeError where one is no whole number."""
    for i, n in enumerate(items[first:], first):
        kind = type(n)
        try:
            if n is None or isinstance(n, _NO_SIZES):
                raise TypeError
            if isinstance(n, bool) or (hasattr(kind, "dtype") and not isinstance(n, np.integer)):
                items[i] = operator.index(
                    n
                )  # a tensor or array with one number; a nested tensor has a symbol among its sizes
        except TypeError:
            raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{kind.__name__}')") from None
    return items


def as_size(items: Any, name: str, argument: str = "size") -> tuple[int, ...]:
    """Sizes, or one sequence of them, as ints. TypeError where one is no whole number."""
    if len(items) == 1 and isinstance(items[0], (tuple, list)):
        items = items[0]
    for i, s in enumerate(items):
        if type(s) is int and not -LONG <= s < LONG:
            refuse_long(name, argument, i)
    return tuple([s if type(s) is int else _size(s, name, argument, i) for i, s in enumerate(items)])


LONG = 1 << 63
"""Whole numbers from here on are too large for an argument, and so are those below its negative."""


def check_long(given: Any) -> Any:
    """`given`; ValueError for a whole number that is too large for an argument."""
    if type(given) is int and not -LONG <= given < LONG:
        raise ValueError("Overflow when unpacking long long")
    return given


def need_sizes(function: str, argument: str, given: Any, position: int = 0, alone: bool = False) -> Any:
    """`given`, where it is a tuple or list of ints, as PyTorch takes it for sizes or dimensions; TypeError where not.

    alone: one int will do. position: the argument's, to be told. Behind the first item, True counts as 1.
    """
    if isinstance(given, (tuple, list)):
        for place, item in enumerate(given):
            if type(item) is int:
                if not -LONG <= item < LONG:
                    refuse_long(function, argument, place)
            elif not (place and type(item) is bool) and _no_item(item):
                refuse_size(function, argument, position, place, item)
    elif type(given) is int and alone:
        check_long(given)
    elif (
        _no_whole_number(given)
        or isinstance(given, np.ndarray)
        or not (alone or hasattr(type(given), "__torch_function__"))
        or (not alone and hasattr(given, "_value"))
    ):
        where = f" (position {position})" * bool(position)
        raise TypeError(f"{function}(): argument '{argument}'{where} must be tuple of ints, not {kind_name(given)}")
    return given


def refuse_long(function: str, argument: str, place: int) -> NoReturn:
    """TypeError for a size (the one at `place`) that is too large for an argument."""
    raise TypeError(
        f"{function}(): argument '{argument}' failed to unpack the object at pos {place + 1} with error "
        '"Overflow when unpacking long long"'
    )


def refuse_size(function: str, argument: str, position: int, place: int, item: Any) -> NoReturn:
    """TypeError for an item (the one at `place`) that is no size."""
    where, kind = f" (position {position})" * bool(position), kind_name(item)
    if place:
        raise TypeError(
            f"{function}(): argument '{argument}' failed to unpack the object at pos {place + 1} with error "
            f'"type must be tuple of ints,but got {kind}"'
        )
    raise TypeError(
        f"{function}(): argument '{argument}'{where} must be tuple of ints, but found element of type {kind} at pos 0"
    )


def kind_name(given: Any) -> str:
    """The name of a value's class in messages; NumPy's have their module's before it."""
    kind = type(given)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _no_item(given: Any) -> bool:
    """Is it none of the items of a tuple of sizes, among which an array of NumPy's may stand that is one whole number?"""
    if isinstance(given, np.ndarray):
        return given.ndim != 0 or not np.issubdtype(given.dtype, np.integer)
    return _no_whole_number(given)


def _no_whole_number(given: Any) -> bool:
    kind = type(given)
    if hasattr(kind, "_value"):  # a tensor: any single whole number
        return given.dtype.is_floating_point or given.dtype.is_complex or given.numel() != 1
    if hasattr(kind, "__torch_function__"):  # what asks to be asked
        return False
    if isinstance(given, np.ndarray):  # one whole number in an array without dimensions
        return bool(given.ndim) or given.dtype.kind not in "iu"
    return isinstance(given, (bool, np.bool_)) or not hasattr(kind, "__index__")


def _size(given: Any, name: str, argument: str, place: int) -> int:
    try:
        if isinstance(given, bool) and not place:
            raise TypeError
        return given.__index__()
    except (AttributeError, TypeError):
        pass
    return refuse_size(name, argument, 1, place, given)


def one_by_one(op: str, dim: Any, more: tuple[Any, ...]) -> tuple[int, ...]:
    """Dimensions that were given one by one; TypeError where one of them is no whole number."""
    dims = (dim, *more)
    for n, d in enumerate(dims, 1):
        if isinstance(d, (tuple, list, float, str)) or d is None:
            raise TypeError(f"{op}(): argument 'dim' (position {n}) must be int, not {type(d).__name__}")
    return dims
