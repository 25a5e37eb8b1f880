"""A traced kernel made ready for NumPy: its equations as a list of calls of `numpy_rules`, with what each may cost."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np
from jax._src import core as _core
from jax.extend import core as jex_core

from ..compile.context import x64
from ..compile.tracing import EXPANDED, expanded
from ..tuning import CACHED, NUMPY_CALL
from . import numpy_indexing, numpy_linalg, numpy_recurrent  # noqa: F401  # enter their rules
from .numpy_rules import COMPLEX, MOVES, RULES, Rule, rule

_CALLS = frozenset(
    ("jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call", "checkpoint", "remat", "remat2")
)
MOST_DIMENSIONS = 64  # that NumPy's arrays have
_HALVES = frozenset(map(np.dtype, ("float16", jax.numpy.bfloat16)))
TYPES = frozenset(
    map(np.dtype, "float32 float64 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool".split())
) | _HALVES  # fmt: skip
"""What XLA and NumPy compute with alike."""
_ONLY = dict.fromkeys(map(np.dtype, ("complex64", "complex128")), COMPLEX) | dict.fromkeys(
    map(
        np.dtype, (jax.numpy.float8_e4m3fn, jax.numpy.float8_e5m2, jax.numpy.float8_e4m3fnuz, jax.numpy.float8_e5m2fnuz)
    ),
    MOVES,
)
"""Other types, with the primitives that they do so in."""


class Doubt(Exception):
    """NumPy would give something else than XLA for these inputs."""


class NoRule(Exception):
    """A primitive is not in the table."""


class Step(NamedTuple):
    """An equation: its rule's function and doubt, the places of its operands and results, and their (shape, type) each.

    halves: the operands to be made float32; dead: the places that are needed no longer after it.
    """

    fn: Any
    doubt: Any
    ins: tuple[int, ...]
    params: dict[str, Any]
    halves: tuple[int, ...]
    outs: tuple[int, ...]
    kinds: tuple[Any, ...]
    several: bool
    name: str
    given: tuple[Any, ...]
    made: tuple[Any, ...]
    dead: tuple[int, ...] = ()


def _typed(variables: Any) -> tuple[Any, ...]:
    return tuple([(tuple(v.aval.shape), np.dtype(v.aval.dtype)) for v in variables])


class NumpyProgram:
    """A closed jaxpr as calls on NumPy arrays.

    cost: an estimate of one run, in nanoseconds; infinite where it is unknown. costs: of each step, without the call itself.
    largest: the most elements that one of its arrays has.
    exact: are its types all among `TYPES`, or `_ONLY` where that allows them?
    quick: the same estimate for steps in C, where they take less; None until it is asked for (tiering.py).
    runs, function: how often it has run for `tiering.outputs`, and what runs it there once that is often (numpy_code.py).
    """

    __slots__ = ("env", "inputs", "outputs", "steps", "costs", "cost", "largest", "exact", "quick", "runs", "function")

    def __init__(self, closed: Any) -> None:
        self.env: list[Any] = []
        self.steps: list[Step] = []
        self.costs: list[float] = []
        self.cost = 0.0
        self.largest = 0
        self.exact = True
        self.quick: float | None = None
        self.runs = 0
        self.function: Any = None
        jaxpr = closed.jaxpr
        names: dict[Any, int] = {}
        self.inputs = [self._new(names, v) for v in jaxpr.invars]
        self._add(jaxpr, closed.consts, names)
        self.outputs = [self._slot(names, v) for v in jaxpr.outvars]
        self._free()

    def _new(self, names: dict[Any, int], v: Any, value: Any = None) -> int:
        names[v] = len(self.env)
        self.env.append(value)
        kind = getattr(v.aval, "dtype", None)
        self.exact = self.exact and (kind in TYPES or kind in _ONLY)
        if len(getattr(v.aval, "shape", ())) > MOST_DIMENSIONS:
            raise NoRule("dimensions")
        self._measure(v)
        return names[v]

    def _measure(self, v: Any) -> None:
        self.largest = max(self.largest, math.prod(getattr(v.aval, "shape", ())))

    def _charge(self, found: Rule, eqn: Any) -> None:
        self.costs.append(_cost(found, eqn))
        self.cost += NUMPY_CALL + self.costs[-1]

    def _is_number(self, eqn: Any, ins: tuple[int, ...], names: dict[Any, int]) -> bool:
        """Is it an equation that only a pattern has (numpy_pattern.py)? Then it is entered here."""
        return False

    def _slot(self, names: dict[Any, int], v: Any) -> int:
        if isinstance(v, jex_core.Literal):
            self.env.append(np.asarray(v.val, v.aval.dtype))  # pyright: ignore[reportAttributeAccessIssue]
            return len(self.env) - 1
        return names[v]

    def _add(self, jaxpr: Any, consts: Any, names: dict[Any, int]) -> None:
        for v, c in zip(jaxpr.constvars, consts, strict=True):
            self._new(names, v, np.asarray(c))
        for eqn in _needed(jaxpr):
            name = eqn.primitive.name
            ins = tuple([self._slot(names, v) for v in eqn.invars])
            if name in _CALLS or (name in EXPANDED and not _is_written(eqn)):
                inner = _expanded(eqn) if name in EXPANDED else eqn.params.get("jaxpr") or eqn.params["call_jaxpr"]
                body, values = getattr(inner, "jaxpr", inner), getattr(inner, "consts", ())
                local = dict(zip(body.invars, ins, strict=True))
                self._add(body, values, local)
                names.update(zip(eqn.outvars, [self._slot(local, v) for v in body.outvars], strict=True))
                continue
            if name == "custom_linear_solve":
                body = eqn.params["jaxprs"].solve
                local = dict(zip(body.jaxpr.invars, _for_solver(ins, eqn.params["const_lengths"]), strict=True))
                self._add(body.jaxpr, body.consts, local)
                names.update(zip(eqn.outvars, [self._slot(local, v) for v in body.jaxpr.outvars], strict=True))
                continue
            if self._is_number(eqn, ins, names):
                continue
            found = RULES.get(name)
            if found is None or eqn.effects:
                raise NoRule(name)
            self._charge(found, eqn)
            if any(name not in _ONLY.get(v.aval.dtype, RULES) for v in (*eqn.invars, *eqn.outvars)):
                self.exact = False
            outs = tuple([self._new(names, v) for v in eqn.outvars])
            kinds = tuple([np.dtype(v.aval.dtype) for v in eqn.outvars])
            halves = () if found.half else tuple([i for i, v in enumerate(eqn.invars) if v.aval.dtype in _HALVES])
            self.steps.append(Step(found.run, _doubt(found, eqn), ins, eqn.params, halves, outs, kinds,
                                   eqn.primitive.multiple_results, name, _typed(eqn.invars), _typed(eqn.outvars)))  # fmt: skip

    def _free(self) -> None:
        """Note after which step each array is needed no longer."""
        kept = {*self.outputs}
        known = {i for i, value in enumerate(self.env) if value is not None}
        for n in reversed(range(len(self.steps))):
            used = {*self.steps[n].ins, *self.steps[n].outs} - kept - known
            kept |= used
            self.steps[n] = self.steps[n]._replace(dead=tuple(used))

    def run(self, arrays: list[Any], careful: bool) -> list[Any]:
        """The outputs for these inputs: host arrays, perhaps views of one another. `careful`: raise `Doubt` where XLA differs."""
        env = self.env[:]
        for i, a in zip(self.inputs, arrays, strict=True):
            env[i] = a
        for fn, doubt, ins, params, halves, outs, kinds, several, _, _, _, dead in self.steps:
            given = [env[i] for i in ins]
            if careful and doubt is not None and doubt(*given, **params):
                raise Doubt
            for i in halves:
                given[i] = given[i].astype(np.float32)
            result = fn(*given, **params)
            for i, kind, o in zip(outs, kinds, result if several else (result,), strict=True):
                env[i] = o if type(o) is np.ndarray and o.dtype == kind else np.asarray(o, kind)
            for i in dead:
                env[i] = None
        return [env[i] for i in self.outputs]


def _is_written(eqn: Any) -> bool:
    """Has an equation that stands for others a rule of its own?"""
    return eqn.primitive.name in RULES and numpy_recurrent.is_written_out(eqn)


def _needed(jaxpr: Any) -> list[Any]:
    """The equations that the results depend on: transposed loops leave others, some of types that NumPy has not."""
    used = {id(v) for v in jaxpr.outvars}
    needed = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(id(v) in used for v in eqn.outvars):
            needed.append(eqn)
            used.update(id(v) for v in eqn.invars)
    return needed[::-1]


def _expanded(eqn: Any) -> Any:
    with x64():
        return expanded(eqn.primitive.name, [v.aval for v in eqn.invars], eqn.params)


_ONLY_INTEGERS = frozenset(("div", "rem", "convert_element_type"))
"""What NumPy and XLA do alike where the result is not an integer, or is made of integers."""


def _doubt(found: Rule, eqn: Any) -> Any:
    """The rule's doubt, where this equation's types leave any."""
    name = eqn.primitive.name
    if name in _ONLY_INTEGERS:
        given, made = (np.dtype(v.aval.dtype).kind for v in (eqn.invars[0], eqn.outvars[0]))
        if made not in "iu" or (name == "convert_element_type" and given in "iub"):
            return None
    return found.doubt


def _cost(found: Rule, eqn: Any) -> float:
    if callable(found.cost):
        return found.cost(eqn)
    sizes = [math.prod(v.aval.shape) for v in (*eqn.invars, *eqn.outvars)]
    return charged(found, _typed(eqn.outvars), max(sizes))


def charged(found: Rule, made: Any, size: int) -> float:
    """What an equation with so many elements costs, by a rule with a number for each."""
    slow = 1.0
    if not found.half and any([kind in _HALVES for _, kind in made]):  # noqa: C419
        slow = 4.0
    elif any([kind.kind == "c" for _, kind in made]):  # noqa: C419
        slow = 20.0 if found.elementwise and found.cost >= 1 else 2.0  # pyright: ignore[reportOperatorIssue]
    return found.cost * slow * size  # pyright: ignore[reportOperatorIssue]


def equations(jaxpr: Any) -> int:
    """How many equations a jaxpr has, those of loops' bodies once."""
    return sum(max(1, sum(map(equations, _core.jaxprs_in_params(eqn.params)))) for eqn in jaxpr.eqns)


