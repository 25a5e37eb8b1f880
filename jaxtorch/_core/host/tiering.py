"""The first runs of a kernel, on NumPy: XLA would take longer to compile it than they take.

A kernel that runs by itself, for a shape that was not met before, costs some 30 ms of compilation, whatever its size. Where a
program's shapes keep changing (episodes, sentences, last batches), or where it runs once, that is most of the time. So on the CPU
NumPy computes a kernel until it has spent there, by an estimate, about the time that XLA would take to compile it. A program
whose kernels all run on NumPy, and quickly, stays there; any other is compiled whole when it comes again. The estimate is of the
jaxpr alone, never of a clock, so that a program run twice changes over at the same places.

A program compiled whole costs some 2 to 5 ms of XLA for each equation, as much as a thousand runs on NumPy where it is small. A
process that has seen few programs compiles those that come again, so that a training loop soon runs compiled throughout; but not a
long program of small arrays (a loop over the letters of a word) before it has run for an eighth of the time that compiling it would
take, nor what a line of the user's code makes that has made many others, or long ones like it (`_makes_ever_new`), before it has run
for as long as compiling it quickly takes. After those it depends on whether the process has settled (`worth_compiling`): sentences,
episodes and decoders make new programs all the time.

NumPy's results are as good as XLA's, but not bit for bit the same: sums are added in another order, `exp` and its like are
other approximations. What both would not do alike (an integer divided by zero, NaN made an integer: `Rule.doubt`) goes to XLA.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar

from ..tuning import (
    COMPILE_EQUATION,
    COMPILED_AT_ONCE,
    FEW_PROGRAMS,
    HOST_ELEMENTS,
    HOST_KERNEL,
    HOST_KERNEL_EQUATION,
    HOST_PROGRAM,
    HUGE_PROGRAM,
    KERNEL_WRITTEN_AFTER,
    LIKELY_RUNS,
    LONG_PROGRAM,
    LOOP_VARIANTS,
    QUICK_COMPILATION,
    SETTLED_RUNS,
    SMALL_EQUATION,
)
from . import writers
from .numpy_program import Doubt, NoRule, NumpyProgram, elements

FOR_EVER = 1_000_000_000
RUNS = int(os.environ.get("JAXTORCH_COLD_RUNS", FOR_EVER))
"""How often at most a kernel or a program runs on NumPy; 0 switches it off."""


_BY_LAST_DIGITS = ("_grid_sample", "GridSampler")
"""How the names of kernels begin that round to whole numbers: XLA's and PyTorch's fused multiplications decide there."""


def suits(kernel: Any) -> bool:
    """Can NumPy run this kernel? The first time, it is made ready."""
    if RUNS == 0:
        return False
    if kernel.host_run_limit is None:
        kernel.host_run_limit = 0
        if kernel.name.startswith(_BY_LAST_DIGITS):
            kernel.host_jaxpr = None
        filled = getattr(kernel, "_filled_pattern", None)
        if filled is None:
            traced = kernel.host_jaxpr
        else:
            traced = filled.pattern.closed if kernel._keeps_host_jaxpr else None
        if traced is not None and not traced.effects:
            program = _made_ready(kernel, filled)
            cost = math.inf if program is None else program.cost
            if not math.isfinite(cost):
                cost = elements((filled.closed_jaxpr() if filled else traced).jaxpr)
            kernel.cost = cost
            if program is not None and program.exact and program.largest <= HOST_ELEMENTS:
                kernel.numpy_program = program
                kernel.host_run_limit = int(
                    min(RUNS, (HOST_KERNEL + HOST_KERNEL_EQUATION * len(program.steps)) / max(program.cost, 1.0))
                )
        kernel.host_jaxpr = None
    return kernel.host_run_limit > 0


def is_next(kernel: Any) -> bool:
    """Does this kernel's next run by itself go to NumPy, unless that doubts?"""
    return suits(kernel) and kernel.host_runs < kernel.host_run_limit


