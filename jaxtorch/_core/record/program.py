"""Recording: operations become instructions of a program, which runs when a value is needed.

`emit(kernel, values)` is the one door through which every computation passes. The current program of a device is
`DeviceSlot.program`; `flush` takes it away, works out which of its values anything still holds (reference counts tell),
and hands it to the runner.

The code of a program is one flat list: kernel, input slots, kernel, input slots, ... A slot that has not been defined when
it is first mentioned is a program input; each kernel then defines the slots of its outputs. So the list alone says
everything about the program's structure, and comparing two lists compares two programs.
"""

from __future__ import annotations

import itertools
import os
import threading
from itertools import compress
from typing import Any

import jax

from ..compile.context import at_top
from ..compile.kernel import Kernel
from ..host import forked, tiering
from ..run import capture, early_start, interrupts, runner, state_packing
from ..tuning import PROGRAM_LIMIT, SHORT_CODE
from ..types import grad_mode
from ..types.device import DeviceSlot, _slots
from ..types.foreign_errors import of_a_run
from ..types.reference_counts import LISTED, counted
from ..types.value import Mapped, Value, same_content
from . import deferred_errors, host_kernels, value_checks

LIMIT = int(os.environ.get("JAXTORCH_PROGRAM_LIMIT", PROGRAM_LIMIT))
"""A program is run when its code has grown to this many items, so that a loop which never needs a value stays bounded."""

IMMEDIATE = os.environ.get("JAXTORCH_EXECUTION", "recorded") == "immediate"
"""Run every instruction at once instead of recording it."""


class Program:
    """What has been recorded for one device since its last flush."""

    __slots__ = ("slot", "code", "values", "inputs", "packed", "checks", "backwards", "state", "pause", "begun")

    def __init__(self, slot: DeviceSlot) -> None:
        self.slot = slot
        self.code: list[Any] = []
        self.values: list[Value] = []
        self.inputs: list[Value] = []
        self.packed = 0  # how many inputs were in packs when they entered
        self.checks: list[deferred_errors.Check] = []
        self.backwards = 0  # finished backward passes recorded in here
        self.state = "open"
        self.pause = min(LIMIT, early_start.start_position(slot))  # where in its code something is to be done
        self.begun: early_start.EarlyRun | None = None


_threads: dict[Any, Any] = getattr(threading, "_active", {0: None, 1: None})
"""The running Python threads. A lock costs a tenth of an operation, so it is taken only where a second thread exists; that
one was started by the first, which cannot have been inside `emit` then."""


record_in_c: Any = None
"""`emit` in C for the common case, None in any other (see dispatch/recorder.py); None where it was not built."""


def emit(kernel: Kernel, values: list[Value], alone: bool = False) -> list[Value]:
    """Record one instruction and return its pending outputs (concrete ones where recording is off or impossible)."""
    if record_in_c is not None:
        outs = record_in_c(kernel, values)
        if outs is not None:
            return outs
    if len(_threads) > 1 and not alone:
        with runner.lock:
            capture.break_if_other_thread()
            return emit(kernel, values, True)
    if kernel.checks and _passes_checks(kernel, values):
        kernel = kernel.without_checks()
        outs = None if record_in_c is None else record_in_c(kernel, values)
        if outs is not None:
            return outs
    slot = kernel.slot
    program = slot.program
    if program is None:
        if forked.active and not slot.is_meta:
            return host_kernels.run(kernel, values)
        if IMMEDIATE or slot.is_meta:
            return runner.run_now(kernel, values)
        if slot.closing is not None:
            flush(slot.closing)
        program = slot.program = Program(slot)
    code, known = program.code, program.values
    mark, first, outs = len(code), len(known), None
    try:
        code.append(kernel)
        for v in values:
            if v.program is program:
                code.append(v.slot)
            elif (v.array is not None and type(v.array) in runner.PLAIN) or _enter_as_input(v, program):
                if v.program is not None:  # an input of another device's program, where it has another slot
                    v = same_content(v)
                v.program = program
                v.slot = len(known)
                code.append(v.slot)
                known.append(v)
                program.inputs.append(v)
            else:
                break
        else:
            made = []
            for aval in kernel.out_avals:
                v = Value(aval)
                v.program = program
                v.slot = len(known)
                known.append(v)
                made.append(v)
            outs = made
    finally:
        if outs is None:  # a tracer, no content, a full stack, Ctrl-C: no half of an instruction stays
            del code[mark:]  # nothing is called here, for which a full stack would have no place
            for some in (values, known[first:]):
                for v in some:
                    if v.program is program and v.slot >= first:
                        v.program = None
            n = packed = 0
            for v in program.inputs:
                if v.slot < first:
                    n += 1
                    packed += v.pack is not None
            del known[first:], program.inputs[n:]
            program.packed = packed
            if not code and slot.program is program:
                slot.program = None
    if outs is None:
        return runner.run_now(kernel, values)
    if mark >= program.pause:
        _pause(program, kernel)
    return _with_checks(program, kernel, outs) if kernel.checks else outs


