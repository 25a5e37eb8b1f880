"""What was compiled, why, and how long it took: `JAXTORCH_LOG=compile` and `jaxtorch.explain_recompiles()`.

A program is named by the line of the user's code that caused it to run (a step, an `item()`, ...). When a line causes a new
structure, it is compared with the last one from the same line, and the first difference is the cause.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import deque
from dataclasses import dataclass
from typing import Any

from .except_handlers import user_line

logger = logging.getLogger("jaxtorch")
logger.setLevel(
    logging.WARNING
)  # whatever level the program gives the root: its own log is not for what is compiled here
if "compile" in os.environ.get("JAXTORCH_LOG", ""):
    logger.setLevel(logging.INFO)
    _handler = logging.StreamHandler(sys.stderr)
    _handler.setFormatter(logging.Formatter("[jaxtorch] %(message)s"))
    logger.addHandler(_handler)

RESTLESS = int(os.environ.get("JAXTORCH_WARN_AFTER", "16"))
"""A source line that has caused this many new structures is worth a line of its own in the log."""


class Counts:
    """How many structures were seen and programs compiled since the process began."""

    structures = 0
    compiled = 0
    seconds = 0.0


@dataclass
class Recompile:
    """One new program structure.

    line: where in the user's code it ran; cause: the first difference from the last new structure there;
    instructions: its length;
    seconds: the time its whole compilation took (both, where it was compiled quickly first), 0 while it has not been compiled whole.
    """

    line: str
    cause: str
    instructions: int
    seconds: float = 0.0

    def __str__(self) -> str:
        took = f"compiled in {self.seconds:.2f} s" if self.seconds else "not compiled whole"
        return f"{self.line}: {self.cause} ({self.instructions} instructions, {took})"


_history: deque[Recompile] = deque(maxlen=10_000)
_last: dict[str, Any] = {}
_times: dict[str, int] = {}


def new_structure(structure: Any) -> None:
    """A program structure has been seen for the first time."""
    Counts.structures += 1
    line, plan = user_line(), structure.plan
    record = Recompile(line, _cause(_last.get(line), plan), len(plan.steps))
    _last[line] = plan
    _history.append(record)
    structure.record = record
    times = _times[line] = _times.get(line, 0) + 1
    logger.info("new program at %s", record)
    if times == RESTLESS:
        logger.info(
            "%s has caused %d different programs so far; the last change: %s. Each new one runs operation by operation; "
            "jaxtorch.explain_recompiles() lists them.",
            line,
            times,
            record.cause,
        )


def compiled(structure: Any, seconds: float, quickly: bool) -> None:
    """A structure has been compiled whole: `quickly`, or in full."""
    Counts.compiled += 1
    Counts.seconds += seconds
    structure.record.seconds += seconds
    logger.info("compiled a program of %d instructions %s in %.2f s (%s)", len(structure.plan.steps),
                "quickly" if quickly else "in full", seconds, structure.record.line)  # fmt: skip


def _cause(before: Any, after: Any) -> str:
    if before is None:
        return "first program here"
    for i, ((a, slots_a, _), (b, slots_b, _)) in enumerate(zip(before.steps, after.steps, strict=False)):
        if a is not b:
            if a.name != b.name:
                return f"instruction {i} was {a.name}, now {b.name}"
            if a.in_avals != b.in_avals:
                old, new = _types(a.in_avals), _types(b.in_avals)
                return f"instruction {i}, {a.name}: operands were {old}, now {new}"
            return f"instruction {i}, {a.name}: its static arguments changed"
        if slots_a != slots_b:
            return f"instruction {i}, {a.name}: reads other values than before"
    if len(before.steps) != len(after.steps):
        return f"{len(before.steps)} instructions before, {len(after.steps)} now"
    if before.live != after.live:
        return "other results are still in use when the program runs"
    return "other inputs can be overwritten"


def _types(avals: Any) -> str:
    return ", ".join(f"{a.dtype.name}{list(a.shape)}" for a in avals)


def explain_recompiles() -> list[Recompile]:
    """The program structures met so far, in order: the line that caused each, why, and its compile time in seconds.

    Of a process that has met more than 10,000, the latest 10,000.
    """
    return list(_history)
