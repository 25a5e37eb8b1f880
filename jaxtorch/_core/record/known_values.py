"""What a pending value holds, where few instructions make it of arrays on the host (`labels.view(-1)`, a slice, a cast), and between
which numbers it lies, whatever it is made of (`argmax`, `topk`).

Found beside the program, which stays as it is: so that an operation can look at its indices when it is recorded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jax._src.array import ArrayImpl

from ..compile.kernel import Kernel
from ..host.numpy_program import Doubt, NoRule, NumpyProgram
from ..host.writers import kernel_written
from ..tuning import ASIDE_DEEP, ASIDE_ELEMENTS, ASIDE_NEAR, PROGRAM_WRITTEN_AFTER
from ..types.value import Value

_programs: dict[Kernel, NumpyProgram | None] = {}
_spans: dict[Kernel, list[Any]] = {}


def host_content(v: Value) -> np.ndarray[Any, Any] | None:
    """The content of a value that is on the host and need not be waited for."""
    array = v.array
    if v.aval.wrapped:
        return np.asarray(array, v.aval.dtype.np)
    if type(array) is ArrayImpl and v.aval.slot.name == "cpu" and array.is_ready():  # pyright: ignore[reportAttributeAccessIssue]
        return np.asarray(array)
    return array if type(array) is np.ndarray else None


def content(v: Value, deep: int = ASIDE_DEEP) -> np.ndarray[Any, Any] | None:
    """`host_content`, or what a value will be that is pending; None where that is not soon said."""
    array = host_content(v)
    if array is not None or v.program is None or not deep or v.aval.numel > ASIDE_ELEMENTS or v.array is not None:
        return array
    found = _made_by(v.program, v.slot)
    if found is None:
        return None
    kernel, slots, first = found
    operands = [content(v.program.values[s], deep - 1) for s in slots]
    program = None if any([x is None for x in operands]) else _on_numpy(kernel)  # noqa: C419
    if program is None:
        return None
    return computed(program, operands)[v.slot - first]


def computed(program: NumpyProgram, arrays: list[Any]) -> list[Any]:
    """The results of a kernel for these host arrays, perhaps views of them."""
    program.runs += 1
    with np.errstate(all="ignore"):
        if program.runs == PROGRAM_WRITTEN_AFTER:
            program.function = kernel_written(program)
        try:
            return program.run(arrays, careful=False) if program.function is None else program.function(*arrays)
        except Doubt:
            return program.run(arrays, careful=False)


def value_range(v: Value, deep: int = ASIDE_DEEP) -> range | None:
    """Whole numbers among which a pending value's elements are, whatever it is made of; None where that is not known."""
    program: Any = v.program
    if program is None or not deep or v.array is not None or (found := _made_by(program, v.slot)) is None:
        return None
    kernel, slots, first = found
    if kernel not in _spans:
        steps = _on_numpy(kernel)
        _spans[kernel] = [None] * len(kernel.out_avals) if steps is None else _spans_of(steps)
    among = _spans[kernel][v.slot - first]
    return value_range(program.values[slots[among]], deep - 1) if type(among) is int else among


_MOVES = frozenset("broadcast_in_dim reshape squeeze transpose rev slice copy copy_p stop_gradient sort".split())
"""Primitives whose results have the elements of their operands."""


def _spans_of(program: NumpyProgram) -> list[range | int | None]:
    """For each result of a kernel the whole numbers that it lies among, or the position of the operand whose elements it has."""
    found: dict[int, range | int | None] = dict(zip(program.inputs, range(len(program.inputs)), strict=True))
    for step in program.steps:
        shape: Any = step.given[0][0] if step.given else ()
        kind = step.made[0][1]
        if step.name in ("argmax", "argmin"):
            found[step.outs[0]] = range(math.prod([shape[d] for d in step.params["axes"]]))
        elif step.name == "top_k":
            found[step.outs[1]] = range(shape[step.params["axis"]])
        elif step.name == "iota":
            found[step.outs[0]] = range(step.params["shape"][step.params["dimension"]])
        elif step.name in _MOVES or (step.name == "convert_element_type" and kind in (np.int32, np.int64)):
            for out, given in zip(step.outs, step.ins, strict=False):
                among = found.get(given)
                found[out] = None if step.name == "convert_element_type" and type(among) is int else among
    return [found.get(place) for place in program.outputs]


def _made_by(program: Any, slot: int) -> tuple[Kernel, list[int], int] | None:
    """The instruction that has this slot among its results, its operands' slots and its first result's, if it is a recent one."""
    code, inputs, top = program.code, program.inputs, len(program.values)
    entered = len(inputs)
    for place in range(len(code) - 1, max(-1, len(code) - ASIDE_NEAR), -1):
        kernel = code[place]
        if type(kernel) is not Kernel:
            continue
        first = top - len(kernel.out_avals)
        slots = code[place + 1 : place + 1 + kernel.n_in]
        if slot >= first:
            return None if kernel.checks else (kernel, slots, first)
        top = first
        while entered and inputs[entered - 1].slot == top - 1 and top - 1 in slots:  # these entered with it
            top, entered = top - 1, entered - 1
        if slot >= top:
            return None
    return None


def _on_numpy(kernel: Kernel) -> NumpyProgram | None:
    if kernel not in _programs:
        try:
            filled = kernel._filled_pattern  # a new size of a known operation is not traced for this
            _programs[kernel] = NumpyProgram(kernel.closed_jaxpr()) if filled is None else filled.numpy_program()
        except (NoRule, NotImplementedError):
            _programs[kernel] = None
    return _programs[kernel]