def _pause(program: Program, kernel: Kernel) -> None:
    """With this instruction a program can be started ahead, or is too long."""
    if len(program.code) <= LIMIT:
        program.pause = LIMIT
        early_start.start_early(program)
    elif capture.active is None and not kernel.checks:
        flush(program)


def _enter_as_input(v: Value, program: Program) -> bool:
    """Make `v` concrete if it is pending elsewhere; False if it is a tracer of a JAX transformation."""
    if v.pack is not None:
        if capture.active is None:
            program.packed += 1
            return True
        state_packing.unpack(v)  # a capture knows what has been computed by its array
    if v.array is None:
        force(v)
    return not (runner.is_tracer(v.array) or type(v.array) is Mapped)


def _passes_checks(kernel: Kernel, values: list[Value]) -> bool:
    """Is it known that no flag of a kernel will be raised? Raises what will be."""
    if capture.active is not None or forked.active:
        return False
    said = value_checks.seen(kernel, values)
    if said == value_checks.PENDING and not grad_mode.state.graded and deferred_errors.waiting:
        pending = {id(v.program): v.program for v in values if v.array is None and v.program is not None}
        if all(is_quick(program) for program in pending.values()):
            for program in pending.values():
                flush(program)
            said = value_checks.seen(kernel, values)
    if said != value_checks.BAD:
        return said == value_checks.FINE
    raised = value_checks.first_raised(kernel, values)
    if raised is None:  # a guard may ask for more
        return True
    if not deferred_errors.clean:
        for v in values:
            deferred_errors.raise_failure_of(v)
    flush_all()
    deferred_errors.raise_pending()  # of an earlier line, if that would have ended the program
    make, code = raised
    raise make(code)


def _with_checks(program: Program, kernel: Kernel, outs: list[Value]) -> list[Value]:
    """The outputs without the flags, which the program keeps; raises what they say where something would catch it here."""
    n = len(outs) - len(kernel.checks)
    around = deferred_errors.call_site()
    found = [deferred_errors.Check(f, make, around) for f, make in zip(outs[n:], kernel.checks, strict=True)]
    program.checks += found
    if capture.active is None and deferred_errors.waiting:
        at_once = any(getattr(make, "at_once", False) for make in kernel.checks)
        if at_once or deferred_errors.is_caught(around, grad_mode.state.graded):
            flush(program)
            deferred_errors.settle(found)
        elif around.regions:
            deferred_errors.watch(program, found)
    return outs[:n]


def settle() -> None:
    """Raise what a call has recorded that was to be captured: while it ran, nothing was."""
    pending = [slot.program for slot in _slots.values() if slot.program is not None and slot.program.checks]
    if any(deferred_errors.is_caught(check.call_site, False) for program in pending for check in program.checks):
        flush_all()
        deferred_errors.raise_pending()


def is_quick(program: Program) -> bool:
    """Is all of it known to be done on the host in no time?"""
    expected = None if program.slot.ran is None else program.slot.ran.next
    if expected is not None and expected.on_host and expected.code == program.code:
        return True
    return len(program.code) < SHORT_CODE and tiering.are_quick([k for k in program.code if type(k) is Kernel])


run_in_c: Any = None
"""`flush` in C for a small program that came before and stays on the host: was it one? None where that was not built."""

known_in_c: Any = None
"""`_is_known` in C."""


def flush(program: Program | None) -> None:
    """Run a program and give its surviving values their arrays."""
    if program is None or program.state == "done" or (run_in_c is not None and run_in_c(program)):
        return
    capture.break_capture("a value is needed while the call runs")
    with runner.lock:
        handler = interrupts.hold()
        try:
            _flushed(program)
        finally:
            interrupts.release(handler)


