"""Errors of JAX, NumPy and Python that an operation's body lets out: PyTorch's of such arguments are RuntimeErrors."""

from __future__ import annotations

import opcode
import os
from types import TracebackType
from typing import Any

_HOME = os.path.dirname(os.path.dirname(__file__)) + os.sep
_LIBRARIES = tuple(f"{os.sep}{name}{os.sep}" for name in ("jax", "numpy", "ml_dtypes", "opt_einsum"))
_RAISES = opcode.opmap["RAISE_VARARGS"]
_OF_CALLS = (
    "unexpected keyword argument",
    "required positional argument",
    "positional argument but",
    "positional arguments but",
)
"""What Python says of a call that does not fit a signature."""
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
        raise RuntimeError(f"{name}(): {error}") from error


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
        if not name.startswith((_HOME, "<")) and not any(part in name for part in _LIBRARIES):
            return False  # a program's, which JAX calls
        last, at = at, at.tb_next
    if last is None:
        return False
    code = last.tb_frame.f_code
    return not code.co_filename.startswith((_HOME, "<jaxtorch")) or code.co_code[last.tb_lasti] != _RAISES