def _made_ready(kernel: Any, filled: Any) -> NumpyProgram | None:
    """The kernel for NumPy; None where that has not all of it."""
    try:
        if filled is not None:
            return filled.numpy_program()
        return NumpyProgram(kernel.host_jaxpr)
    except NoRule:
        return None


def runs_of_program(kernels: list[Any]) -> int:
    """How often a program of these kernels runs on NumPy: always if it is quick there, else only as kernels, the first time."""
    return RUNS if all(suits(kernel) for kernel in kernels) and are_quick(kernels) else 0


def are_quick(kernels: list[Any]) -> bool:
    """Does a program of these kernels, if they have all been made ready, stay on NumPy?"""
    cost = 0.0
    for kernel in kernels:
        if kernel.numpy_program is None or kernel.host_run_limit == 0:
            return False
        cost += writers.cost(kernel.numpy_program)
    return cost <= HOST_PROGRAM


QUICK_OPTIONS = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
"""With these XLA takes a fifth of that, and the program about twice as long."""


class _Process:
    """programs: how many were new; at_once: what is left of `COMPILED_AT_ONCE`; known: how many programs ran since the last new one.

    patient: what runs now is compiled only once it has cost as much as that would.
    kinds: its last new programs: each its line, the names of its operations, and its kernels.
    compiled: has one been compiled whole?
    in_full: the kernels of those that were compiled in full at once.
    changing: are there programs beyond those of one loop whose steps are alike? `kinds` is kept until then.
    lines: for lines of the user's code the names of the operations, and the kernels (their hash), of programs made there.
    """

    programs = 0
    at_once = COMPILED_AT_ONCE
    known = 0
    patient = False
    kinds: ClassVar[deque[tuple[str, list[str], list[Any]]]] = deque(maxlen=FEW_PROGRAMS)
    in_full: ClassVar[set[tuple[Any, ...]]] = set()
    lines: ClassVar[dict[str, set[tuple[frozenset[str], int]]]] = {}
    compiled = False
    changing = False


def forget() -> None:
    """As in a new process: for tests, which share one."""
    _Process.programs, _Process.at_once, _Process.known = 0, COMPILED_AT_ONCE, 0
    _Process.kinds.clear()
    _Process.lines.clear()
    _Process.in_full.clear()
    _Process.compiled = _Process.changing = False


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """For what prepares data: its programs do not count among the loop's, and are not compiled for coming again alone."""
    before, _Process.patient = _Process.patient, True
    try:
        yield
    finally:
        _Process.patient = before


def is_patient() -> bool:
    """Does what runs now prepare data?"""
    return _Process.patient


def seen(new: bool) -> None:
    """A program is about to run that was seen before, or was not."""
    if _Process.patient:
        return
    if new:
        _Process.programs += 1
        _Process.known = 0
    else:
        _Process.known += 1


def _names(kernels: list[Any]) -> list[str]:
    return [kernel.name for kernel in kernels]


def is_new(line: str, kernels: list[Any]) -> None:
    """A program of these kernels has been recorded at this line of the user's code for the first time."""
    if _Process.patient:
        return
    made = _Process.lines.setdefault(line, set())
    if len(made) <= LOOP_VARIANTS:
        made.add((frozenset(_names(kernels)), hash(tuple(kernels))))
    if not _Process.changing:
        _Process.changing = _Process.compiled
        _Process.kinds.append((line, _names(kernels), kernels))


def _makes_ever_new(line: str, kernels: list[Any], long: bool) -> bool:
    """Has this line made many programs, or, where they are `long`, one of the same operations but for other shapes, or more or
    fewer of them? Then each comes again seldom: a loop over time, as long as what it is given; a tree; a sentence."""
    made = _Process.lines.get(line, ())
    if len(made) > LOOP_VARIANTS:
        return True
    names = frozenset(_names(kernels)) if long else None
    return sum(n == names for n, _ in made) > 1