def _flushed(program: Program) -> None:
    slot = program.slot
    if slot.program is program:
        slot.program = None
    if slot.closing is program:
        slot.closing = None
    elif slot.closing is not None:
        flush(slot.closing)
    if program.state != "open":
        return
    program.state = "running"
    values = program.values
    try:
        if forked.active:
            _run_on_host(program, values)
        elif program.code:
            _run(program, values)
            values = program.inputs  # the others have been let go
    except BaseException as error:
        if interrupts.from_outside(error):
            _make_pending_again(program)
        told = of_a_run(error, slot.name)
        if told is not None:
            raise told from error
        raise
    finally:
        _finish(program, values)


def _finish(program: Program, values: list[Value]) -> None:
    """A program that was running is done, unless it is pending once more; these values know of it."""
    if program.state == "running":
        for v in values:
            v.program = None
        program.values, program.code, program.inputs, program.checks, program.begun = [], [], [], [], None
        program.state = "done"


def broken(program: Program, error: BaseException) -> None:
    """This was raised while C ran the program."""
    if interrupts.from_outside(error):
        _make_pending_again(program)
    _finish(program, program.values)


def _make_pending_again(program: Program) -> None:
    """Make a program that was broken off pending once more, unless it has taken over the memory of its inputs already. It runs when
    one of its values is asked for, and nothing else waits for it."""
    arrays = [v.array if v.pack is None else v.pack.array for v in program.inputs]
    gone = [a is None or getattr(a, "is_deleted", bool)() for a in arrays]
    if not any(gone):
        for v in program.values:
            if v.program is None:
                v.program = program
        program.state = "open"


def _run_on_host(program: Program, values: list[Value]) -> None:
    """Run, in a forked child, what its parent had recorded."""
    position = defined = 0
    while position < len(program.code):
        kernel = program.code[position]
        slots = program.code[position + 1 : position + 1 + kernel.n_in]
        defined = max([defined, *[s + 1 for s in slots]])
        for k, out in enumerate(host_kernels.run(kernel, [values[s] for s in slots])):
            values[defined + k].array = out.array
        defined += len(kernel.out_avals)
        position += 1 + kernel.n_in


def _run(program: Program, values: list[Value]) -> None:
    inputs, slot = program.inputs, program.slot
    expected = None if slot.ran is None else slot.ran.next
    begun, program.begun = program.begun, None
    if expected is not None:
        is_known = _is_known if known_in_c is None else known_in_c
        if not is_known(program, expected):
            expected = next((s for s in slot.ran.others if is_known(program, s)), None)  # pyright: ignore[reportOptionalMemberAccess]
    if expected is not None:  # what ran after the last program when that ran before: nothing has to be worked out
        arrays = [v.array for v in inputs]
        tiering.seen(False)
        structure = expected
        outs = None if begun is None else begun.results(structure, arrays, program.packed)
        if outs is None:
            if not structure.on_host:
                runner.to_device(slot, inputs, arrays, True)
            if structure.expected_inputs is not None:
                structure.expected_inputs.note(structure, arrays, program.packed)
            if program.packed or structure.packed is not None:
                arrays = state_packing.arguments(structure.packed, inputs, program.packed, arrays)
            outs = structure.call(arrays) if structure.on_host else at_top(structure.call, arrays)
    else:
        if begun is not None:
            begun.discard()
        structure, outs = _run_unknown(program, values, _holders(program))
    live = structure.plan.live
    if slot.ran is not None:
        slot.ran.note_follower(structure)
    slot.ran = structure
    if structure.packed is not None:
        structure.packed.hand_out([values[i] for i in live], outs)
    else:
        for i, array in zip(live, outs, strict=True):
            v = values[i]
            v.array = array
            v.owned = True
            v.program = None
    if structure.call is None:
        structure.made_slots = {id(values[i]): i for i in live}
    if program.checks or not deferred_errors.clean:
        deferred_errors.note_run(program.code, program.checks, inputs, values, live)


def _is_known(program: Program, structure: runner.Structure) -> bool:
    """Is it what this structure has run before: the same code, and the same held of it?"""
    return structure.code == program.code and structure.held == _holders(program)