def elements(jaxpr: Any) -> float:
    """How many elements its results have, in all runs of loops' bodies whose number is known: nanoseconds, roughly."""
    total = 0.0
    for eqn in jaxpr.eqns:
        inner = [elements(body) for body in _core.jaxprs_in_params(eqn.params)]
        total += (
            eqn.params.get("length", 1) * sum(inner)
            if inner
            else NUMPY_CALL + sum(math.prod(v.aval.shape) for v in eqn.outvars)
        )
    return total


# loops: their bodies are programs themselves

_bodies: dict[int, tuple[Any, NumpyProgram]] = {}


def _body(closed: Any) -> NumpyProgram:
    found = _bodies.get(id(closed))
    if found is None:
        if len(_bodies) >= CACHED:
            _bodies.pop(next(iter(_bodies)))
        found = _bodies[id(closed)] = (closed, NumpyProgram(closed))
    return found[1]


def _unsure(*bodies: NumpyProgram) -> float:
    """Extra cost of bodies that NumPy may not run unobserved."""
    return 0.0 if all(b.exact and not any(s.doubt for s in b.steps) for b in bodies) else math.inf


def _scan_cost(eqn: Any) -> float:
    body = _body(eqn.params["jaxpr"])
    return eqn.params["length"] * (body.cost + NUMPY_CALL) + _unsure(body)


