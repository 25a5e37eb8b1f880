"""The common case of recording in C, where that was built: `program.emit`, `tensor.finish` and `program.flush` ask
`native/recorder.c` first, and modules have their common attributes and calls from it.

It writes the slots of the engine's objects itself: an operation costs half of what it did, with a gradient two fifths. Anything
unusual it leaves to the Python code, having changed nothing. `JAXTORCH_NATIVE=0` leaves it out, as the kernels.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from .. import native
from ..compile.kernel import Entry, Kernel
from ..graph.derivative import GradForm
from ..graph.nodes import Node
from ..host import forked, sample_memory, small_code, tiering
from ..record import deferred_errors, program
from ..run import capture, except_handlers, runner
from ..run.log import logger
from ..tensor import indexing, storage, tensor, views
from ..types import grad_mode
from ..types.device import DeviceSlot, cpu
from ..types.value import INT, VIEW, WHOLE, Aval, Value

VERSION = 10  # of recorder.c; what was built from another is not used

_CLASSES: tuple[type, ...] = (
    Value, Aval, program.Program, Kernel, Entry, GradForm, Node, tensor.Tensor, DeviceSlot, runner.Structure, runner.Plan,
    storage.Alias, storage.Storage, storage.Version,
)  # fmt: skip


def extension() -> Any:
    """What was built of recorder.c; None where that was not, or of another version."""
    if os.environ.get("JAXTORCH_NATIVE", "") == "0":
        return None
    try:
        made: Any = importlib.import_module("jaxtorch._core.native.recorder")
    except ImportError:
        return None
    return made if made.VERSION == VERSION else None


def missing() -> str:
    """Why nothing is recorded in C; '' where it is."""
    if program.record_in_c is not None:
        return ""
    if os.environ.get("JAXTORCH_NATIVE", "") == "0":
        return "left out by JAXTORCH_NATIVE=0"
    if program.IMMEDIATE:
        return "nothing is recorded with JAXTORCH_EXECUTION=immediate"
    try:
        made: Any = importlib.import_module("jaxtorch._core.native.recorder")
    except ModuleNotFoundError:
        return native.not_built("recorder")
    except ImportError as error:
        return f"it cannot be loaded: {error}"
    return "" if made.VERSION == VERSION else "built from another version of jaxtorch: install it again"


def parts() -> list[tuple[str, str]]:
    """The optional parts of jaxtorch, each with the reason why it is not used here ('': it is)."""
    return [("kernels in C++", native.missing()), ("recording in C", missing())]


def tell() -> None:
    """Say under `JAXTORCH_LOG=compile` what this installation lacks."""
    for what, why in parts():
        if why:
            logger.info("no %s: %s (`python -m jaxtorch.info` tells more)", what, why)


def begin() -> bool:
    """Record through C from now on; False where that is not possible."""
    made = None if program.IMMEDIATE else extension()
    if made is None:
        return False
    try:
        made.begin(
            {
                **{kind.__name__: kind for kind in _CLASSES},
                "plain": tuple(runner.PLAIN),
                "threads": program._threads,
                "capture": capture.__dict__,
                "hostmode": forked.__dict__,
                "emit": program.emit,
                "broken": program.broken,
                "seen": tiering.seen,
                "ran": deferred_errors.note_run,
                "failures": deferred_errors.__dict__,
                "watch": grad_mode.watch,
                "finished": grad_mode.finished,
                "inferring": grad_mode.inferring,
                "is_inference": tensor.is_inference,
                "state": grad_mode.state,
                "counter": program.counter,
                "neighbours": sample_memory._thread,
                "empty": np.empty,
                "float32": np.dtype(np.float32),
                "recipes": indexing.recipes,
                "alias_of": storage.alias_of,
                "asarray": np.asarray,
                "array": runner.ArrayImpl,
                "host_array": np.ndarray,
                "cpu": cpu.slot,
                "int": INT,
                "view": VIEW,
                "whole": WHOLE,
                "puts": views.puts,
            }
        )
    except TypeError:  # for other classes
        return False
    program.record_in_c, tensor.finish_in_c = made.record, made.finish
    program.run_in_c, program.known_in_c = made.run, made.known
    indexing.viewed_in_c, indexing.rows_in_c, views.several_in_c = made.viewed, made.rows, made.several
    views.put_in_c = made.put
    if made.KNOWS_FRAMES:
        except_handlers.look_with(made.standing)
    small_code.made_in_c = made
    return True


def end() -> None:
    """Record without C from now on."""
    program.record_in_c = tensor.finish_in_c = program.run_in_c = program.known_in_c = None
    small_code.made_in_c = indexing.viewed_in_c = indexing.rows_in_c = views.several_in_c = views.put_in_c = None
