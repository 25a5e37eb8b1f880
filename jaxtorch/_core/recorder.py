"""The common case of recording in C, where that was built: `program.emit` and `tensor.finish` ask `native/recorder.c` first.

It writes the slots of the engine's objects itself: an operation costs half of what it did, with a gradient two fifths. Anything
unusual it leaves to the Python code, having changed nothing. `JAXTORCH_NATIVE=0` leaves it out, as the kernels.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from . import capture, modes, program, runner, tensor
from .device import DeviceSlot
from .entry import Entry, Kernel
from .gradient import GradForm
from .tape import Node
from .value import Value

VERSION = 2  # of recorder.c; what was built from another is not used

_CLASSES: tuple[type, ...] = (Value, program.Program, Kernel, Entry, GradForm, Node, tensor.Tensor, DeviceSlot)


def begin() -> bool:
    """Record through C from now on; False where that is not possible."""
    if program.IMMEDIATE or os.environ.get("JAXTORCH_NATIVE", "") == "0":
        return False
    try:
        made: Any = importlib.import_module("jaxtorch._core.native.recorder")
        if made.VERSION != VERSION:
            return False
        made.begin(
            {
                **{kind.__name__: kind for kind in _CLASSES},
                "plain": tuple(runner.PLAIN),
                "threads": program._threads,
                "capture": capture.__dict__,
                "emit": program.emit,
                "watch": modes.watch,
                "finished": modes.finished,
                "inferring": modes.inferring,
                "is_inference": tensor.is_inference,
                "state": modes.state,
                "counter": program.counter,
            }
        )
    except (ImportError, TypeError):  # not built, or for other classes
        return False
    program.record_in_c, tensor.finish_in_c = made.record, made.finish
    return True
