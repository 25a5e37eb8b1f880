"""A program that stays on NumPy (tiering.py) as one Python function: its kernels' equations in a row.

`NumpyProgram.run` looks up every operand and converts every result; for arrays of a few elements that is most of the time. Here each
equation is a line of Python. What a `broadcast_in_dim` repeats is left small where NumPy's own broadcasting does as well: such a
variable is *narrow*, and is filled out only for what needs all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..compile.kernel import function_from_text
from .blas import matmul
from .numpy_program import Doubt, NumpyProgram, Step
from .numpy_rules import RULES, UFUNCS
from .transfer import fetched

_BY_SHAPE = frozenset(("reshape", "squeeze", "transpose", "rev", "slice", "copy", "copy_p", "stop_gradient"))
"""Moves: of a single repeated element they make another."""


def written(plan: Any) -> Callable[[list[Any]], list[Any] | None]:
    """`call(arrays)`: the live results of a program, new host arrays; None where NumPy would give something else than XLA."""
    return _Writer(plan).function()


def kernel_written(program: NumpyProgram) -> Callable[..., list[Any]]:
    """`call(*arrays)`: a kernel's results, perhaps views of one another; Doubt where NumPy would give something else than XLA."""
    writer = _Writer(None)
    given = [f"v{k}" for k in range(len(program.inputs))]
    shapes = {place: shape for step in program.steps for place, (shape, _) in zip(step.outs, step.made, strict=True)}
    outs = [
        writer._whole(name, shapes.get(place, ()))
        for name, place in zip(writer._kernel(program, given), program.outputs, strict=True)
    ]
    body = "".join(f"    {line}\n" for line in writer.lines)
    return function_from_text(
        f"def call({', '.join(given)}):\n{body}    return [{', '.join(outs)}]", writer.scope, "call"
    )


def _own(x: Any) -> Any:
    return x if x.base is None and x.flags.c_contiguous else x.copy()


def _filled(x: Any, shape: tuple[int, ...]) -> Any:
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