def _holders(program: Program) -> bytes:
    """For each value of a program, who holds it, as in `runner.Structure.held`."""
    inputs = program.inputs
    arrays, owned = [v.array for v in inputs], [v.owned for v in inputs]
    array_counts = iter(list(counted(compress(arrays, owned))))
    counts = list(counted(program.values))
    found = bytearray([c > LISTED for c in counts])
    for v, is_owned in zip(inputs, owned, strict=True):
        alone = next(array_counts) == LISTED + 1 if is_owned else v.pack is not None
        found[v.slot] = runner.DONATED if alone and counts[v.slot] == LISTED + 1 else runner.READ
    return bytes(found)


def _run_unknown(program: Program, values: list[Value], held: bytes) -> tuple[runner.Structure, list[Any]]:
    """Find which results are still held and which inputs can be donated, and run the program."""
    inputs = program.inputs
    donors = []
    for position, v in enumerate(inputs):
        if held[v.slot] == runner.DONATED:
            donors.append(position)
        else:
            state_packing.mark_read_elsewhere(v)
    live = [i for i, kind in enumerate(held) if kind == runner.HELD]
    arrays = [v.array for v in inputs]
    with capture.unobserved():
        structure, outs = runner.run(program.slot, program.code, arrays, live, donors, inputs, program.packed)
    if structure.call is not None:
        if structure.code is None:
            structure.expected_inputs = early_start.expected_inputs(structure)
        structure.code, structure.held = program.code, held
    return structure, outs


def close(slot: DeviceSlot) -> None:
    """A training step has ended: its program is complete.

    On an accelerator it starts at once. On the CPU, where nothing would run beside Python, it starts with the next
    operation or the first demand, so that gradients dropped by `zero_grad` in between need not be written out.
    """
    program = slot.program
    if program is None or capture.active is not None:
        return
    if slot.name != "cpu":
        flush(program)
        return
    slot.closing, slot.program = program, None


def flush_device(slot: DeviceSlot) -> None:
    """Run what is pending on a device."""
    flush(slot.closing)
    flush(slot.program)


def flush_all() -> None:
    """Run what is pending everywhere."""
    for slot in list(_slots.values()):
        if slot.closing is not None:
            flush(slot.closing)
        if slot.program is not None:
            flush(slot.program)


def force(value: Value) -> Any:
    """The array of a value, running its program if it is pending. Does not wait for the device."""
    array = value.array
    if capture.staging is not None:
        return capture.staging.take(value)
    if capture.active is not None:
        capture.break_capture("the content of a tensor is read while the call runs")
    if not deferred_errors.clean:
        deferred_errors.raise_failure_of(value)
    if value.pack is not None:
        return state_packing.unpack(value)
    if array is None:
        flush(value.program)
        array = value.array
        if not deferred_errors.clean:
            deferred_errors.raise_failure_of(value)
        if value.pack is not None:  # the program that made it has just been run
            return state_packing.unpack(value)
        if array is None:
            raise RuntimeError(
                "jaxtorch: this tensor's program failed when it ran, so the tensor has no content; the error was raised "
                "where the program ran"
            )
    return array


def forget_all() -> None:
    """Stop adding to what is pending: it is the parent's, and a forked child computes on the host what it needs of it."""
    for slot in _slots.values():
        slot.program = slot.closing = None


def _before_fork() -> None:
    """Wait for what is under way: JAX's threads finish it in the parent only, and a child that reads it would wait for ever."""
    runner.lock.acquire()
    deferred_errors.read()
    if runner.jax_has_started():
        for array in jax.live_arrays():
            if not array.is_deleted():
                array.block_until_ready()


def _in_forked_child() -> None:
    runner.lock.release()
    if runner.jax_has_started():
        forked.active = True
        forget_all()
        deferred_errors.forget()  # the parent raises them


os.register_at_fork(before=_before_fork, after_in_parent=lambda: runner.lock.release(), after_in_child=_in_forked_child)


class Visible:
    """Of this one object is made after the import: `gc.get_objects` has it until the user calls `gc.freeze`, which hides tensors as
    well."""


visible = Visible()

counter = itertools.count()
"""Sequence numbers of autograd nodes."""


runner.force_pending = force
deferred_errors.flush_program = flush
