"""A program that stays on the host (tiering.py), as steps of the kernels in C++: one call where NumPy takes some for each equation.

Every number is float32: flags are 0 or 1, places are whole numbers. Views cost nothing, as an operand has strides of its own. A
program with other types, or with an equation that is not in the tables here, stays NumPy's (numpy_code.py).
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import native
from ..tuning import STEP_ARRAYS, STEP_CONSTANT, STEP_DIMENSIONS
from . import sample_memory
from .native_chains import ELEMENTWISE, chained
from .numpy_program import NumpyProgram, Step
from .small_views import merged

_CODES = {
    "dot_general": 0, "copy": 1, "neg": 2, "abs": 3, "exp": 4, "log": 5, "log1p": 6, "expm1": 7, "tanh": 8, "logistic": 9,
    "sqrt": 10, "rsqrt": 11, "erf": 12, "sin": 13, "cos": 14, "not": 15, "flag": 16, "bytes": 17,
    "add": 20, "add_any": 20, "sub": 21, "mul": 22,
    "and": 22, "div": 23, "max": 24, "or": 24, "min": 25, "eq": 26, "ne": 27, "lt": 28, "le": 29, "gt": 30, "ge": 31, "select_n": 40,
    "clamp": 41, "reduce_sum": 50, "reduce_max": 51, "reduce_or": 51, "reduce_min": 52, "reduce_and": 52, "argmax": 53, "argmin": 54,
}  # fmt: skip
"""The numbers of the steps, as `run_steps` in native/steps.inc has them."""

_FLAGS_ONLY = frozenset(("and", "or", "not", "reduce_and", "reduce_or"))  # of integers they are something else
_MOVES = frozenset(("copy_p", "copy", "stop_gradient"))
_HEAD = 8  # words of a step before its operands: code, chain, four sizes, where the result begins
_WORDS = _HEAD + 3 * (2 + STEP_DIMENSIONS)
_FLOAT32, _BOOL, _BYTE = np.dtype(np.float32), np.dtype(bool), np.dtype(np.uint8)
_LARGEST = 1 << 24  # elements of an array: places up to here are float32 numbers


class _Unsupported(Exception):
    """The kernels cannot run this program."""


class _View(NamedTuple):
    """Numbers at bases[base] + offset, `strides` apart."""

    base: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def is_dense(self) -> bool:
        return all(s == d or n == 1 for n, s, d in zip(self.shape, self.strides, _dense(self.shape), strict=True))

    def turned(self) -> _View:
        """With its dimensions in the opposite order."""
        return self._replace(shape=self.shape[::-1], strides=self.strides[::-1])

    def spread(self, shape: tuple[int, ...]) -> _View:
        """Repeated as an operand of results of this shape: without dimensions, or with some of one element."""
        if self.shape and (
            len(self.shape) != len(shape) or any(m not in (1, n) for m, n in zip(self.shape, shape, strict=True))
        ):
            raise _Unsupported
        strides = (
            [s if m == n else 0 for m, n, s in zip(self.shape, shape, self.strides, strict=True)]
            if self.shape
            else [0] * len(shape)
        )
        return self._replace(shape=shape, strides=tuple(strides))


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


class Steps:
    """A program as the kernels' steps: called with its arrays, the live results as new host arrays; None for inputs that are not as
    expected.

    address: where `program`, an array, has it. entry: where the function is that runs it.
    kinds: shapes and types of the results. cast: those that are made of float32 numbers afterwards.
    """

    __slots__ = ("program", "address", "entry", "kinds", "cast", "_run")

    def __init__(self, program: np.ndarray[Any, Any], run: Any, kinds: list[tuple[tuple[int, ...], Any]]) -> None:
        self.program, self.address, self._run, self.kinds = program, program.ctypes.data, run, kinds
        self.entry = native.address_of(run)
        self.cast = [(i, kind) for i, (_, kind) in enumerate(kinds) if kind != _FLOAT32]

    def __call__(self, arrays: list[Any]) -> list[Any] | None:
        batch = sample_memory.current()
        if batch is None:
            outs = [np.empty(shape, _FLOAT32) for shape, _ in self.kinds]
        else:  # what is cast below is no sample's
            outs = [batch.place(shape) if kind == _FLOAT32 else np.empty(shape, _FLOAT32) for shape, kind in self.kinds]
        if not self._run(self.address, arrays, outs):
            return None
        for i, kind in self.cast:
            outs[i] = outs[i].astype(kind)
        return outs


def written(plan: Any, passes_only: bool = False) -> Steps | None:
    """A program as steps, or None if the kernels are not there or cannot run all of it. `passes_only`: nor if there is anything but
    elementwise steps."""
    run = native.steps()
    if run is None or len(plan.input_avals) + len(plan.live) > STEP_ARRAYS:
        return None
    try:
        writer = _Writer(plan)
        made = writer.program()
    except _Unsupported:
        return None
    if passes_only and not all(step[0] in ELEMENTWISE for step in writer.steps):
        return None
    avals = plan.avals()
    return Steps(made, run, [(avals[slot].shape, avals[slot].dtype.np) for slot in plan.live])


class _Writer:
    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.n_inputs = len(plan.input_avals)
        self.constants: list[float] = []
        self.constants_at = self.n_inputs + len(plan.live)
        self.steps: list[list[int]] = []
        self.used = 0  # of the scratch memory
        self.places: list[int] = []  # in it, of results
        self.sums: dict[_View, list[int]] = {}  # results of products that nothing has been added to
        self.bytes: set[int] = set()  # inputs of bytes

    def program(self) -> np.ndarray[Any, Any]:
        """What `jaxtorch_run_steps` reads, in one array with the constants at its end."""
        plan, slots, sizes = self.plan, {}, []
        for i, (slot, aval) in enumerate(zip(plan.input_slots, plan.input_avals, strict=True)):
            if not aval.wrapped and (aval.dtype.np not in (_FLOAT32, _BYTE) or aval.numel == 0):
                raise _Unsupported
            if not aval.wrapped and aval.dtype.np == _BYTE:
                self.bytes.add(i)
            sizes.append(0 if aval.wrapped else aval.dtype.itemsize * aval.numel)
            slots[slot] = _View(i, 0, aval.shape, _dense(aval.shape))
        for kernel, operands, first in plan.steps:
            for k, view in enumerate(self._kernel(kernel, [slots[s] for s in operands])):
                slots[first + k] = view
        avals = plan.avals()
        for i, slot in enumerate(plan.live):
            shape, view = avals[slot].shape, slots[slot]
            sizes.append(4 * math.prod(shape))
            self._each("copy", [view], shape, _View(self.n_inputs + i, 0, shape, _dense(shape)))
        in_chains, blocks = chained(self._direct(self._needed()), self.constants_at + 1, self.places)
        steps = [n for step in in_chains for n in step]
        made = np.zeros(6 + len(sizes) + len(steps) + len(self.constants) // 2 + 1, np.int64)
        body = 6 + len(sizes)
        made[6:body], made[body : body + len(steps)] = sizes, steps
        constants = made[body + len(steps) :].view(np.float32)
        constants[: len(self.constants)] = self.constants
        scratch = self.used + blocks, self.used
        made[:6] = self.n_inputs, len(plan.live), len(steps) // _WORDS, *scratch, constants.ctypes.data
        return made

    def _needed(self) -> list[list[int]]:
        """The steps that the results depend on."""
        scratch, needed, found = self.constants_at + 1, set(), []
        for step in reversed(self.steps):
            out, offset = step[6:8]
            if out == scratch and offset not in needed:
                continue
            found.append(step)
            for at in range(_HEAD, _WORDS, 2 + STEP_DIMENSIONS):
                if step[at] == scratch:
                    needed.add(self._place(step[at + 1]))
        return found[::-1]

    def _direct(self, steps: list[list[int]]) -> list[list[int]]:
        """The steps, where what is only copied to the program's results is made there."""
        scratch = self.constants_at + 1
        read = Counter(
            self._place(step[at + 1])
            for step in steps
            for at in range(_HEAD, _WORDS, 2 + STEP_DIMENSIONS)
            if step[at] == scratch
        )
        makers = {step[7]: step for step in steps if step[6] == scratch}
        found = []
        for step in steps:
            base, offset, *strides = step[_HEAD : _HEAD + 2 + STEP_DIMENSIONS]
            sizes = step[2 : 2 + STEP_DIMENSIONS]
            maker = makers.get(offset) if step[0] == _CODES["copy"] and base == scratch else None
            if maker is None or read[offset] > 1 or tuple(strides) != _in_order(sizes):
                found.append(step)
            else:
                maker[6:8] = step[6:8]
        return found

    def _place(self, offset: int) -> int:
        """Where the result in the scratch memory begins that has this number."""
        return self.places[bisect.bisect(self.places, offset) - 1]

    # -- operands

    def _new(self, shape: tuple[int, ...]) -> _View:
        """A place of its own for a result, on a cache line's border."""
        if 0 in shape or math.prod(shape) > _LARGEST:
            raise _Unsupported
        at, self.used = self.used, self.used + -(-math.prod(shape) // 16) * 16
        self.places.append(at)
        return _View(self.constants_at + 1, at, shape, _dense(shape))

    def _constant(self, value: Any) -> _View:
        value = np.asarray(value)
        if value.size > STEP_CONSTANT or not _fits(value):
            raise _Unsupported
        at = len(self.constants)
        self.constants.extend(value.astype(np.float32).ravel().tolist())
        return _View(self.constants_at, at, value.shape, _dense(value.shape))

    def _whole(self, view: _View) -> _View:
        return view if view.is_dense() else self._each("copy", [view], view.shape)

    # -- steps

    def _kernel(self, kernel: Any, operands: list[_View]) -> list[_View]:
        program: NumpyProgram = kernel.numpy_program
        views = dict(zip(program.inputs, operands, strict=True))
        numbers = {i for i, aval in zip(program.inputs, kernel.in_avals, strict=True) if aval.wrapped}

        def operand(i: int) -> _View:
            if i not in views:
                views[i] = self._constant(program.env[i])
            return views[i]

        for step in program.steps:
            if numbers.intersection(step.ins) and (
                step.name != "convert_element_type" or step.made[0][1] != _FLOAT32
            ):  # a Python number counts as float32 once it is made that
                raise _Unsupported
            views[step.outs[0]] = self._step(step, [operand(i) for i in step.ins])
        if numbers.intersection(program.outputs):
            raise _Unsupported
        return [operand(i) for i in program.outputs]

    def _step(self, step: Step, ins: list[_View]) -> _View:
        name, shape, kind = step.name, step.made[0][0], step.made[0][1]
        if step.several or 0 in shape or not _is_number(kind, name):
            raise _Unsupported
        moved = self._moved(step, ins)
        if moved is not None:
            return moved
        if name not in _CODES or step.halves or (name in _FLAGS_ONLY and step.given[0][1] != _BOOL):
            raise _Unsupported
        if name == "dot_general":
            return self._product(step, ins)
        if _CODES[name] >= _CODES["reduce_sum"]:
            return self._reduced(step, ins[0])
        if kind not in (_FLOAT32, _BOOL):
            raise _Unsupported
        if name == "add" and (sum_ := self._with_row(ins, shape)) is not None:
            return sum_
        return self._each(name, ins, shape)

    def _moved(self, step: Step, ins: list[_View]) -> _View | None:
        """The operand seen otherwise, where that is all, or multiplied by itself."""
        shape, params = step.made[0][0], step.params
        match step.name:
            case name if name in _MOVES:
                return ins[0]
            case "broadcast_in_dim":
                strides = [0] * len(shape)
                for d, n, s in zip(params["broadcast_dimensions"], ins[0].shape, ins[0].strides, strict=True):
                    strides[d] = s if n == shape[d] else 0
                return _View(ins[0].base, ins[0].offset, shape, tuple(strides))
            case "reshape" if params["dimensions"] is None:
                return self._whole(ins[0])._replace(shape=shape, strides=_dense(shape))
            case "squeeze":
                kept = [d for d in range(len(ins[0].shape)) if d not in params["dimensions"]]
                return ins[0]._replace(shape=shape, strides=tuple([ins[0].strides[d] for d in kept]))
            case "transpose":
                return ins[0]._replace(shape=shape, strides=tuple([ins[0].strides[d] for d in params["permutation"]]))
            case "slice":
                starts, apart = params["start_indices"], params["strides"] or [1] * len(shape)
                offset = sum(a * s for a, s in zip(starts, ins[0].strides, strict=True))
                strides = tuple([s * a for s, a in zip(ins[0].strides, apart, strict=True)])
                return _View(ins[0].base, ins[0].offset + offset, shape, strides)
            case "square" | "integer_pow" if step.made[0][1] == _FLOAT32 and params.get("y", 2) in (2, 3):
                squared = self._each("mul", [ins[0], ins[0]], shape)
                return squared if params.get("y", 2) == 2 else self._each("mul", [squared, ins[0]], shape)
            case "convert_element_type":
                old, new = step.given[0][1], step.made[0][1]
                if ins[0].base in self.bytes:
                    if new != _FLOAT32:
                        raise _Unsupported
                    return self._each("bytes", ins, shape)
                if new == _BOOL and old != _BOOL:
                    return self._each("flag", ins, shape)
                if new == _FLOAT32 or old in (_BOOL, new):
                    return ins[0]
                raise _Unsupported
        return None

    def _each(self, name: str, ins: list[_View], shape: tuple[int, ...], out: _View | None = None) -> _View:
        """A step that computes each number by itself."""
        out = self._new(shape) if out is None else out
        columns = merged([*zip(shape, *[v.spread(shape).strides for v in ins], strict=True)])
        if len(columns) > STEP_DIMENSIONS:
            raise _Unsupported
        columns = [(1, *[0] * len(ins))] * (STEP_DIMENSIONS - len(columns)) + columns
        sizes, *strides = [list(row) for row in zip(*columns, strict=True)]
        self._add(_CODES[name], sizes, out, [[v.base, v.offset, *s] for v, s in zip(ins, strides, strict=True)])
        return out

    def _add(self, code: int, sizes: list[int], out: _View, operands: list[list[int]]) -> None:
        if code != _CODES["bytes"] and any(o[0] in self.bytes for o in operands):
            raise _Unsupported
        missing = [[-1, 0, *[0] * STEP_DIMENSIONS]] * (3 - len(operands))
        self.steps.append([code, 1, *sizes, out.base, out.offset, *[n for o in operands + missing for n in o]])

    def _product(self, step: Step, ins: list[_View]) -> _View:
        """Of two matrices, of which the right one may be turned."""
        (contract_a, contract_b), (batch, _) = step.params["dimension_numbers"]
        if (
            batch
            or len(contract_a) != 1
            or any(kind != _FLOAT32 or len(shape) not in (1, 2) for shape, kind in step.given)
        ):
            raise _Unsupported
        rows, columns = [
            x if len(x.shape) == 2 else x._replace(shape=(1, *x.shape), strides=(0, *x.strides)) for x in ins
        ]
        if len(ins[0].shape) == 2 and contract_a[0] == 0:
            rows = rows.turned()
        if len(ins[1].shape) == 2 and contract_b[0] == 0:
            columns = columns.turned()
        shape, alone = step.made[0][0], columns.shape[0] == 1
        if alone:  # one column: the same as one row times the other matrix turned
            rows, columns = columns, rows
        rows, turned = self._whole(rows), columns.is_dense() or not columns.turned().is_dense()
        columns = self._whole(columns) if turned else columns
        out = self._new(shape)
        sizes = [rows.shape[0], columns.shape[0], rows.shape[1], int(turned)]
        self._add(0, sizes, out, [[v.base, v.offset, *[0] * STEP_DIMENSIONS] for v in (rows, columns)])
        if not alone:
            self.sums[out] = self.steps[-1]
        return out

    def _with_row(self, ins: list[_View], shape: tuple[int, ...]) -> _View | None:
        """A product, of which nothing else has been made, and a row that is added to each of its rows: one step."""
        for sums, row in (ins, ins[::-1]):
            step = self.sums.get(sums)
            if step is None or sums.shape != shape or not shape:
                continue
            row = row.spread(shape)
            if not any(row.strides[:-1]) and row.strides[-1] == 1:
                out = self._new(shape)
                self.steps.append(
                    [*step[:6], out.base, out.offset, *step[_HEAD:-6], row.base, row.offset, *[0] * STEP_DIMENSIONS]
                )
                return out
        return None

    def _reduced(self, step: Step, x: _View) -> _View:
        axes = [*step.params["axes"]]
        rest = [d for d in range(len(x.shape)) if d not in axes]
        order = [*rest, *axes]
        turned = x._replace(shape=tuple([x.shape[d] for d in order]), strides=tuple([x.strides[d] for d in order]))
        whole, shape = self._whole(turned), step.made[0][0]
        out = self._new(shape)
        sizes = [1, 1, math.prod([x.shape[d] for d in rest]), math.prod([x.shape[d] for d in axes])]
        self._add(_CODES[step.name], sizes, out, [[whole.base, whole.offset, *[0] * STEP_DIMENSIONS]])
        return out


def _in_order(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of an operand that is read as it lies, as `_each` writes them."""
    return tuple([0 if n == 1 else math.prod(sizes[d + 1 :]) for d, n in enumerate(sizes)])


def _is_number(kind: Any, name: str) -> bool:
    """Does float32 hold what the kernels make of this type?"""
    return kind in (_FLOAT32, _BOOL) or name in (
        "argmax",
        "argmin",
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "transpose",
    )


def _fits(value: np.ndarray[Any, Any]) -> bool:
    """Are these float32 numbers, whatever their type?"""
    return value.dtype.kind in "fib" and np.array_equal(
        value.astype(_FLOAT32).astype(value.dtype), value, equal_nan=value.dtype.kind == "f"
    )