class _Writer:
    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.scope: dict[str, Any] = {
            "asarray": np.asarray, "ndarray": np.ndarray, "errstate": np.errstate, "matmul": matmul, "fetched": fetched,
            "own": _own, "filled": _filled, "Doubt": Doubt,
        }  # fmt: skip
        self.lines: list[str] = []
        self.narrow: dict[str, tuple[int, ...]] = {}  # the shape that a variable has, where it is not its type's

    def function(self) -> Callable[[list[Any]], list[Any] | None]:
        plan = self.plan
        slots: dict[int, str] = {}
        for i, (slot, aval) in enumerate(zip(plan.input_slots, plan.input_avals, strict=True)):
            if aval.wrapped:
                self.lines.append(f"v{slot} = asarray(a[{i}], {self._known(aval.dtype.np)})")
            else:
                self.lines.append(f"v{slot} = a[{i}] if type(a[{i}]) is ndarray else fetched(a[{i}])")
            slots[slot] = f"v{slot}"
        given = set(slots.values())
        for kernel, operands, first in plan.steps:
            outs = self._kernel(kernel.numpy_program, [slots[s] for s in operands])
            slots.update({first + k: name for k, name in enumerate(outs)})
        shapes = {s: aval.shape for s, aval in plan.avals().items()}
        outs = []
        for s in plan.live:
            name = self._whole(slots[s], shapes[s])
            outs.append(f"{name}.copy()" if name in given or name in self.scope else f"own({name})")
        body = "".join(f"            {line}\n" for line in self.lines)
        text = (
            "def call(a):\n    try:\n        with errstate(all='ignore'):\n"
            f"{body}            return [{', '.join(outs)}]\n    except Doubt:\n        return None"
        )
        return function_from_text(text, self.scope, "call")

    def _known(self, thing: Any) -> str:
        """A name for something that stays the same from call to call."""
        name = f"k{len(self.scope)}"
        self.scope[name] = thing
        return name

    def _set(self, text: str) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _present(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that a variable of this shape has now."""
        return self.narrow.get(name, shape)

    def _whole(self, name: str, shape: tuple[int, ...]) -> str:
        """A variable with all its elements."""
        return self._set(f"filled({name}, {shape})") if name in self.narrow else name

    def _kernel(self, program: NumpyProgram, arguments: list[str]) -> list[str]:
        names = dict(zip(program.inputs, arguments, strict=True))

        def operand(i: int) -> str:
            if i not in names:
                names[i] = self._known(program.env[i])
            return names[i]

        for step in program.steps:
            names.update(zip(step.outs, self._step(step, [operand(i) for i in step.ins]), strict=True))
        return [operand(i) for i in program.outputs]

    def _step(self, step: Step, ins: list[str]) -> list[str]:
        found = RULES[step.name]
        if step.name == "broadcast_in_dim":
            return [self._broadcast(step, ins[0])]
        if step.name in _BY_SHAPE and self.narrow.get(ins[0]) == ():
            return ins
        narrow = None
        if found.elementwise:
            shapes = [self._present(name, shape) for name, (shape, _) in zip(ins, step.given, strict=True)]
            narrow = np.broadcast_shapes(*shapes)
        else:
            ins = [self._whole(name, shape) for name, (shape, _) in zip(ins, step.given, strict=True)]
        ufunc = UFUNCS.get(step.name)
        if step.halves or (step.name == "div" and step.given[0][1].kind != "f"):
            ufunc = None
        if step.doubt is not None and ufunc is None:
            self.lines.append(f"if {self._known(partial(step.doubt, **step.params))}({', '.join(ins)}): raise Doubt")
        ins = [f"{name}.astype('f4')" if i in step.halves else name for i, name in enumerate(ins)]
        text = self._shape_only(step, ins[0]) if ins else None
        if text is not None:
            out = self._set(text)
            if narrow is not None and narrow != step.made[0][0]:  # the operand under another name: as narrow
                self.narrow[out] = narrow
            return [out]
        if step.several:
            name = self._set(f"{self._called(step)}({', '.join(ins)})")
            return [self._typed(f"{name}[{k}]", kind) for k, (_, kind) in enumerate(step.made)]
        called = self._called(step) if ufunc is None else self._known(ufunc)
        out = self._typed(self._product(step, ins) or f"{called}({', '.join(ins)})", step.made[0][1])
        if narrow is not None and narrow != step.made[0][0]:
            self.narrow[out] = narrow
        return [out]

    def _called(self, step: Step) -> str:
        return self._known(partial(step.fn, **step.params) if step.params else step.fn)

    def _typed(self, text: str, kind: Any) -> str:
        """A variable of this type, and an array even where NumPy gives a number."""
        name, known = self._set(text), self._known(np.dtype(kind))
        self.lines.append(
            f"if type({name}) is not ndarray or {name}.dtype is not {known}: {name} = asarray({name}, {known})"
        )
        return name

    def _broadcast(self, step: Step, name: str) -> str:
        shape, at = step.made[0][0], step.params["broadcast_dimensions"]
        now = self._present(name, step.given[0][0])
        full = [1] * len(shape)
        for d, n in zip(at, now, strict=False):  # a single element has no dimensions left
            full[d] = n
        wide = tuple(full) if now else ()
        out = self._set(name if wide == now else f"{name}.reshape({wide})")
        if wide != shape:
            self.narrow[out] = wide
        return out

    @staticmethod
    def _shape_only(step: Step, name: str) -> str | None:
        """What keeps its type, and is an array if its operand is."""
        shape = step.made[0][0]
        match step.name:
            case "reshape" if step.params["dimensions"] is None:
                return f"{name}.reshape({shape})"
            case "squeeze":
                return f"{name}.reshape({shape})"
            case "transpose":
                return f"{name}.transpose({tuple(step.params['permutation'])})"
            case "copy" | "copy_p" | "stop_gradient":
                return name
            case "convert_element_type" if step.given[0][1] == step.made[0][1]:
                return name
        return None

    @staticmethod
    def _product(step: Step, ins: list[str]) -> str | None:
        """A product of matrices that are so already, of one type."""
        if step.name != "dot_general":
            return None
        contract, (batch, _) = step.params["dimension_numbers"]
        if (
            batch
            or any(len(shape) != 2 or kind != step.made[0][1] for shape, kind in step.given)
            or len(contract[0]) != 1
        ):
            return None
        left = ins[0] if tuple(contract[0]) == (1,) else f"{ins[0]}.T"
        right = ins[1] if tuple(contract[1]) == (0,) else f"{ins[1]}.T"
        return f"matmul({left}, {right})"
