"""A program that stays on the host (tiering.py), as steps in C (native/small.inc), of any types.

What these steps have not is a call of NumPy's rule, on arrays in the program's scratch memory.
Views cost nothing, as an operand has strides of its own. Nothing is written twice, but for what a slice or a scatter is written into,
and memory whose numbers nothing needs any more, which is used again (small_memory.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tuning import (
    MULTIPLICATION,
    SMALL_ARRAYS,
    SMALL_CALL,
    SMALL_DIMENSIONS,
    SMALL_PRODUCT,
    SMALL_SCRATCH,
    SMALL_SORT,
    SMALL_STEP,
)
from .numpy_indexing import _fill
from .numpy_program import NumpyProgram, Step
from .numpy_rules import RULES
from .small_memory import Blocks, Full, held_memory
from .small_views import _Call, _dense, _flipped, _seen, _View, merged

LOOP, OF_ROWS, PRODUCT, SLICE, UPDATE, GATHER, SCATTER, SORT, TAKE, CALL = range(10)
"""The kinds of steps, as native/small.inc has them."""

_NAMES = {"float32": "f4", "float64": "f8", "int32": "i4", "int64": "i8", "uint8": "u1", "bool": "b1"}
_LETTERS = {np.dtype(name): letters for name, letters in _NAMES.items()}
_NUMBERS = {"f": 0, "i": 1, "b": 2}  # what a Python number is read as
_MOVES = frozenset(("copy_p", "copy", "stop_gradient", "optimization_barrier"))
VIEWS = _MOVES | {"broadcast_in_dim", "reshape", "squeeze", "transpose", "rev", "slice"}
_SAME = {"add_any": "add", "min": "min", "max": "max"}
_OF_FLAGS = {"max": "or", "min": "and", "mul": "and", "add": "or"}
_BITS = {1: "u1", 2: "i2", 4: "i4", 8: "i8"}
_SCATTERS = {"scatter": "", "scatter-add": "add", "scatter-mul": "mul", "scatter-min": "min", "scatter-max": "max",
             "scatter-sub": "sub"}  # fmt: skip

made_in_c: Any = None
"""The extension (dispatch/recorder.py); None where it was not built."""


class _Unsupported(Exception):
    """This program is NumPy's."""


def written(plan: Any, otherwise: Callable[[list[Any]], list[Any]], calls: float = math.inf) -> Any:
    """`call(arrays)`: the live results of a program, new host arrays; what `otherwise` makes of inputs that are not as expected.
    None where the steps were not built or cannot run the program, or not with so few calls of NumPy."""
    if made_in_c is None or len(plan.input_avals) + len(plan.live) > SMALL_ARRAYS:
        return None
    try:
        writer = _Writer(plan)
        made = writer.call(otherwise)
    except (_Unsupported, Full):
        return None
    return made if len(writer.waiting) <= calls else None


def cost(program: NumpyProgram) -> float:
    """An estimate of one run of a kernel as such steps, in nanoseconds."""
    if made_in_c is None:
        return program.cost
    total = 0.0
    for step, in_numpy in zip(program.steps, program.costs, strict=True):
        kinds = {_LETTERS.get(kind) for _, kind in (*step.given, *step.made)}
        n = max([math.prod(shape) for shape, _ in (*step.given, *step.made)], default=1)
        if step.name in VIEWS:
            total += 5.0
        elif _is_called(step, kinds):
            total += SMALL_CALL + in_numpy
        elif step.name == "dot_general":
            (contract, _), _ = step.params["dimension_numbers"]
            work = math.prod(step.made[0][0]) * math.prod([step.given[0][0][d] for d in contract])
            total += n + (SMALL_CALL + MULTIPLICATION * work if work > SMALL_PRODUCT else SMALL_STEP + 0.5 * work)
        elif step.name in ("sort", "top_k"):
            total += SMALL_STEP + 60.0 * n
        elif step.name == "gather" or step.name in _SCATTERS:
            moved = step.given[2][0] if step.name in _SCATTERS else step.made[0][0]
            total += SMALL_STEP + 5.0 * math.prod(moved) + (0.5 * n if step.name in _SCATTERS else 0.0)
        else:
            each: Any = RULES[step.name].cost
            total += SMALL_STEP + n * (1.0 if callable(each) else each)
    return total


