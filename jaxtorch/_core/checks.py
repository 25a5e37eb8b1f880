"""Errors that only the data can show (an index out of range): raised at the next synchronisation.

A kernel with checks returns, behind its outputs, one int64 scalar a check: 0 where all is well. They are outputs of the
program; `raise_pending` reads them once a value has been waited for, and raises PyTorch's exception.

Where the indices are on the host already, as the class numbers of a batch are, looking at them takes less than the flag would:
`foreseen` does, and the error is raised where the operation is called.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from . import capture, hostmode
from .entry import Kernel
from .transfer import fetched
from .value import Value

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
waiting = True
"""Are errors with `at_once` waited for? The sweep over `op_db` says no: it records many samples before it reads one."""
_pending: list[tuple[Value, Callable[[int], Exception], Place]] = []


class collecting:
    """Context around the tracing of a body: the list of the flags it raises, as (code, message maker, `Within` or None)."""

    def __enter__(self) -> list[tuple[Any, Any, Any]]:
        _tracing.lists.append([])
        return _tracing.lists[-1]

    def __exit__(self, *exc: Any) -> None:
        _tracing.lists.pop()


class _Tracing(threading.local):
    """The lists that bodies being traced add to, innermost last."""

    def __init__(self) -> None:
        self.lists: list[list[tuple[Any, Any, Any]]] = []


_tracing = _Tracing()


class Within(NamedTuple):
    """That all elements of an operation's parameter are from `low` to below `high`, or are `besides`."""

    name: str
    low: int
    high: int
    besides: int | None = None

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Is it so?"""
        if not array.size or (array.min() >= self.low and array.max() < self.high):
            return True
        return self.besides is not None and bool(
            (((array >= self.low) & (array < self.high)) | (array == self.besides)).all()
        )


class Bounds(NamedTuple):
    """That the first element of an operation's parameter is `first`, and its last one at most `last`; None: whatever it is."""

    name: str
    first: int | None = None
    last: int | None = None

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Is it so?"""
        if not array.size:
            return True
        return (self.first is None or array.flat[0] == self.first) and (
            self.last is None or array.flat[-1] <= self.last
        )


class Total(NamedTuple):
    """That the elements of an operation's parameter add up to `total`."""

    name: str
    total: int

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Is it so?"""
        return int(array.sum()) == self.total


class Nonzero(NamedTuple):
    """That no element of an operation's parameter is 0, in the type that the operation computes in."""

    name: str
    kind: Any

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Is it so? 256 is 0 as a uint8."""
        return bool(array.astype(self.kind).all())


def flag(code: Any, make: Callable[[int], Exception], within: Within | Bounds | Total | Nonzero | None = None) -> None:
    """From the body of an operation: report that the data is bad where `code`, an int64 scalar, is not 0.

    `make(code)` builds PyTorch's exception. Encode an offending number so that 0 stays free for 'all is well'.
    With the attribute `at_once` the error is waited for where the operation is called: programs catch it there.
    within: the same in other words: `code` is 0 just where it holds.
    """
    if _tracing.lists:
        _tracing.lists[-1].append((code, make, within))


SMALL = 4096
"""Elements up to which indices are looked at on the host."""


def guards(flags: list[tuple[Any, Any, Any]], names: list[str]) -> list[Any] | None:
    """What must hold of a kernel's inputs, whose names these are, so that none of its flags is raised: (position, `Within`, maker)
    for each; None where that is not known."""
    known = [within is not None and within.name in names for _, _, within in flags]
    return [(names.index(within.name), within, make) for _, make, within in flags] if all(known) else None


def foreseen(kernel: Kernel, values: list[Value]) -> bool | None:
    """Will all flags of a kernel be 0 for these values? None where only running it can tell."""
    if capture.active is not None or hostmode.active:
        return None
    for position, within, _ in kernel.guards:
        v = values[position]
        fine = getattr(v, "fine", None)
        if fine is not within and fine != within:
            array = np.asarray(v.array) if v.aval.wrapped else v.array
            if type(array) is not np.ndarray or array.size > SMALL:
                return None
            if not within.holds(array):
                return False
            v.fine = within
    return True


def user_line() -> str:
    """'file:line' of the innermost frame outside this package."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and not name.startswith("<jaxtorch"):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "<unknown>"


class Place(NamedTuple):
    """Where an operation was called: 'file:line', and for a program's first such operation (it takes some microseconds to find
    out) what was running there that may catch exceptions: innermost first, a frame's number, its code, how far it had come."""

    line: str
    frames: tuple[tuple[int, CodeType, int], ...] = ()