def quick_runs(line: str, kernels: list[Any]) -> int:
    """How often a program, about to be compiled whole, is to run as what XLA compiles quickly: until its runs have cost as much as
    compiling it in full.

    Not at all in a process that is one loop so far, every step like the others: there it is compiled in full at once. It is none
    where a program is new after another has been compiled, where this program's line has made the same operations for other shapes,
    or where it has, since this program ran first, made more or fewer of them. The loop's own programs with other results (a loss
    that is read now and then) stay its own.
    """
    if _Process.patient:
        return 0
    if not _Process.changing:
        names, later = _names(kernels), False
        for other, its_names, others in _Process.kinds:
            later = later or others == kernels
            alike = its_names == names or (later and {*its_names} == {*names})
            _Process.changing = _Process.changing or (alike and other == line and others != kernels)
    size = sum(kernel.n_equations for kernel in kernels)
    _Process.changing = _Process.changing or _makes_ever_new(line, kernels, size > LONG_PROGRAM)
    _Process.compiled = True
    if not _Process.changing and size <= (LONG_PROGRAM if are_small(kernels) else HUGE_PROGRAM):
        _Process.in_full.add(tuple(kernels))
    if RUNS == 0 or tuple(kernels) in _Process.in_full or any(kernel.cost is None for kernel in kernels):
        return 0
    cost = sum(kernel.cost for kernel in kernels)
    return int(COMPILE_EQUATION * size / max(cost, 1.0))


def are_small(kernels: list[Any]) -> bool:
    """Has a program of these kernels small arrays only? NumPy's calls themselves are then most of what they cost there."""
    if not all(kernel.numpy_program is not None and kernel.host_run_limit for kernel in kernels):
        return False
    equations = sum(len(kernel.numpy_program.steps) for kernel in kernels)
    return sum(kernel.numpy_program.cost for kernel in kernels) <= SMALL_EQUATION * equations


def worth_compiling(line: str, kernels: list[Any], runs: int) -> bool:
    """Should a program of these kernels, recorded at this line, which runs for the `runs`-th time and has no executable yet, be
    compiled whole?"""
    if not all(kernel.numpy_program is not None for kernel in kernels):
        return True
    equations = sum(len(kernel.numpy_program.steps) for kernel in kernels)
    spent = runs * sum(kernel.numpy_program.cost for kernel in kernels)
    if _Process.patient:
        return spent > COMPILE_EQUATION * equations
    soon = LIKELY_RUNS * spent > COMPILE_EQUATION * equations
    large = spent > runs * SMALL_EQUATION * equations
    if _makes_ever_new(line, kernels, equations > LONG_PROGRAM):
        return (_Process.known >= SETTLED_RUNS and soon) or QUICK_COMPILATION * spent > COMPILE_EQUATION * equations
    if _Process.programs <= FEW_PROGRAMS:
        return soon or equations <= LONG_PROGRAM or large
    at_once = _Process.at_once >= min(equations, COMPILED_AT_ONCE) and (equations <= COMPILED_AT_ONCE or large)
    if at_once:
        _Process.at_once = max(0, _Process.at_once - equations)
    return at_once or (_Process.known >= SETTLED_RUNS and soon) or spent > COMPILE_EQUATION * equations


def outputs(kernel: Any, arguments: list[Any], however_often: bool) -> list[Any] | None:
    """The outputs of a kernel for these host arrays, as such, perhaps views of one another; None where XLA has to run it. NumPy's
    warnings are to be off.

    however_often: the program that it stands in is one for NumPy, so what the kernel has cost by itself does not count.
    """
    if not kernel.host_run_limit and not suits(kernel):
        return None
    if not however_often:
        if kernel.host_runs >= kernel.host_run_limit:
            return None
        kernel.host_runs += 1
    program = kernel.numpy_program
    try:
        if program.function is not None:
            return program.function(*arguments)
        program.runs += 1
        if program.runs > KERNEL_WRITTEN_AFTER:
            program.function = writers.kernel_written(program)
        return program.run(arguments, careful=True)
    except Doubt:
        return None
