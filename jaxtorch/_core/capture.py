"""The one call that is being captured for `torch.compile`, and what the engine tells it.

While a capture is active the engine keeps recording into one program: nothing flushes it, and whatever would need its
values breaks the capture instead, after which recording goes on as usual.
"""

from __future__ import annotations

import sys
from threading import get_ident
from typing import Any

active: Any = None
"""None, or the capture of the call that runs now; see `_compile/capturing.py`."""

ELSEWHERE = "another thread computes meanwhile"
"""Why a capture is broken by what another thread records: the call may well be captured another time."""

staging: Any = None
"""None, or the function of `torch.func` that is being traced whole; see `staging.py`."""


observer: Any = None
"""None, or the profiling function that watches what Python code the call runs; see `_compile/observing.py`."""


def overheard() -> None:
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


def breaks(reason: str) -> None:
    """Something happened that a captured program cannot do."""
    if active is not None:
        active.broke(reason)
