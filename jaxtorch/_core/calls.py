"""How deep the current module calls are nested. The engine runs pending work when the outermost one returns."""

from __future__ import annotations

from . import capture, program
from .device import default_device
from .modes import finished, state

depth = 0


def outermost_returned() -> None:
    """Run what an evaluation has recorded: without gradients nothing will be added that could share the program."""
    if not state.grad and capture.active is None:
        program.flush_all()


def outermost_entered() -> None:
    """Run what a finished backward pass has recorded before the next forward pass begins: at a call of a module, or, in a program
    without modules, at the first operation with a gradient.

    So gradient accumulation over many micro-batches holds one micro-batch's activations.
    """
    finished.clear()
    current = default_device().slot.program
    if current is not None and current.backwards and capture.active is None:
        program.flush(current)
