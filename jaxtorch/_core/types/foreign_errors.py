"""Errors of JAX, NumPy and Python that an operation's body lets out: PyTorch's of such arguments are RuntimeErrors."""

from __future__ import annotations

import opcode
import os
import re
from types import TracebackType
from typing import Any

import jax

from .. import PACKAGE

_LIBRARIES = tuple(f"{os.sep}{name}{os.sep}" for name in ("jax", "numpy", "ml_dtypes", "opt_einsum"))
_PYTHON = os.path.dirname(os.__file__) + os.sep
_RAISES = opcode.opmap["RAISE_VARARGS"]
_OF_CALLS = (
    "unexpected keyword argument",
    "required positional argument",
    "positional argument but",
    "positional arguments but",
)
"""What Python says of a call that does not fit a signature."""
_OF_KINDS = (
    "has no len()",
    "is not iterable",
    "is not subscriptable",
    "must be real number, not",
    "cannot be interpreted as an integer",
    "not supported between instances of",
    "unsupported operand type(s)",
    "() argument must be",
)
"""What Python says of an object of an unexpected kind."""
_KINDS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError, NameError)


def refuse_foreign(
    name: str, error: BaseException, first: str = "", args: tuple[Any, ...] = (), complex_number: bool = False
) -> None:
    """Raise such an error of an operation as a RuntimeError, or a TypeError where its first argument is no tensor although its
    name says so, or a complex number was given that Python could not compare; return where it is none."""
    if is_foreign(error):
        if complex_number and isinstance(error, TypeError):
            raise TypeError(f"{name}(): {error}") from error
        if args and first == "input" and not hasattr(args[0], "_value"):
            raise TypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {type(args[0]).__name__}"
            ) from error
        if "tuple index out of range" in str(error):  # a dimension of an operand that has fewer
            raise IndexError(f"{name}(): Dimension out of range: a tensor has too few dimensions") from error
        kind = TypeError if _of_a_kind(error) else RuntimeError
        raise kind(f"{name.lstrip('_')}(): {error}") from error


def _of_a_kind(error: BaseException) -> bool:
    """Is it what Python says, in a line of jaxtorch, of an argument that is of another kind than that line takes it for?"""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    own = at is not None and at.tb_frame.f_code.co_filename.startswith((PACKAGE, "<jaxtorch"))
    return own and isinstance(error, TypeError) and any(text in str(error) for text in _OF_KINDS)


class OutOfMemoryError(RuntimeError):
    """A device has no memory left."""


OutOfMemoryError.__module__ = "torch"


def of_a_run(error: BaseException, place: str) -> RuntimeError | None:
    """PyTorch's error for what XLA or NumPy raised while a program ran on a device: a lack of memory, above all."""
    short = isinstance(error, MemoryError)
    if not short and not isinstance(error, jax.errors.JaxRuntimeError):
        return None
    text = str(error)
    if not short and not text.startswith("RESOURCE_EXHAUSTED") and "Out of memory" not in text:
        return RuntimeError(text)
    found = re.search(r"(\d+) bytes", text)
    if place == "cpu":
        size = f": you tried to allocate {found[1]} bytes" if found else f": {text}"
        return RuntimeError(f"DefaultCPUAllocator: can't allocate memory{size}. Error code 12 (Cannot allocate memory)")
    size = f" Tried to allocate {int(found[1]) / 2**30:.2f} GiB." if found else ""
    return OutOfMemoryError(f"CUDA out of memory.{size} {text}")


def is_foreign(error: BaseException) -> bool:
    """Does this error come out of a library below, or of Python in a line of jaxtorch, rather than from a `raise` here or in a
    program's own function?"""
    at: TracebackType | None = error.__traceback__
    if not isinstance(error, _KINDS) or at is None or at.tb_next is None:  # or of the call itself: too few arguments
        return False
    if isinstance(error, TypeError) and any(text in str(error) for text in _OF_CALLS):
        return False
    last: TracebackType | None = None
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if not (name.startswith((PACKAGE, "<")) or any(part in name for part in _LIBRARIES) or _is_python(name)):
            return False  # a program's, which JAX calls
        last, at = at, at.tb_next
    if last is None:
        return False
    code = last.tb_frame.f_code
    return not code.co_filename.startswith((PACKAGE, "<jaxtorch")) or code.co_code[last.tb_lasti] != _RAISES


def _is_python(file: str) -> bool:
    """Is it a file of Python's own library?"""
    return file.startswith(_PYTHON) and "-packages" + os.sep not in file
