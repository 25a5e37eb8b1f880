"""Every kernel that is recorded, put before a function that may answer in its place: for selective checkpointing.

As with forward mode, nothing of this runs until it is wanted: `emit` gets other code while a context is open.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..compile.kernel import Kernel
from ..types.value import Value
from . import program

Run = Callable[[Kernel, list[Value], bool], list[Value]]
Ask = Callable[[Kernel, list[Value], Callable[[], list[Value]]], list[Value]]


def _exchanged(kernel: Any, values: Any, alone: bool = False) -> Any:
    return asked(kernel, values, alone)  # noqa: F821 # pyright: ignore[reportUndefinedVariable]


class intercepting_kernels:
    """Context in which `ask(kernel, values, run)` gives the outputs of a kernel; `run()` records it. Contexts may be nested."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    def __enter__(self) -> None:
        emit: Any = program.emit
        self.before = emit.__code__, getattr(program, "asked", None)
        if emit.__code__ is _exchanged.__code__:
            run: Any = self.before[1]
        else:
            run = types.FunctionType(emit.__code__, emit.__globals__, emit.__name__, emit.__defaults__)
        busy = False

        def asked(kernel: Kernel, values: list[Value], alone: bool) -> list[Value]:
            nonlocal busy
            if alone or busy:
                return run(kernel, values, alone)
            busy = True  # what the function itself computes is nobody's business
            try:
                return self.ask(kernel, values, lambda: run(kernel, values, alone))
            finally:
                busy = False

        program.asked = asked  # pyright: ignore[reportAttributeAccessIssue]
        emit.__code__ = _exchanged.__code__

    def __exit__(self, *exc: Any) -> None:
        program.emit.__code__, program.asked = self.before  # pyright: ignore[reportAttributeAccessIssue]