def _is_called(step: Step, kinds: set[str | None]) -> bool:
    """Are there no steps for this equation, as far as its name and types tell?"""
    return (
        None in kinds
        or step.halves != ()
        or not (
            step.name in _METHODS
            or step.name in ("select_n", "convert_element_type")
            or any(f"{_SAME.get(step.name, step.name)}_{k}" in made_in_c.LOOPS for k in (*kinds, "u1"))
        )
    )


class _Writer:
    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.n_in = len(plan.input_avals)
        self.scratch_at = self.n_in + len(plan.live)
        self.memory = Blocks()
        self.words: list[int] = []
        self.constants: list[tuple[int, Any]] = []
        self.waiting: list[Any] = []  # calls whose arrays are made when the scratch memory is there

    def call(self, otherwise: Any) -> Any:
        plan = self.plan
        slots: dict[int, _View] = {}
        inputs = []
        for i, (slot, aval) in enumerate(zip(plan.input_slots, plan.input_avals, strict=True)):
            dtype = aval.dtype.np
            if aval.wrapped and dtype.kind not in _NUMBERS:
                raise _Unsupported
            slots[slot] = _View(i, 0, tuple(aval.shape), _dense(aval.shape, dtype), dtype)
            inputs.append(-1 - _NUMBERS[dtype.kind] if aval.wrapped else math.prod(aval.shape) * dtype.itemsize)
        for (kernel, operands, first), ended in zip(plan.steps, plan.last_use, strict=True):
            outs = self._kernel(kernel.numpy_program, [slots[s] for s in operands])
            slots.update({first + k: view for k, view in enumerate(outs)})
            for s in ended:
                self._release(slots.pop(s))
        avals, kinds = plan.avals(), []
        for i, s in enumerate(plan.live):
            shape, dtype = tuple(avals[s].shape), avals[s].dtype.np
            kinds.append((shape, dtype))
            self._move(_View(self.n_in + i, 0, shape, _dense(shape, dtype), dtype), slots[s])
        scratch = held_memory(self.memory.used + 64)
        start = -scratch.ctypes.data % 64
        memory = scratch[start:]
        for at, value in self.constants:
            memory[at : at + value.nbytes] = np.frombuffer(value.tobytes(), np.uint8)
        calls = tuple([make(memory) for make in self.waiting])
        steps = np.array(self.words, np.int64).tobytes()
        return made_in_c.SmallCall(steps, scratch, memory.ctypes.data, tuple(inputs), tuple(kinds), calls, otherwise)

    def _kernel(self, program: NumpyProgram, operands: list[_View]) -> list[_View]:
        views = dict(zip(program.inputs, operands, strict=True))

        def operand(i: int) -> _View:
            if i not in views:
                views[i] = self._constant(program.env[i])
                self._hold(views[i])  # a number that comes of a size is a variable of the kernel, and let go like one
            return views[i]

        for view in operands:
            self._hold(view)
        for step in program.steps:
            made = self._step(step, [operand(i) for i in step.ins])
            views.update(zip(step.outs, made, strict=True))
            for view in made:
                self._hold(view)
            for i in step.dead:
                self._release(views.pop(i))
            self.memory.sweep()
        outs = [operand(i) for i in program.outputs]
        for view in outs:
            self._hold(view)
        for i in {*program.inputs, *[o for step in program.steps for o in step.outs]} & {*views}:
            self._release(views[i])
        return outs

    # -- memory

    def _new(self, shape: Sequence[int], dtype: Any, lasting: bool = False) -> _View:
        at = self.memory.take(math.prod(shape) * dtype.itemsize, lasting)
        if self.memory.used > SMALL_SCRATCH:
            raise _Unsupported
        return _View(self.scratch_at, at, tuple(shape), _dense(shape, dtype), dtype)

    def _hold(self, view: _View) -> None:
        if view.base == self.scratch_at:
            self.memory.hold(view.offset)

    def _release(self, view: _View) -> None:
        if view.base == self.scratch_at:
            self.memory.release(view.offset)

    def _constant(self, value: Any) -> _View:
        value = np.ascontiguousarray(value).reshape(np.shape(value))
        view = self._new(value.shape, value.dtype, lasting=True)
        self.constants.append((view.offset, value))
        return view

    def _whole(self, view: _View) -> _View:
        if view.is_dense():
            return view
        out = self._new(view.shape, view.dtype)
        self._move(out, view)
        return out

    def _move(self, out: _View, view: _View) -> None:
        self._loop(f"copy_{_bits(view.dtype)}", out, [view])

    # -- steps

    def _add(self, kind: int, *words: Any) -> None:
        flat: list[int] = []
        for w in words:
            flat.extend(w) if isinstance(w, (tuple, list)) else flat.append(int(w))
        self.words += [kind, len(flat) + 2, *flat]

    def _loop(self, name: str, out: _View, ins: list[_View]) -> None:
        number = made_in_c.LOOPS.get(name)
        if number is None:
            raise _Unsupported
        if 0 in out.shape:
            return
        rows = [out.strides, *[v.spread(out.shape) for v in ins]]
        columns = merged(list(zip(out.shape, *rows, strict=True)))
        if len(columns) > SMALL_DIMENSIONS:
            raise _Unsupported
        sizes, *strides = zip(*columns, strict=True) if columns else ((), *[()] * len(rows))
        places = [w for v, s in zip([out, *ins], strides, strict=True) for w in (v.base, v.offset, *s)]
        self._add(LOOP, number, len(ins), len(sizes), sizes, places)

    def _step(self, step: Step, ins: list[_View]) -> list[_View]:
        moved = self._moved(step, ins)
        if moved is not None:
            return [moved]
        rest = _METHODS.get(step.name)
        if not step.halves and rest is not None:
            found = rest(self, step, ins)
            if found is not None:
                return found if isinstance(found, list) else [found]
        if not step.several and not step.halves:
            found = self._each(step, ins)
            if found is not None:
                return [found]
        return self._called(step, ins)

    def _each(self, step: Step, ins: list[_View]) -> _View | None:
        """What a loop computes of each number by itself."""
        (shape, made), name = step.made[0], step.name
        kind = step.given[0][1] if step.given else made
        if name == "select_n":
            if len(ins) != 3 or kind != np.bool_ or made.itemsize not in _BITS:
                return None
            loop = f"select_{_bits(made)}"
        elif name == "convert_element_type":
            old, new = _LETTERS.get(kind), _LETTERS.get(made)
            if old is None or new is None or new == "u1":
                return None
            loop = f"cast_{'u1' if old == 'b1' else old}_{new}"
        else:
            name = _SAME.get(name, name)
            if kind == np.bool_:
                name = _OF_FLAGS.get(name, name)
            letters = _LETTERS.get(kind)
            if name in ("eq", "ne", "lt", "le", "gt", "ge") and letters == "b1":
                letters = "u1"
            loop = f"{name}_{letters}"
        if loop not in made_in_c.LOOPS or any(len(v.shape) not in (0, len(shape)) for v in ins):
            return None
        if name == "pow" and step.given[1][1] != kind:
            return None
        out = self._new(shape, made)
        self._loop(loop, out, ins)
        return out

    def _moved(self, step: Step, ins: list[_View]) -> _View | None:
        """The operand seen otherwise, where that is all."""
        if len(step.made) != 1 or not ins:
            return None
        shape, params, x = step.made[0][0], step.params, ins[0]
        match step.name:
            case name if name in _MOVES:
                return x
            case "convert_element_type" if step.given[0][1] == step.made[0][1]:
                return x
            case "broadcast_in_dim":
                strides = [0] * len(shape)
                for d, n, s in zip(params["broadcast_dimensions"], x.shape, x.strides, strict=True):
                    strides[d] = s if n == shape[d] else 0
                return x._replace(shape=shape, strides=tuple(strides))
            case "reshape" if params["dimensions"] is None:
                return self._whole(x)._replace(shape=shape, strides=_dense(shape, x.dtype))
            case "squeeze":
                kept = [d for d in range(len(x.shape)) if d not in params["dimensions"]]
                return x.permuted(kept)
            case "transpose":
                return x.permuted(params["permutation"])
            case "rev":
                return _flipped(x, params["dimensions"])
            case "slice":
                starts, apart = params["start_indices"], params["strides"] or [1] * len(shape)
                offset = x.offset + sum(a * s for a, s in zip(starts, x.strides, strict=True))
                strides = tuple([s * a for s, a in zip(x.strides, apart, strict=True)])
                return x._replace(offset=offset if 0 not in shape else 0, shape=shape, strides=strides)
        return None

    def _powers(self, step: Step, ins: list[_View]) -> _View | None:
        n, (shape, dtype) = step.params["y"], step.made[0]
        if not 1 <= n <= 8 or f"mul_{_LETTERS.get(dtype)}" not in made_in_c.LOOPS:
            return None
        result, power = None, ins[0]
        while n:
            if n & 1:
                result = power if result is None else self._product_of(result, power, shape, dtype)
            n >>= 1
            power = self._product_of(power, power, shape, dtype) if n else power
        return result

    def _product_of(self, a: _View, b: _View, shape: Any, dtype: Any) -> _View:
        out = self._new(shape, dtype)
        self._loop(f"mul_{_LETTERS[dtype]}", out, [a, b])
        return out

    def _reduced(self, step: Step, ins: list[_View]) -> _View | None:
        axes, (shape, made), x = [*step.params["axes"]], step.made[0], ins[0]
        letters = _LETTERS.get(x.dtype)
        name = f"{step.name}_{letters}"
        if step.name.startswith("arg"):
            name = f"{name}_{_LETTERS.get(made)}"
        number = made_in_c.ROWS.get(name)
        if number is None or 0 in x.shape:
            return None
        if not axes:
            return x
        rest = [d for d in range(len(x.shape)) if d not in axes]
        whole, out = self._whole(x.permuted([*rest, *axes])), self._new(shape, made)
        rows, n = math.prod([x.shape[d] for d in rest]), math.prod([x.shape[d] for d in axes])
        self._add(OF_ROWS, number, rows, n, whole[:2], out[:2])
        return out

    def _running(self, step: Step, ins: list[_View]) -> _View | None:
        number = made_in_c.ROWS.get(f"{step.name}_{_LETTERS.get(ins[0].dtype)}")
        if number is None or 0 in ins[0].shape:
            return None
        axis, back = step.params["axis"], step.params.get("reverse", False)
        order = [d for d in range(len(ins[0].shape)) if d != axis] + [axis]
        x = _flipped(ins[0], (axis,)) if back else ins[0]
        whole = self._whole(x.permuted(order))
        out = self._new(whole.shape, whole.dtype)
        n = whole.shape[-1]
        self._add(OF_ROWS, number, math.prod(whole.shape[:-1]), n, whole[:2], out[:2])
        places = [order.index(d) for d in range(len(order))]
        out = out.permuted(places)
        return _flipped(out, (axis,)) if back else out

    def _sorted(self, step: Step, ins: list[_View]) -> list[_View] | None:
        """`sort` by one key, and `top_k`."""
        best = step.name == "top_k"
        if step.params.get("num_keys", 1) != 1 or ins[0].dtype not in _KEYS or 0 in ins[0].shape:
            return None
        axis = step.params["axis" if best else "dimension"] % len(ins[0].shape)
        order = [d for d in range(len(ins[0].shape)) if d != axis] + [axis]
        places = [order.index(d) for d in range(len(order))]
        wholes = [self._whole(x.permuted(order)) for x in ins]
        shape = wholes[0].shape
        rows, n = math.prod(shape[:-1]), shape[-1]
        if rows * n > SMALL_SORT:
            return None
        sequence, spare = self._new(shape, np.dtype(np.int64)), self._new((n,), np.dtype(np.int64))
        self._add(SORT, _KEYS[ins[0].dtype], rows, n, best, wholes[0][:2], sequence[:2], spare[:2])
        count, outs = step.params["k"] if best else n, []
        for (_, made), x in zip(step.made, [*wholes, None] if best else wholes, strict=True):
            out = self._new((*shape[:-1], count), made if x is None else x.dtype)
            if x is None:
                cut = sequence._replace(shape=(*shape[:-1], count))
                self._loop(f"cast_i8_{_LETTERS[made]}" if made != np.int64 else "copy_i8", out, [cut])
            else:
                self._add(TAKE, x.dtype.itemsize, rows, n, count, x[:2], sequence[:2], out[:2])
            outs.append(out.permuted(places))
        return outs

    def _product(self, step: Step, ins: list[_View]) -> _View | None:
        (contract_a, contract_b), (batch_a, batch_b) = step.params["dimension_numbers"]
        (shape, dtype), (a, b) = step.made[0], ins
        if dtype not in (np.float32, np.float64) or a.dtype != dtype or b.dtype != dtype or 0 in (*a.shape, *b.shape):
            return None
        free_a = [d for d in range(len(a.shape)) if d not in contract_a and d not in batch_a]
        free_b = [d for d in range(len(b.shape)) if d not in contract_b and d not in batch_b]
        work = math.prod(shape) * math.prod([a.shape[d] for d in contract_a])
        if work > SMALL_PRODUCT:
            return None
        left = _grouped(self, a, (batch_a, free_a, contract_a))
        right = _grouped(self, b, (batch_b, contract_b, free_b))
        out = self._new(shape, dtype)
        wide: Any = dtype.itemsize
        sizes = left.shape[0], left.shape[1], left.shape[2], right.shape[2]
        strides = [[s // wide for s in v.strides] for v in (left, right)]
        self._add(PRODUCT, dtype == np.float64, sizes, left[:2], strides[0], right[:2], strides[1], out[:2])
        return out

    def _joined(self, step: Step, ins: list[_View]) -> _View | None:
        """`concatenate` and `stack`."""
        (shape, dtype), stacked = step.made[0], step.name == "stack"
        if dtype.itemsize not in _BITS:
            return None
        axis, at, out = step.params["axis" if stacked else "dimension"], 0, self._new(shape, dtype)
        for x in ins:
            if stacked:
                x = x._replace(
                    shape=(*x.shape[:axis], 1, *x.shape[axis:]), strides=(*x.strides[:axis], 0, *x.strides[axis:])
                )
            self._move(out._replace(offset=out.offset + at * out.strides[axis], shape=x.shape), x)
            at += x.shape[axis]
        return out

    def _split(self, step: Step, ins: list[_View]) -> list[_View]:
        x, axis, at, outs = ins[0], step.params["axis"], 0, []
        for shape, _ in step.made:
            offset = x.offset + at * x.strides[axis]
            if step.name == "unstack":
                part = x.permuted([d for d in range(len(x.shape)) if d != axis])._replace(offset=offset)
                at += 1
            else:
                part = x._replace(offset=offset, shape=shape)
                at += shape[axis]
            outs.append(part)
        return outs

    def _padded(self, step: Step, ins: list[_View]) -> _View | None:
        (shape, dtype), config = step.made[0], step.params["padding_config"]
        if dtype.itemsize not in _BITS or any(low < 0 or high < 0 for low, high, _ in config):
            return None
        out, x = self._new(shape, dtype), ins[0]
        self._move(out, ins[1])
        offset = out.offset + sum(low * s for (low, _, _), s in zip(config, out.strides, strict=True))
        strides = tuple([s * (hole + 1) for (_, _, hole), s in zip(config, out.strides, strict=True)])
        self._move(out._replace(offset=offset, shape=x.shape, strides=strides), x)
        return out

    def _counted(self, step: Step, ins: list[_View]) -> _View:
        """`iota`."""
        (shape, dtype), dimension = step.made[0], step.params["dimension"]
        line = self._constant(np.arange(shape[dimension]).astype(dtype))
        return line._replace(
            shape=shape, strides=tuple([dtype.itemsize if d == dimension else 0 for d in range(len(shape))])
        )

    # -- slices, gathers, scatters

    def _sliced(self, step: Step, ins: list[_View]) -> _View | None:
        update = step.name == "dynamic_update_slice"
        x, starts = ins[0], ins[2:] if update else ins[1:]
        sizes = ins[1].shape if update else tuple(step.params["slice_sizes"])
        nd, widths = len(sizes), {v.dtype for v in starts}
        if (
            nd > SMALL_DIMENSIONS
            or x.dtype.itemsize not in _BITS
            or len(widths) > 1
            or not widths <= {np.dtype("i4"), np.dtype("i8")}
        ):
            return None
        limits = [n - k for n, k in zip(x.shape, sizes, strict=True)]
        head = [x.dtype.itemsize, starts[0].dtype.itemsize if starts else 8, nd, *sizes]
        places = [w for v in starts for w in v[:2]]
        if not update:
            out = self._new(sizes, x.dtype)
            whole, part = x, out
        else:
            out = whole = self._new(x.shape, x.dtype)
            self._move(out, x)
            part = ins[1]
        if 0 not in sizes:
            words = [*whole[:2], *whole.strides, *limits, *places, *part[:2], *part.spread(sizes)]
            self._add(UPDATE if update else SLICE, head, words)
        return out

    def _gathered(self, step: Step, ins: list[_View]) -> _View | None:
        d, sizes, (x, indices) = step.params["dimension_numbers"], step.params["slice_sizes"], ins
        mode, (shape, dtype) = str(step.params["mode"]), step.made[0]
        if not self._can_index(x, indices, d.operand_batching_dims) or 0 in (*shape, *x.shape):
            return None
        outside = np.asarray(_fill(dtype, step.params["fill_value"]), dtype) if "FILL" in mode else np.zeros((), dtype)
        kept = [k for k in range(len(x.shape)) if k not in d.collapsed_slice_dims]
        window = [sizes[k] for k in kept]
        batch = indices.shape[:-1]
        out = self._new((*batch, *window), dtype)
        axes = [(x.shape[axis] - sizes[axis], x.strides[axis]) for axis in d.start_index_map]
        self._indexed(GATHER, 1 if "FILL" in mode else 0, x, indices, axes, outside, kept, window, out, [])
        front = [i for i in range(len(shape)) if i not in d.offset_dims]
        order = [*front, *d.offset_dims]  # of the result, as the memory has it
        return out.permuted([order.index(i) for i in range(len(shape))])

    def _scattered(self, step: Step, ins: list[_View]) -> _View | None:
        d, (x, indices, updates), dtype = step.params["dimension_numbers"], ins, step.made[0][1]
        joins = _SCATTERS[step.name]
        loop = made_in_c.LOOPS.get(f"{joins}_{_LETTERS.get(dtype)}") if joins else -1
        if loop is None or (not joins and getattr(step.params["update_jaxpr"], "eqns", ())):
            return None
        if not self._can_index(x, indices, d.operand_batching_dims) or 0 in (*updates.shape, *x.shape):
            return None
        out = self._new(x.shape, dtype)
        self._move(out, x)
        windows = iter(d.update_window_dims)
        sizes = [1 if k in d.inserted_window_dims else updates.shape[next(windows)] for k in range(len(x.shape))]
        kept = [k for k in range(len(x.shape)) if k not in d.inserted_window_dims]
        outer = [k for k in range(len(updates.shape)) if k not in d.update_window_dims]
        given = self._whole(updates.permuted([*outer, *d.update_window_dims]))
        axes = [(x.shape[axis] - sizes[axis], out.strides[axis]) for axis in d.scatter_dims_to_operand_dims]
        mode = 0 if "CLIP" in str(step.params["mode"]) else 2
        nothing = np.zeros((), dtype)
        self._indexed(SCATTER, mode, out, indices, axes, nothing, kept, [sizes[k] for k in kept], given, [loop])
        return out

    @staticmethod
    def _can_index(x: _View, indices: _View, batching: Any) -> bool:
        return (
            not batching
            and len(x.shape) <= SMALL_DIMENSIONS
            and x.dtype.itemsize in _BITS
            and indices.dtype in (np.int32, np.int64)
        )

    def _indexed(
        self, kind: int, mode: int, x: _View, indices: _View, axes: Any, outside: Any, kept: Any, window: Any, rows: _View, end: Any
    ) -> None:  # fmt: skip
        """GATHER or SCATTER. `rows`: the windows, one after the other."""
        whole, batch = self._whole(indices), indices.shape[:-1]
        at = self._constant(outside) if mode == 1 else x
        columns = merged(
            [(n, x.strides[k], s) for k, n, s in zip(kept, window, rows.strides[len(batch) :], strict=True)]
        )
        sizes, of_x, of_rows = zip(*columns, strict=True) if columns else ((), (), ())
        wide = x.dtype.itemsize
        of_axes = [w for pair in axes for w in pair]
        head = [wide, indices.dtype.itemsize, math.prod(batch), mode, len(axes), *whole[:2], *of_axes]
        tail = [*x[:2], *of_x, *rows[:2], math.prod(window) * wide, *of_rows]
        self._add(kind, head, at[:2], len(sizes), sizes, tail, end)

    # -- what is left to NumPy

    def _called(self, step: Step, ins: list[_View]) -> list[_View]:
        """A call of NumPy's rule, on arrays in the scratch memory."""
        if any(0 in v.shape for v in ins) or any(0 in shape for shape, _ in step.made):
            raise _Unsupported
        given = [self._in_scratch(v) for v in ins]
        outs = [self._new(shape, dtype) for shape, dtype in step.made]

        def make(memory: Any) -> Any:
            arrays, results = [_seen(memory, v) for v in given], [_seen(memory, v) for v in outs]
            return _Call(step, arrays, results)

        self._add(CALL, len(self.waiting))
        self.waiting.append(make)
        return outs

    def _in_scratch(self, view: _View) -> _View:
        if view.base == self.scratch_at:
            return view
        if view.dtype.itemsize not in _BITS:
            raise _Unsupported
        out = self._new(view.shape, view.dtype)
        self._move(out, view)
        return out


def _bits(dtype: Any) -> str:
    try:
        return _BITS[dtype.itemsize]
    except KeyError:
        raise _Unsupported from None


def _grouped(writer: _Writer, x: _View, groups: Sequence[Sequence[int]]) -> _View:
    """With the dimensions of each group as one."""
    turned = x.permuted([d for group in groups for d in group])
    sizes, strides, at = [], [], 0
    for group in groups:
        part = merged(list(zip(turned.shape[at : at + len(group)], turned.strides[at : at + len(group)], strict=True)))
        if len(part) > 1:
            whole = writer._whole(turned)
            shape = tuple([math.prod([x.shape[d] for d in g]) for g in groups])
            return whole._replace(shape=shape, strides=_dense(shape, x.dtype))
        sizes.append(part[0][0] if part else 1)
        strides.append(part[0][1] if part else 0)
        at += len(group)
    if groups[0] and strides[1:] and x.dtype.itemsize and any(s % x.dtype.itemsize for s in strides):
        raise _Unsupported
    return turned._replace(shape=tuple(sizes), strides=tuple(strides))


_KEYS = {np.dtype("f4"): 0, np.dtype("f8"): 1, np.dtype("i4"): 2, np.dtype("i8"): 3}

_METHODS: dict[str, Any] = {
    "integer_pow": _Writer._powers, "dot_general": _Writer._product, "concatenate": _Writer._joined, "stack": _Writer._joined,
    "split": _Writer._split, "unstack": _Writer._split, "pad": _Writer._padded, "iota": _Writer._counted,
    "dynamic_slice": _Writer._sliced, "dynamic_update_slice": _Writer._sliced, "gather": _Writer._gathered,
    "sort": _Writer._sorted, "top_k": _Writer._sorted, **dict.fromkeys(_SCATTERS, _Writer._scattered),
    **dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_or", "reduce_and", "argmax", "argmin"),
                    _Writer._reduced),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), _Writer._running),
}  # fmt: skip
"""How primitives are written that are no loop over each number."""
