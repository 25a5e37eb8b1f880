"""What the flags of operations that were recorded say (value_checks.py), and what may not be read for it.

PyTorch raises such an error at the call. Here it is raised at the call where something would catch it there, or where the operands
are at hand; else it belongs to the results that depend on the operation, and each read of one of them raises it. The program would
end with it anyway, so the next time that values are waited for raises it too, unless a handler stands there that did not stand
around the call.

| name | what it is |
|---|---|
| `Check` | a flag of an instruction: its value, who makes the exception, the line, what stood around the call |
| `Run` | a program with flags that has been started, or that read what had failed; its results are marked with it (`Value.fails`) |
| `Failure` | a flag that was raised |
"""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numpy import ndarray

from ..host.transfer import fetched
from ..run import except_handlers, state_packing
from ..tuning import UNREAD_RUNS
from ..types.device import _slots
from ..types.value import Value

clean = True
"""Is there no failure that has to be told, and none, known or not, of which a result is alive? Read in C too (native/flush.inc)."""
asked = False
"""Was something raised at its call, or found well, that could have waited had its loop been known to hold an optimizer's step?"""
flush_program: Any = None
"""Runs a program that has been recorded. Set by program.py."""

_stepped: dict[except_handlers.Loop, tuple[int, except_handlers.Region | None]] = {}
"""Loops in which an optimizer has made a step: at which offset, and in which innermost region. What is recorded before that place,
in the same region, is looked at when the next step ends."""
waiting = True
"""Is anything waited for at the call? A sweep that records many samples before it reads one says no."""


class Check:
    """A flag of a recorded instruction.

    value: the flag. make: makes PyTorch's exception from its number. call_site: what stood around the call of the operation.
    thread: the thread it was made in.
    failure: what the instruction depends on that has failed, or its own failure, once the flag has been looked at.
    """

    __slots__ = ("value", "make", "call_site", "thread", "failure")

    def __init__(self, value: Value, make: Callable[[int], Exception], call_site: except_handlers.CallSite) -> None:
        self.value, self.make, self.call_site = value, make, call_site
        self.thread = threading.get_ident()
        self.failure: Failure | None = None


class Failure:
    """A flag that was raised, as number `code`; the rest as in `Check`. raised: has its exception been raised?"""

    __slots__ = ("make", "code", "call_site", "thread", "raised")

    def __init__(self, check: Check, code: int) -> None:
        self.make, self.call_site, self.thread = check.make, check.call_site, check.thread
        self.code, self.raised = code, False

    def error(self, at_call: bool = False) -> Exception:
        """PyTorch's exception, anew for each that is to be told; with the line of the call, unless it comes out of that."""
        self.raised = True
        if self.call_site.regions:
            for other in _unraised:  # calls that PyTorch would not have come to
                other.raised = other.raised or other.call_site.regions[:1] == self.call_site.regions[:1]
        made = self.make(self.code)
        if not at_call and made.args:
            made.args = (f"{made.args[0]}\n(the operation was called at {self.call_site.line})", *made.args[1:])
        return made


