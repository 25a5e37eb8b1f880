"""How a program runs on the host: the one place that chooses among the ways, and what each takes.

| way | what it has | an equation takes |
|---|---|---|
| kernel by kernel (`NumpyProgram.run`) | every rule of NumPy's | `NUMPY_CALL` and the rule's cost |
| a Python function (`numpy_code`) | the same, its equations in a row | a third of that |
| steps in C (`small_code`) | the common types, up to six dimensions; else calls of NumPy | `SMALL_STEP`, a call `SMALL_CALL` |
| steps in C++ (`native_code`) | float32, with vectors, a block at a time (`native_chains`) | `NATIVE_STEP`, its elements a tenth |

The first runs of a program go kernel by kernel, as nothing has to be made for that. Then it is written (`written`) in the way that
takes least, of those that were built and can run it. An estimate is made of the jaxpr alone, never of a clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..tuning import HOST_COPY, NATIVE_STEP
from . import native_code, numpy_code, small_code
from .numpy_program import NumpyProgram

Call = Callable[[list[Any]], list[Any]]

kernel_written = numpy_code.kernel_written


def written(plan: Any, otherwise: Call) -> Call:
    """`call(arrays)`: the live results of a program, new host arrays.

    otherwise: the same, kernel by kernel: for what NumPy would compute otherwise than XLA.
    """
    functions: list[Any] = []

    def in_numpy(arrays: list[Any]) -> list[Any]:
        if not functions:
            functions.append(numpy_code.written(plan))
        outs = functions[0](arrays)
        return otherwise(arrays) if outs is None else outs

    programs = [kernel.numpy_program for kernel, _, _ in plan.steps]
    equations = sum(len(program.steps) for program in programs)
    tiny = small_code.made_in_c is not None and sum(map(small_code.cost, programs)) < NATIVE_STEP * equations
    if tiny and (call := small_code.written(plan, in_numpy, calls=0)) is not None:
        return call
    steps = native_code.written(plan)
    if steps is None:
        computing = sum(step.name not in small_code.VIEWS for program in programs for step in program.steps)
        return small_code.written(plan, in_numpy, calls=computing / 2) or in_numpy  # whose own calls cost less

    def in_steps(arrays: list[Any]) -> list[Any]:
        outs = steps(arrays)
        return in_numpy(arrays) if outs is None else outs

    if small_code.made_in_c is None:
        return in_steps
    if not steps.cast:
        shapes = tuple([shape for shape, _ in steps.kinds])
        return small_code.made_in_c.HostCall(steps.address, steps.entry, shapes, in_steps, steps.program)
    return small_code.written(plan, in_steps, calls=0) or in_steps


def is_passes(plan: Any) -> bool:
    """Can the kernels in C++ run all of a program, and has it elementwise steps alone?"""
    return native_code.written(plan, passes_only=True) is not None


def cost(program: NumpyProgram) -> float:
    """Nanoseconds that a run of a kernel is estimated to take once the program that it stands in has been written."""
    if program.quick is None:
        program.quick = min(program.cost, small_code.cost(program)) + HOST_COPY * copied(program)
    return program.quick


def copied(program: NumpyProgram) -> int:
    """Numbers of its results that are views with other strides than a result's own, which cost nothing until they are copied."""
    made = {slot: step for step in program.steps for slot in step.outs}
    steps = [made[slot] for slot in program.outputs if slot in made]
    return sum(math.prod(s.made[0][0]) for s in steps if s.name in ("transpose", "rev", "broadcast_in_dim", "slice"))
