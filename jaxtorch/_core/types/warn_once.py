"""Warnings as PyTorch gives them: at the user's line, and many of them once a process. What errors show of their past."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import jax

from .. import PACKAGE

_BETWEEN = (PACKAGE, "<jaxtorch", os.path.dirname(jax.__file__) + os.sep, contextlib.__file__)  # never the user's line
_said: set[str] = set()
_ALL_FRAMES = "frames" in os.environ.get("JAXTORCH_LOG", "")
_USUAL = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)


def deprecated(text: str, category: type[Warning] = FutureWarning) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: each call of the function warns, at the user's line, and `__deprecated__` is the text, as PEP 702 has it."""

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            warn(text, category)
            return function(*args, **kwargs)

        called.__deprecated__ = text  # pyright: ignore[reportAttributeAccessIssue]
        return called

    return decorate


class Always:
    """`torch.set_warn_always`: are warnings that come once a process to come each time?"""

    on = False


def _depth() -> int:
    """The `stacklevel` for `warnings.warn` in the function that asks, at which the user's innermost frame is."""
    frame: Any = sys._getframe(2)
    level = 2
    while frame is not None:
        if not inside(frame):
            return level
        frame, level = frame.f_back, level + 1
    return level


def inside(frame: Any) -> bool:
    """Does the frame run code of the library's, and none of the user's?"""
    return frame is not None and frame.f_code.co_filename.startswith(_BETWEEN)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, at the line of the user's program that is running."""
    warnings.warn(text, category, stacklevel=_depth())


def once(text: str, category: type[Warning] = UserWarning, key: str = "") -> None:
    """Warn at the user's line, the first time only. key: what counts as the same warning, if not its text."""
    if (key or text) not in _said or Always.on:
        _said.add(key or text)
        warnings.warn(text, category, stacklevel=_depth())


def alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function called while the exception of a failed look-up is handled, which is not shown as the origin of its own.

    Its exceptions show the frames of its callers only, unless `JAXTORCH_LOG=frames`: what is below, in JAX too, traces an operation
    once for each type, and says nothing of the program.
    """

    @wraps(function)
    def called(*args: Any) -> Any:
        handled = sys.exc_info()[1]
        try:
            return function(*args)
        except Exception as error:
            link: BaseException | None = error
            while link is not None and link.__context__ is not handled:
                link = link.__context__
            if link is not None and handled is not None:
                link.__context__ = handled.__context__
            link = handled = None  # its traceback has this frame, which must not hold it in turn
            if _ALL_FRAMES or not isinstance(error, _USUAL):
                raise
            raise error.with_traceback(None)  # noqa: B904 - it is the same exception

    return called


def renamed(old: str, new: str) -> None:
    """An operation that PyTorch will remove: what to call instead."""
    once(f"{old} is deprecated in favor of {new} and will be removed in a future PyTorch release.")


def asarray_with_gradient() -> None:
    """`asarray` of a tensor that requires grad, without saying whether the result is to."""
    once(
        "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Give "
        "requires_grad=False to have the tensor without its history, or True, and this warning does not come."
    )


def scalar_with_gradient() -> None:
    """A tensor with a gradient becomes a Python number, and loses it."""
    once(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
        "tensor.detach() first."
    )