class Run:
    """A program that may have failed in parts.

    code: its code, which tells what depends on what; None: all results on all flags.
    checks: its flags that nobody has looked at. failed: (slot, failure) of what its results may depend on.
    earlier: (slot, run, slot in that run) of operands that come from runs whose flags nobody had looked at when this one was started.
    """

    __slots__ = ("code", "checks", "failed", "earlier", "_reach", "__weakref__")

    def __init__(self, code: Sequence[Any] | None, checks: list[Check], operands: Iterable[Value]) -> None:
        self.code, self.checks = code, checks
        self.failed: list[tuple[int, Failure]] = []
        self.earlier: list[tuple[int, Run, int]] = []
        self._reach: dict[int, set[int]] = {}
        if not clean:
            self._inherit(operands)

    def _inherit(self, operands: Iterable[Value]) -> None:
        whole, last = self.code is None, None
        for v in operands:
            mark: tuple[Run, int] | None = getattr(v, "fails", None)
            if mark is None:
                continue
            run, slot = mark
            if run is last and whole and run.code is None:
                continue
            last = run
            at = 0 if whole else v.slot
            if run.unread:
                self.earlier.append((at, run, slot))
            elif (failure := run.failure(slot)) is not None:
                self.failed.append((at, failure))

    @property
    def unread(self) -> bool:
        """Has it flags, its own or those of its operands, that nobody has looked at?"""
        return bool(self.checks or self.earlier)

    def read(self) -> None:
        """Look at the flags, and at those of the operands; waits for the program."""
        earlier, self.earlier = self.earlier, []
        for at, run, slot in earlier:
            if run.unread:
                run.read()
            if run.failed and (failure := run.failure(slot)) is not None:
                self.failed.append((at, failure))
        checks, self.checks = self.checks, []
        for check in checks:
            array = check.value.array if check.value.pack is None else state_packing.unpack(check.value)
            if array is None:
                continue  # the program could not run, and that was said
            code = int(fetched(array))
            check.failure = self.failure(check.value.slot)  # there PyTorch would not have come to this call
            if code and check.failure is None:
                check.failure = Failure(check, code)
                self.failed.append((check.value.slot, check.failure))
                _unraised.append(check.failure)

    def failure(self, slot: int) -> Failure | None:
        """The first failure that a result depends on."""
        return next((failure for at, failure in self.failed if self.code is None or slot in self._reached(at)), None)

    def _reached(self, at: int) -> set[int]:
        """The slots that depend on this one, or are results of its instruction."""
        found = self._reach.get(at)
        if found is None:
            found = self._reach[at] = {at}
            code: Any = self.code
            position = defined = 0
            while position < len(code):
                kernel = code[position]
                slots = code[position + 1 : position + 1 + kernel.n_in]
                defined = max([defined, *[s + 1 for s in slots]])
                outs = range(defined, defined + len(kernel.out_avals))
                if not found.isdisjoint(slots) or at in outs:
                    found.update(outs)
                defined += len(kernel.out_avals)
                position += 1 + kernel.n_in
        return found


_unread: list[Run] = []
_failed: set[weakref.ref[Run]] = set()
_unraised: list[Failure] = []
_watched: list[tuple[Any, list[Check]]] = []


def _update_clean() -> None:
    global clean
    clean = not (_unread or _failed or _unraised)


def call_site() -> except_handlers.CallSite:
    """What stands around the user's call."""
    found = except_handlers.call_site()
    return found if waiting else found.alone()


def has_handlers() -> bool:
    """Does a handler stand around the user's call?"""
    return waiting and except_handlers.anything()


def is_caught(call_site: except_handlers.CallSite, graded: bool) -> bool:
    """Must an error be raised at its call, which these stand around? Not where it would end a loop of training steps before anything
    catches it: the optimizer's step raises it, in the same loop."""
    global asked
    if not call_site.regions:
        return False
    if graded and call_site.in_loops:
        for loop, at in call_site.loops.items():
            step = _stepped.get(loop)
            if step is not None and at <= step[0] and call_site.regions[0] == step[1]:
                return False
        asked = True
    return True


def note_step(call_site: except_handlers.CallSite) -> None:
    """An optimizer makes a step, and this stands around it."""
    global asked
    asked = False
    if len(_stepped) > 4 * UNREAD_RUNS:  # of frames that are gone
        _stepped.clear()
    innermost = call_site.regions[0] if call_site.regions else None
    _stepped.update({loop: (at, innermost) for loop, at in call_site.all_loops.items()})


def note_run(
    code: Sequence[Any] | None, checks: list[Check], inputs: Iterable[Value], values: Any, live: Sequence[int]
) -> None:
    """A program has been started: mark its results (the `live` ones of `values`) if it has flags or has read what failed."""
    if clean and all([type(c.value.array) is ndarray and not c.value.array for c in checks]):  # noqa: C419
        return  # on the host, and all is well
    run = Run(code, checks, inputs)
    if (
        checks
        and not run.earlier
        and all(not hasattr(c.value.array, "is_ready") and c.value.pack is None for c in checks)
    ):
        run.read()  # they are on the host
    if not (run.unread or run.failed):
        return
    flags = {check.value.slot for check in checks}
    mark_results(run, [values[slot] for slot in live if slot not in flags])


