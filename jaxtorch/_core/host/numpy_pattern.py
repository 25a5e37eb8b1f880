"""Kernels that are filled in (run/templates.py) made ready for NumPy, without a jaxpr for their sizes in between."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..compile.jaxpr_patterns import compiled, equal, recipe
from ..compile.symbolic_sizes import Extent, extent_p
from ..tuning import NUMPY_CALL
from .numpy_program import NumpyProgram, charged


class _Variable(NamedTuple):
    aval: _Type


class _Type(NamedTuple):
    shape: tuple[int, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)


class _Equation(NamedTuple):
    """What a rule's cost is asked of."""

    primitive: Any
    invars: list[_Variable]
    outvars: list[_Variable]
    params: dict[str, Any]


class _Symbolic(NumpyProgram):
    """A jaxpr with extents in it as steps. known: places of numbers that come of sizes, and how; charges: for each step its rule and
    equation."""

    __slots__ = ("known", "numbers", "charges", "shapes", "place")

    def __init__(self, closed: Any, place: Callable[[Extent], int]) -> None:
        self.known: dict[int, Callable[[Any], Any]] = {}
        self.numbers: list[Any] = []
        self.charges: list[tuple[Any, Any]] = []
        self.shapes: list[Any] = []
        self.place = place
        super().__init__(closed)

    def _measure(self, v: Any) -> None:
        self.shapes.append(getattr(v.aval, "shape", ()))

    def _charge(self, found: Any, eqn: Any) -> None:
        self.charges.append((found, eqn))

    def _is_number(self, eqn: Any, ins: tuple[int, ...], names: dict[Any, int]) -> bool:
        if eqn.primitive is extent_p:
            make = recipe(eqn.params["extent"], self.place)
        elif eqn.primitive.name == "convert_element_type" and any(eqn.invars[0] is v for v in self.numbers):
            make = self.known[ins[0]]
        else:
            return False
        kind = np.dtype(eqn.outvars[0].aval.dtype)
        at = self._new(names, eqn.outvars[0])
        self.numbers.append(eqn.outvars[0])  # of this jaxpr: where it enters another, tracing makes an equation of it
        self.known[at] = lambda n: np.asarray(make(n)).astype(kind)  # pyright: ignore[reportOptionalCall]
        return True


class NumpyPattern:
    """A jaxpr with extents in it as a `NumpyProgram` for any sizes."""

    def __init__(self, closed: Any) -> None:
        self._texts: dict[str, int] = {}
        made = self._made = _Symbolic(closed, self.place)
        self._kinds: list[
            tuple[Any, Any, Any]
        ] = []  # how a shape is made, that shape where it stays, and the element type
        table: dict[Any, int] = {}

        def kind(pair: Any) -> int:
            shape, dtype = pair
            key = tuple([getattr(d, "text", d) for d in shape]), dtype
            if key not in table:
                table[key] = len(self._kinds)
                self._kinds.append((recipe(tuple(shape), self.place), tuple(shape), dtype))
            return table[key]

        self._parts: list[Any] = []
        for step, (found, eqn) in zip(made.steps, made.charges, strict=True):
            params = recipe(step.params, self.place, self)  # pyright: ignore[reportArgumentType]
            given, results = [kind(k) for k in step.given], [kind(k) for k in step.made]
            self._parts.append((step, params, given, results, found, eqn.primitive))
        self._measured = sorted({kind((shape, None)) for shape in made.shapes})
        self.numbers = compiled("".join([f"{text}, " for text in self._texts]))

    def place(self, extent: Extent) -> int:
        """Where among the numbers this extent's is."""
        return self._texts.setdefault(extent.text, len(self._texts))

    def filled(self, v: Any) -> NumpyProgram:
        """The program for these sizes."""
        n, made = self.numbers(v), self._made
        kinds = [(shape if make is None else make(n), dtype) for make, shape, dtype in self._kinds]
        sizes = [math.prod(shape) for shape, _ in kinds]
        program = object.__new__(NumpyProgram)
        env = program.env = made.env[:]
        for at, make in made.known.items():
            env[at] = make(n)
        program.inputs, program.outputs, program.exact = made.inputs, made.outputs, made.exact
        program.largest = max([sizes[k] for k in self._measured], default=0)
        costs: list[float] = []
        steps = []
        for old, recipe_of, given, results, found, primitive in self._parts:
            params = old.params if recipe_of is None else recipe_of(n)
            ins, outs = tuple([kinds[k] for k in given]), tuple([kinds[k] for k in results])
            steps.append(old._replace(params=params, given=ins, made=outs))
            if callable(found.cost):
                given_, made_ = ([_Variable(_Type(shape, kind)) for shape, kind in some] for some in (ins, outs))
                costs.append(float(found.cost(_Equation(primitive, given_, made_, params))))  # pyright: ignore[reportArgumentType]
            else:
                costs.append(charged(found, outs, max([sizes[k] for k in (*given, *results)])))
        program.steps, program.costs = steps, costs
        program.cost = NUMPY_CALL * len(steps) + sum(costs)
        program.quick = program.function = None
        program.runs = 0
        return program


def alike(a: NumpyProgram, b: NumpyProgram) -> bool:
    """Do two programs do the same, at the same estimate of its cost? Places may have other numbers."""
    if (len(a.steps), a.exact, a.largest) != (len(b.steps), b.exact, b.largest) or not math.isclose(a.cost, b.cost):
        return False
    if not np.allclose(a.costs, b.costs):
        return False
    names = dict(zip(a.inputs, b.inputs, strict=True))

    def same(i: int, j: int) -> bool:
        if i in names:
            return names[i] == j
        x, y = a.env[i], b.env[j]
        return x is not None and y is not None and equal(np.asarray(x), np.asarray(y))

    for x, y in zip(a.steps, b.steps, strict=True):
        if x._replace(**_PLACES) != y._replace(**_PLACES) or (x.doubt is None) != (y.doubt is None):
            return False
        if not equal({**x.params, "precision": None}, {**y.params, "precision": None}):  # which NumPy does not look at
            return False
        if len(x.ins) != len(y.ins) or not all(map(same, x.ins, y.ins)):
            return False
        names.update(zip(x.outs, y.outs, strict=True))
        if {names[i] for i in x.dead if i in names} != {*y.dead}:
            return False
    return len(a.outputs) == len(b.outputs) and all(map(same, a.outputs, b.outputs))


_PLACES: dict[str, Any] = {"ins": (), "outs": (), "dead": (), "params": {}, "doubt": None}