def running() -> tuple[tuple[int, CodeType, int], ...]:
    """The `frames` of a `Place`."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        code, outer = frame.f_code, frame.f_back
        if code.co_exceptiontable or outer is None:
            found.append((id(frame), code, frame.f_lasti))
        frame = outer
    return tuple(found)


def _handler(code: CodeType, at: int) -> int | None:
    """Where an exception raised at this instruction goes on, in the same code; None where this Python does not tell."""
    import dis  # which only errors need

    table = getattr(dis, "_parse_exception_table", lambda _: ())(code)
    return next((e.target for e in table if e.start <= at < e.end), None)


class _Abandoned:
    """What an exception raised here ends: all that has run since the innermost `try` or `with` of the program was entered."""

    def __init__(self) -> None:
        self.frame, self.code, self.target = 0, None, None
        for frame, code, at in running():
            if not code.co_filename.startswith((_PACKAGE, "<jaxtorch")):
                self.frame, self.code, self.target = frame, code, _handler(code, at)
                if self.target is not None:
                    break

    def __contains__(self, where: Place) -> bool:
        for frame, code, at in where.frames:
            if frame == self.frame and code is self.code:  # the number of a frame that is gone is given out again
                seen: list[int | None] = [_handler(code, at)]
                while (
                    seen[-1] is not None and seen[-1] not in seen[:-1]
                ):  # the end of a `with` may be inside that `try`
                    seen.append(_handler(code, seen[-1]))
                return self.target in seen
        return False


def add(flags: list[tuple[Value, Any, Place]]) -> None:
    """Remember the flags of a program that has been started; drop those already known to be fine."""
    full = len(_pending) > 64
    _pending.extend(flags)
    if full:
        raise_pending(oldest=32)  # long finished: nothing is waited for


def raise_pending(oldest: int | None = None) -> None:
    """Raise the first error that a program has flagged (one of the `oldest` flags).

    Those of later lines stay for the next call, but for what this exception ends: there a program would not have come to them.
    """
    if not _pending:
        return
    flags = _pending[:oldest]
    del _pending[:oldest]
    for position, (value, make, where) in enumerate(flags):
        array = value.array
        if array is None:
            continue  # its program failed
        code = int(fetched(array))
        if code:
            _pending[:] = _remaining(flags[: position + 1], [*flags[position + 1 :], *_pending])
            error = make(code)
            if where.line and error.args and not getattr(make, "at_once", False):
                error.args = (f"{error.args[0]}\n(the operation was called at {where.line})", *error.args[1:])
            raise error


def _remaining(looked_at: list[Any], rest: list[Any]) -> list[Any]:
    """What stays of `rest` where the last of `looked_at` is raised."""
    line = looked_at[-1][2].line
    while rest and rest[0][2].line == line:  # what else is wrong there: that call would have ended with the first error
        looked_at.append(rest.pop(0))
    abandoned, ended, kept = _Abandoned(), False, []
    for i, flag in enumerate(looked_at + rest):
        if flag[2].frames:
            ended = flag[2] in abandoned  # and so are the others of its program, which came after it
        if i >= len(looked_at) and not ended:
            kept.append(flag)
    return kept


def forget() -> None:
    """Drop all flags unread: for tests, where one test's error must not surface in the next."""
    _pending.clear()


class _Failing:
    """Standard output after such an error: Python ends with status 120 where its last flush fails."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def flush(self) -> None:
        self.stream.flush()
        try:
            sys._getframe(1)
        except ValueError:  # called by Python as it ends, not by a program
            sys.unraisablehook = lambda _: None  # it has been told already
            raise RuntimeError("the script ended with an error that jaxtorch found in its data") from None


def report_at_exit() -> None:
    """Show the errors that a script which never read a value again has left, as Python shows those that nobody caught.

    The exit status becomes 120: an exit function cannot choose another.
    """
    from .device import _slots
    from .program import flush

    failed = False
    for slot in list(_slots.values()):
        for program in (slot.closing, slot.program):
            if program is not None and program.checks:
                flush(program)
    while _pending:
        try:
            raise_pending()
        except Exception as error:
            failed = True
            sys.excepthook(type(error), error, error.__traceback__)
    if failed and sys.stdout is not None:
        sys.stdout = _Failing(sys.stdout)


atexit.register(report_at_exit)