def _constants_and_carry(params: dict[str, Any]) -> tuple[int, int]:
    """How many of a scan's arguments are constants and how many the carry."""
    if "ft_in" in params:  # JAX from 0.12 on
        consts, carry, _ = params["ft_in"].unpack()
        return len(consts), len(carry)
    return params["num_consts"], params["num_carry"]


@rule("scan", _scan_cost, half=True)
def _scan(*args: Any, jaxpr: Any, length: int, reverse: bool, **params: Any) -> list[Any]:
    body = _body(jaxpr)
    num_consts, num_carry = _constants_and_carry(params)
    consts, carry, xs = args[:num_consts], list(args[num_consts:][:num_carry]), args[num_consts + num_carry :]
    ys: list[list[Any]] = [[] for _ in body.outputs[num_carry:]]
    for i in reversed(range(length)) if reverse else range(length):
        outs = body.run([*consts, *carry, *[x[i] if x.ndim > 1 else np.asarray(x[i]) for x in xs]], False)
        carry = outs[:num_carry]
        for kept, y in zip(ys, outs[num_carry:], strict=True):
            kept.append(y)
    stacked = [np.stack(kept[::-1] if reverse else kept) if kept else None for kept in ys]
    avals = jaxpr.jaxpr.outvars[num_carry:]
    empty = [np.zeros((0, *v.aval.shape), v.aval.dtype) for v in avals]
    return [*carry, *[e if s is None else s for s, e in zip(stacked, empty, strict=True)]]


def _cond_cost(eqn: Any) -> float:
    """The cheapest branch's: the others are for what seldom happens (a factorisation that fails), or for other platforms."""
    bodies = [_body(b) for b in eqn.params["branches"]]
    return min(body.cost for body in bodies) + _unsure(*bodies)


@rule("cond", _cond_cost, half=True)
def _cond(index: Any, *args: Any, branches: Any, **_: Any) -> list[Any]:
    return _body(branches[min(max(int(index), 0), len(branches) - 1)]).run(list(args), False)


@rule("platform_index", 0)
def _platform_index(*, platforms: Any, **_: Any) -> Any:
    """Of alternatives by platform, the first for the CPU or for any."""
    return np.int32(next(i for i, names in enumerate(platforms) if names is None or "cpu" in names))


def _for_solver(args: Any, lengths: Any) -> list[Any]:
    """What the solver within a `custom_linear_solve` takes of its operands."""
    before = lengths.matvec + lengths.vecmat
    return [*args[before:][: lengths.solve], *args[sum(lengths) :]]


@rule("while", lambda eqn: math.inf, half=True)
def _while(
    *args: Any, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int, **_: Any
) -> list[Any]:  # fmt: skip
    of_test, of_body = list(args[:cond_nconsts]), list(args[cond_nconsts:][:body_nconsts])
    state = list(args[cond_nconsts + body_nconsts :])
    test, body = _body(cond_jaxpr), _body(body_jaxpr)
    while test.run([*of_test, *state], False)[0]:
        state = body.run([*of_body, *state], False)
    return state