def mark_results(run: Run, values: Iterable[Value]) -> None:
    """A program has been started that may have failed, or has: mark its results."""
    for v in values:
        v.fails = run, v.slot
    if run.unread:
        if len(_unread) >= UNREAD_RUNS:
            read(UNREAD_RUNS // 2)
        _unread.append(run)
    else:
        _failing(run)
    _update_clean()


def _failing(run: Run) -> None:
    _failed.add(weakref.ref(run, _gone))


def _gone(reference: weakref.ref[Run]) -> None:
    _failed.discard(reference)
    _update_clean()


def read(count: int | None = None) -> None:
    """Look at the flags of the oldest runs."""
    runs, _unread[:] = _unread[:count], [] if count is None else _unread[count:]
    for run in runs:
        run.read()
        if run.failed:
            _failing(run)
    _update_clean()


def failure_of(value: Value) -> Failure | None:
    """The failure that a value depends on; waits for the program that made it."""
    mark = getattr(value, "fails", None)
    if mark is None:
        return None
    run, slot = mark
    if run.unread:
        read(_unread.index(run) + 1 if run in _unread else 0)
        run.read()
    return run.failure(slot)


def may_have_failed(value: Value) -> bool:
    """May a value depend on what has failed? Waits for nothing."""
    program = value.program
    return (program is not None and bool(program.checks)) or getattr(value, "fails", None) is not None


def raise_failure_of(value: Value) -> None:
    """A value is about to be read: raise what it depends on."""
    failure = failure_of(value)
    if failure is not None:
        raise failure.error()


def raise_pending(careful: bool = True) -> None:
    """Values are being waited for: raise the oldest error that nobody has been told of.

    careful: only where it would be caught by what would have caught it at the call, and in the same thread.
    """
    if _unread:
        read()
    if not _unraised:
        return
    _unraised[:] = [f for f in _unraised if not f.raised]
    _update_clean()
    here = None
    for failure in _unraised:
        if careful:
            if failure.thread != threading.get_ident():
                continue
            here = call_site() if here is None else here
            if here.regions[:1] != failure.call_site.regions[:1]:
                continue
        raise failure.error()


def settle(checks: Iterable[Check], at_call: bool = True) -> None:
    """Raise what these flags say; waits for their program, which has been started."""
    if _unread:
        read()
    for check in checks:
        if check.failure is not None:
            raise check.failure.error(at_call and check.failure.call_site.line == check.call_site.line)


def watch(program: Any, checks: list[Check]) -> None:
    """These flags are to be looked at before the optimizer's step is done."""
    if len(_watched) >= UNREAD_RUNS:
        _watched[:] = [w for w in _watched if w[0].state != "done"]
    _watched.append((program, checks))


def watched() -> list[tuple[Any, list[Check]]]:
    """The programs that are to be looked at, with their flags. From now on they are not."""
    found, _watched[:] = _watched[:], []
    return found


def steps_must_look() -> bool:
    """Is there anything that an optimizer's step has to look at?"""
    return asked or bool(_watched)


def forget() -> None:
    """Drop what nobody has been told of: for tests, where one test's error must not surface in the next, and for forked children,
    whose parent is told."""
    for run in _unread:
        run.checks, run.earlier = [], []
    _unread.clear()
    _unraised.clear()
    _watched.clear()
    _update_clean()


class _Failing:
    """Standard output after such an error: Python ends with status 120 where its last flush fails."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def flush(self) -> None:
        self.stream.flush()
        try:
            sys._getframe(1)
        except ValueError:  # called by Python as it ends, not by a program
            sys.unraisablehook = lambda _: None  # it has been told already
            raise RuntimeError("the script ended with an error that jaxtorch found in its data") from None


def report_at_exit() -> None:
    """Show the errors that a script which never read a value again has left, as Python shows those that nobody caught.

    The exit status becomes 120: an exit function cannot choose another.
    """
    failed = False
    for slot in list(_slots.values()):
        for program in (slot.closing, slot.program):
            if program is not None and program.checks:
                flush_program(program)
    read()
    for failure in _unraised:
        if not failure.raised:
            failed = True
            error = failure.error()
            sys.excepthook(type(error), error, error.__traceback__)
    if failed and sys.stdout is not None:
        sys.stdout = _Failing(sys.stdout)


atexit.register(report_at_exit)
