"""The one call that is being captured for `torch.compile`, and what the engine tells it.

While a capture is active the engine keeps recording into one program: nothing flushes it, and whatever would need its
values breaks the capture instead, after which recording goes on as usual.
"""

from __future__ import annotations

import os
import sys
from threading import get_ident
from typing import Any

from .. import ENGINE, PACKAGE

_ASKING = os.path.join(ENGINE, "dispatch", "torch_function.py")
"""Whose frames stand between the user's code and a function, once functions ask classes with a `__torch_function__`."""

active: Any = None
"""None, or the capture of the call that runs now; see `_compile/capturing.py`."""

ELSEWHERE = "another thread computes meanwhile"
"""Why a capture is broken by what another thread records: the call may well be captured another time."""

staging: Any = None
"""None, or the function of `torch.func` that is being traced whole; see `transforms/staging.py`."""


observer: Any = None
"""None, or the profiling function that watches what Python code the call runs; see `_compile/observing.py`."""


def break_if_other_thread() -> None:
    """Break the capture that is active if another thread than its own records an operation: it would become a part of it."""
    if active is not None and active.thread != get_ident():
        active.broke(ELSEWHERE)


class unobserved:
    """Context of work that runs no code of the user's, such as tracing an operation: observed, it would take three times as long."""

    __slots__ = ("paused",)

    def __enter__(self) -> None:
        self.paused = observer is not None and sys.getprofile() is observer
        if self.paused:
            sys.setprofile(None)

    def __exit__(self, *error: object) -> None:
        if self.paused:
            sys.setprofile(observer)


class Unstaged(BaseException):  # not for the user's `except Exception`
    """The function that is being traced needs what only running it would give; the message says what."""


class Refusal(BaseException):  # not for the user's `except Exception`
    """A call under `torch.compile(fullgraph=True)` does what PyTorch's tracer does not take.

    reason: begins as PyTorch's message does. by_user: it is a UserError, not Unsupported.
    """

    def __init__(self, reason: str, by_user: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.by_user = reason, by_user


refusing: int = 0
"""The thread that is in a call under `torch.compile(fullgraph=True)` which runs as Python; 0 if none is."""

BRANCH = "Data-dependent branching"
GUARD = "Could not guard on data-dependent expression"
OPERATOR = "Data dependent operator"
BUILTIN = "Failed to trace builtin operator"
SKIPPED = "Attempted to call function marked as skipped"


def refuse_fullgraph(reason: str) -> None:
    """The call that runs does what PyTorch's tracer refuses: an error under `fullgraph=True`, and nothing otherwise."""
    if refusing and refusing == get_ident():
        raise Refusal(reason)


_NOTHING = ("CACHE", "NOP", "NOT_TAKEN", "RESUME")
_JUMPS = ("POP_JUMP_", "JUMP_IF_")


def refuse_branch(truth: bool) -> None:
    """A tensor has been asked for its truth (or has been read as a number) by the user's code. Refused where that code branches on it
    but for an assertion; PyTorch's tracer goes on where the value is only handed on."""
    if not refusing or refusing != get_ident():
        return
    frame: Any = sys._getframe(2)
    while frame.f_code.co_filename == _ASKING:
        frame = frame.f_back
    if frame.f_code.co_filename.startswith(("<jaxtorch", PACKAGE)):
        return
    after = _after(frame.f_code, frame.f_lasti)
    if truth:
        ahead = after[1:] if after[0].opname in ("TO_BOOL", "COMPARE_OP") else after
        name = ahead[0].opname if ahead else ""
        if name.startswith(_JUMPS):
            if _asserts(ahead):
                return
            raise Refusal(BRANCH)
        if name == "UNARY_NOT":
            raise Refusal(GUARD, True)
    if _decides(after[1:]):
        raise Refusal(GUARD, True)


def _after(code: Any, at: int) -> list[Any]:
    """The instructions of a function from a place on."""
    import dis

    return [i for i in dis.get_instructions(code) if i.offset >= at and i.opname not in _NOTHING][:12]


def _asserts(after: list[Any]) -> bool:
    """Is the branch that an assertion makes?"""
    return any(i.opname == "LOAD_ASSERTION_ERROR" or "AssertionError" in i.argrepr for i in after[:3])


_KEEPS = (
    "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "COMPARE_OP", "BINARY_OP", "UNARY_", "TO_BOOL",
)  # fmt: skip
"""Instructions that only compute with what is on the stack."""


def _decides(after: list[Any]) -> bool:
    """Does the code after a call compare what it gave, and branch on that?"""
    for k, i in enumerate(after):
        if i.opname.startswith(_JUMPS):
            return not _asserts(after[k:])
        if not i.opname.startswith(_KEEPS):
            return False
    return False


class Again:
    """How an optimizer's update gets its numbers in another step than the one that was captured.

    owner:  the optimizer, whose `_numbers(group, count)` gives (what is part of the program, the numbers).
    states: the parameters' states with a "step" that each step advances; empty for rules that do not count.
    static: what was part of the program when it was captured.
    counts: names of what is counted in the states; where that is more than the step, `_at` gives the numbers.
    """

    __slots__ = ("owner", "group", "states", "static", "counts")

    def __init__(
        self,
        owner: Any,
        group: dict[str, Any],
        states: list[dict[str, Any]],
        static: Any,
        counts: tuple[str, ...] = ("step",),
    ) -> None:
        self.counts = counts
        self.owner = owner
        self.group = group
        self.states = states
        self.static = static


def expose_memory(t: Any) -> None:
    """Somebody asks for the memory that a tensor is on. An argument that a captured call sees as a tensor of its own becomes the
    part of memory that it is again, and the call is not captured."""
    if active is not None and t._alias is not None:
        active.uncover(t._alias.storage)


def break_capture(reason: str, refused: bool = False) -> None:
    """Something happened that a captured program cannot do; refused: nor can PyTorch's tracer."""
    if refused:
        refuse_fullgraph(f"{SKIPPED}: {reason}")
    if active is not None:
        active.broke(reason)
