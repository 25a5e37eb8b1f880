"""Checks, and functions on sizes that may be symbols in PyTorch and are numbers here."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.dispatch.torch_function import ask, overrides
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes

__all__ = ["SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt",
           "sym_sum"]  # fmt: skip


class SymInt:
    """A size that is not known. There is none."""

    __module__ = "jaxtorch"


class SymFloat:
    """A number that is not known. There is none."""

    __module__ = "jaxtorch"


class SymBool:
    """A truth that is not known. There is none."""

    __module__ = "jaxtorch"


def sym_int(a: Any) -> int:
    """`int(a)`."""
    return math.trunc(a) if isinstance(a, float) else int(a)


def sym_float(a: Any) -> float:
    """`float(a)`."""
    return float(a)


def _need_numbers(a: Any, b: Any) -> None:
    for given in (a, b):
        if not isinstance(given, (int, float, np.integer, np.floating)):
            raise AssertionError(f"expected a number, got {type(given)}")


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float where one of them is."""
    _need_numbers(a, b)
    found = builtins.max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float where one of them is."""
    _need_numbers(a, b)
    found = builtins.min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_not(a: Any) -> bool:
    """`not a`."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`, which are of one type."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)


def sym_sum(args: Any) -> Any:
    """The sum."""
    return sum(args)


def _assert(condition: Any, message: Any) -> None:
    """AssertionError unless the condition, which may be a tensor, is true."""
    if type(condition) is not Tensor and overrides(type(condition)):
        return ask(_assert, [condition], (condition, message), {})
    if not condition:
        raise AssertionError(message)


def _check_with(error: type[Exception], cond: Any, message: Callable[[], Any] | str | None) -> None:
    """An error of the given kind unless the condition holds. message: text, or a function that makes it."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        text = (
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
        )
        raise error(text + "enhancement request to PyTorch.)")
    raise error(str(message() if callable(message) else message))


def _check(cond: Any, message: Any = None) -> None:
    """RuntimeError unless the condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """IndexError unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """ValueError unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """TypeError unless the condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    """NotImplementedError unless the condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """RuntimeError unless the number is not negative, nor larger than `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error: type[Exception], cond: Any, message: Any = None) -> None:
    """An error of the given kind unless all elements are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error, bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """RuntimeError unless all elements are true."""
    _check_tensor_all_with(RuntimeError, cond, message)
