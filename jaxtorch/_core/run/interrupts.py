"""Ctrl-C while a program runs: it waits until the results are where they belong.

A program takes over the memory of what it replaces (parameters, momenta). An interrupt between its run and the handing out of its
results would leave a model without content. So SIGINT's handler is exchanged for the time; a second Ctrl-C does not wait.
"""

from __future__ import annotations

import importlib
import signal
import threading
from typing import Any

_INTERRUPT = int(signal.SIGINT)
_signal = importlib.import_module("_signal")  # without the enumerations of `signal`, which take three times as long
_main = threading.main_thread().ident
_pressed: list[int] = []

ERRORS = (
    ArithmeticError, AssertionError, AttributeError, BufferError, ImportError, LookupError, MemoryError, NameError, RuntimeError,
    SyntaxError, TypeError, ValueError, Warning,
)  # fmt: skip
"""What a program raises by itself. Other exceptions come from outside: from a signal's handler that ends what takes too long."""


def from_outside(error: BaseException) -> bool:
    """Does this exception say nothing of the program in which it was raised, so that it may run again?"""
    return isinstance(error, RecursionError) or not isinstance(error, ERRORS)


def _later(signum: int, frame: Any) -> None:
    _pressed.append(signum)  # not the frame, which would keep its tensors
    if len(_pressed) > 1:
        raise KeyboardInterrupt


def hold() -> Any:
    """From now on Ctrl-C waits. Returns what `release` wants: None in other threads, which it does not reach, and where its handler
    is not Python's."""
    if threading.get_ident() != _main or _signal.getsignal(_INTERRUPT) is None:
        return None
    return _signal.signal(_INTERRUPT, _later)


def release(handler: Any) -> None:
    """Ctrl-C has its handler again, which is called if it was pressed meanwhile. `handler`: what `hold` returned."""
    if handler is None:
        return
    _signal.signal(_INTERRUPT, handler)
    if _pressed and handler is not _later:
        _pressed.clear()
        signal.raise_signal(signal.SIGINT)
