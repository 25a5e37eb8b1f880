"""How deep the current module calls are nested. The engine runs pending work when the outermost one returns."""

from __future__ import annotations

from typing import Any

from ..run import capture
from ..types.device import default_device
from ..types.grad_mode import finished, state
from . import program

depth = 0
_left: Any = None  # the program that an evaluation left pending


def outermost_returned() -> None:
    """Run what an evaluation has recorded: without gradients nothing will be added that could share the program.

    One that is done in no time, on NumPy, waits for what is made of its result (an `argmax`), or for the next call of a module.
    """
    global _left
    if not state.grad and capture.active is None:
        current = default_device().slot.program
        if current is not None and program.is_quick(current):
            _left = current
        else:
            program.flush_all()


def outermost_entered() -> None:
    """Run what a finished backward pass has recorded before the next forward pass begins: at a call of a module, or, in a program
    without modules, at the first operation with a gradient.

    So gradient accumulation over many micro-batches holds one micro-batch's activations.
    """
    global _left
    finished.clear()
    current = default_device().slot.program
    if current is not None and (current.backwards or current is _left) and capture.active is None:
        program.flush(current)
    _left = None
