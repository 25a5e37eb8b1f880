"""Starting a program before all of it has been recorded.

A model that predicts, one input after the other, records the same program each time: its parameters stay, and what is new enters
with the first instructions. So once a compiled program has come with the same inputs but for those, it is started as soon as they
have entered, and runs while Python records the rest. Where something else is recorded than was expected, what it has computed is
dropped: content never changes, and only programs are started that take over no memory of their inputs.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Sequence
from operator import is_
from typing import Any

import jax
import numpy as np
from jax._src.array import ArrayImpl

from ..compile.context import at_top
from ..tuning import AHEAD_IN_VAIN, AHEAD_PATIENCE
from . import capture, interrupts, memory_gate, runner

ENABLED = os.environ.get("JAXTORCH_AHEAD", "1") != "0"


NEVER = 1 << 62


def _reference(array: Any) -> Any:
    """An array as `ExpectedInputs` keeps it: weakly, as reference counts tell whether it may be donated. Numbers as they are."""
    return weakref.ref(array) if isinstance(array, (ArrayImpl, np.ndarray)) else array


def _there(reference: Any) -> Any:
    return reference() if type(reference) is weakref.ref else reference


class ExpectedInputs:
    """The inputs with which a structure ran last, and will probably run again.

    given: references to the inputs of its last run.
    start_at: the place in its code (of an instruction) where all inputs have entered that are new in each run; NEVER while that is
           not known, or is not within the first half.
    misses: what other inputs have cost; see `AHEAD_PATIENCE`.
    """

    __slots__ = ("given", "start_at", "misses")

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.start_at = NEVER
        self.misses = 0

    def note(self, structure: runner.Structure, arrays: Sequence[Any], packed: int) -> None:
        """The structure runs with these inputs, of which some (`packed`: how many) are in packs, and has not been started ahead."""
        if packed:
            note_miss(structure, 1)
            return
        before = list(map(_there, self.given))
        self.given = list(map(_reference, arrays))
        if len(before) != len(arrays):
            return
        same = list(map(is_, arrays, before))
        entered = len(same) - next((k for k, s in enumerate(reversed(same)) if not s), len(same))
        self.start_at = _entered(structure.code, entered)  # pyright: ignore[reportArgumentType]
        if self.start_at == NEVER:
            note_miss(structure, 1)


def note_miss(structure: runner.Structure, what: int) -> None:
    """The structure did not run with the inputs expected; where it hardly ever does, none are expected any more."""
    known = structure.expected_inputs
    if known is not None:
        known.misses += what
        if known.misses >= AHEAD_PATIENCE:
            structure.expected_inputs = None


def _entered(code: list[Any], count: int) -> int:
    """The place of the instruction with which so many inputs have entered; NEVER beyond the first half of the code."""
    place = defined = inputs = 0
    while place < len(code) // 2:
        kernel = code[place]
        for slot in code[place + 1 : place + 1 + kernel.n_in]:
            if slot == defined:
                defined += 1
                inputs += 1
        if inputs >= count:
            return place
        defined += len(kernel.out_avals)
        place += 1 + kernel.n_in
    return NEVER


def expected_inputs(structure: runner.Structure) -> ExpectedInputs | None:
    """Of a structure that may be started ahead: XLA runs it, it takes over no memory, and nobody sees it run."""
    plan = structure.plan
    if not ENABLED or structure.on_host or structure.packed is not None or plan.donors or len(plan.steps) < 2:
        return None
    return None if any(kernel.has_effects for kernel, _, _ in plan.steps) else ExpectedInputs()


class EarlyRun:
    """A program that runs already: its structure, what it was given, and its results to be."""

    __slots__ = ("structure", "given", "outs")

    def __init__(self, structure: runner.Structure, given: list[Any], outs: list[Any]) -> None:
        self.structure = structure
        self.given = given
        self.outs = outs

    def results(self, structure: runner.Structure, arrays: Sequence[Any], packed: int) -> list[Any] | None:
        """What it computes, if that is this structure with these inputs, of which none is in a pack."""
        if structure is self.structure and not packed and all(map(is_, arrays, map(_there, self.given))):
            if (known := structure.expected_inputs) is not None and known.misses:
                known.misses -= 1
            return self.outs
        self.discard()
        return None

    def discard(self) -> None:
        """Something else has been recorded. Where the program is large, it is to be done before another runs: twice its temporary
        memory may be too much."""
        note_miss(self.structure, AHEAD_IN_VAIN)
        outs, self.outs = self.outs, []
        if memory_gate.are_large(self.structure.plan.avals().values()):
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                for array in outs:
                    array.block_until_ready()


def start_position(slot: Any) -> int:
    """Where in the code of a new program what is expected of it is to be started."""
    expected = None if slot.ran is None else slot.ran.next
    return NEVER if expected is None or expected.expected_inputs is None else expected.expected_inputs.start_at


def start_early(program: Any) -> None:
    """Start the program that is expected, if what has been recorded is its beginning."""
    ran = program.slot.ran
    if ran is None or (expected := ran.next) is None or (known := expected.expected_inputs) is None:
        return
    if program.packed or capture.active is not None:
        return
    code = program.code
    if expected.code[: len(code)] != code:
        return
    entered = len(program.inputs)
    arrays = [_there(r) for r in known.given]
    if any(a is None for a in arrays[entered:]):
        return
    handler = interrupts.hold()
    try:
        arrays[:entered] = [
            runner.moved(v, program.slot) if type(v.array) is np.ndarray else v.array for v in program.inputs
        ]
        given = [*map(_reference, arrays[:entered]), *known.given[entered:]]
        program.begun = EarlyRun(expected, given, at_top(expected.call, arrays))
    except (RuntimeError, MemoryError, ArithmeticError) as error:
        if not _is_its_own(error, arrays):
            raise
        note_miss(expected, AHEAD_IN_VAIN)
    finally:
        interrupts.release(handler)


def _is_its_own(error: BaseException, arrays: list[Any]) -> bool:
    """Is this error one of a program that was started ahead, to be raised where it runs, and not a signal handler's?"""
    if isinstance(error, (jax.errors.JaxRuntimeError, RecursionError, MemoryError, FloatingPointError)):
        return True
    return any(isinstance(a, ArrayImpl) and a.is_deleted() for a in arrays)
