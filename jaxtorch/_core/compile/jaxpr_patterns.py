"""Jaxprs whose sizes are expressions (symbolic_sizes.py), to be filled with numbers; and whether two jaxprs are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jax._src import core as _core
from jax.extend.core import ClosedJaxpr, jaxprs_in_params

from .kernel import function_from_text
from .symbolic_sizes import Extent, Scope, extent_p
from .tracing import with_results

_MOVES = frozenset(("convert_element_type",))
_RULES = {
    "custom_jvp_call": ("jvp_jaxpr_fun",),
    "custom_vjp_call": ("fwd_jaxpr_thunk", "bwd", "out_trees"),
}
"""Parameters that only the derivative of an equation needs: functions, which may know sizes of the example."""


def _has_rules(jaxpr: Any) -> bool:
    return any(e.primitive.name in _RULES or any(map(_has_rules, jaxprs_in_params(e.params))) for e in jaxpr.eqns)


class Unclear(Exception):
    """A jaxpr has parts that cannot be filled."""


class Pattern:
    """A closed jaxpr in which extents stand for numbers.

    has_rules: does it contain functions that give derivatives? Then what is filled in must not be differentiated.
    `numbers(v)` gives what its expressions are for the vector `v` of sizes and whole numbers that it was traced with.
    """

    def __init__(self, closed: Any, scope: Scope) -> None:
        self.closed = closed
        self.scope = scope
        self.has_rules = _has_rules(closed.jaxpr)
        self._quiet: Pattern | None = None
        self.numpy_program: Any = None  # see `templates.FilledPattern`
        self._texts: dict[str, int] = {}
        self._program = _Program(self, closed)
        self._out_types = [(tuple(o.shape), o.dtype) for o in closed.out_avals]
        self._outs = recipe(tuple([shape for shape, _ in self._out_types]), self.place)
        self.numbers: Callable[[Any], tuple[int, ...]] = compiled("".join([f"{text}, " for text in self._texts]))

    def out_types(self, v: Any) -> list[Any]:
        """Shape and element type of each result for these sizes."""
        if self._outs is None:
            return self._out_types
        shapes = self._outs(self.numbers(v))
        return list(zip(shapes, [kind for _, kind in self._out_types], strict=True))

    def with_first_results(self, n: int) -> Pattern:
        """The same with the first `n` results alone."""
        if self._quiet is None:
            self._quiet = Pattern(with_results(self.closed, self.closed.jaxpr.outvars[:n]), self.scope)
        return self._quiet

    def place(self, extent: Extent) -> int:
        """Where among the numbers this extent's is."""
        return self._texts.setdefault(extent.text, len(self._texts))

    def filled(self, v: Any) -> Any:
        """The jaxpr for these sizes."""
        return self._program.filled(self.numbers(v))


def compiled(items: str) -> Callable[[Any], Any]:
    """The function of a vector `v` that gives a tuple of these expressions."""
    return function_from_text(f"def numbers(v):\n    return ({items})", {}, "numbers")


def recipe(x: Any, place: Callable[[Extent], int], pattern: Pattern | None = None) -> Callable[[Any], Any] | None:
    """How to make `x` of a tuple of numbers; None where it stays what it is."""
    if type(x) is Extent:
        i = place(x)
        return lambda n: n[i]
    kind = type(x)
    if isinstance(x, (tuple, list)):
        parts = [recipe(item, place, pattern) for item in x]
        if not any(parts):
            return None
        pairs = list(zip(parts, x, strict=True))
        if kind is tuple:
            return lambda n: tuple([item if part is None else part(n) for part, item in pairs])
        if kind is list:
            return lambda n: [item if part is None else part(n) for part, item in pairs]
        if hasattr(kind, "_make"):
            return lambda n: kind._make([item if part is None else part(n) for part, item in pairs])
        raise Unclear(kind.__name__)
    if kind is dict:
        parts = {k: recipe(item, place, pattern) for k, item in x.items()}
        if not any(parts.values()):
            return None
        made = [(k, parts[k], item) for k, item in x.items()]
        return lambda n: {k: item if part is None else part(n) for k, part, item in made}
    if pattern is not None and isinstance(x, (ClosedJaxpr, _core.Jaxpr)):
        program = _Program(pattern, x)
        return None if program.is_constant() else program.filled
    return None


def filler(x: Any) -> Callable[[Any], Any] | None:
    """How to make `x`, which has extents in it, of a vector; None where there are none."""
    texts: dict[str, int] = {}
    make = recipe(x, lambda extent: texts.setdefault(extent.text, len(texts)))
    if make is None:
        return None
    numbers = compiled("".join([f"{text}, " for text in texts]))
    return lambda v: make(numbers(v))


class _Program:
    """What fills a jaxpr, and those within it."""

    def __init__(self, pattern: Pattern, closed: Any) -> None:
        self.closed = closed
        jaxpr = self.jaxpr = getattr(closed, "jaxpr", closed)
        place = pattern.place
        self.avals: list[tuple[Any, Any]] = []
        known_avals: dict[Any, int] = {}
        self.places: dict[Any, int] = {}  # variables whose types depend on extents -> their place among `made`
        self.kinds: list[int] = []
        self.numbers: dict[Any, Callable[[Any], Any]] = {}  # variables that are known numbers

        def see(v: Any) -> None:
            if any(type(d) is Extent for d in getattr(v.aval, "shape", ())):
                key = v.aval.shape and (
                    tuple([getattr(d, "text", d) for d in v.aval.shape]),
                    v.aval.dtype,
                    v.aval.weak_type,
                )
                at = known_avals.get(key)
                if at is None:
                    at = known_avals[key] = len(self.avals)
                    self.avals.append((v.aval, recipe(tuple(v.aval.shape), place)))
                elif self.avals[at][0].sharding != v.aval.sharding:
                    raise Unclear("sharding")
                self.places[v] = len(self.kinds)
                self.kinds.append(at)

        for v in (*jaxpr.constvars, *jaxpr.invars):
            see(v)
        self.steps: list[tuple[Any, Any, Any, Any]] = []
        for eqn in jaxpr.eqns:
            if eqn.primitive is extent_p:
                (v,) = eqn.outvars
                make = recipe(eqn.params["extent"], place)
                self.numbers[v] = _literal(make, v.aval)
                continue
            if eqn.primitive.name in _MOVES and eqn.invars[0] in self._known():
                v, before = eqn.outvars[0], self.numbers[eqn.invars[0]]
                self.numbers[v] = _literal(lambda n, before=before: before(n).val, v.aval)
                continue
            for v in eqn.outvars:
                see(v)
            ins = self._atoms(eqn.invars)
            outs = self._atoms(eqn.outvars)
            params = recipe(dict(eqn.params), place, pattern)
            self.steps.append((eqn, ins, outs, params))
        self.invars, self.constvars = self._atoms(jaxpr.invars), self._atoms(jaxpr.constvars)
        self.outvars = self._atoms(jaxpr.outvars)

    def _known(self) -> Any:
        return _Keys(self.numbers)

    def _atoms(self, atoms: Any) -> Any:
        """Which atoms are to be replaced: None, or for each an atom, a place or a function."""
        found = []
        for a in atoms:
            if isinstance(a, _core.Literal):
                if any(type(d) is Extent for d in getattr(a.aval, "shape", ())):
                    raise Unclear("literal")
                found.append(a)
            elif a in self.numbers:
                found.append(self.numbers[a])
            else:
                found.append(self.places.get(a, a))
        return found if any(type(f) is int or callable(f) for f in found) else None

    def is_constant(self) -> bool:
        return not self.kinds and not self.numbers and not any(params for _, _, _, params in self.steps)

    def filled(self, n: Any) -> Any:
        avals = [aval.update(shape=make(n)) for aval, make in self.avals]
        made = [_core.Var(avals[k]) for k in self.kinds]

        def atoms(found: Any, old: Any) -> Any:
            if found is None:
                return old
            return [made[a] if type(a) is int else a(n) if callable(a) else a for a in found]

        eqns = []
        for eqn, ins, outs, params in self.steps:
            if ins is None and outs is None and params is None:
                eqns.append(eqn)
            else:
                eqns.append(
                    eqn.replace(
                        invars=atoms(ins, eqn.invars),
                        outvars=atoms(outs, eqn.outvars),
                        params=eqn.params if params is None else params(n),
                    )
                )
        jaxpr = self.jaxpr.replace(
            constvars=atoms(self.constvars, self.jaxpr.constvars),
            invars=atoms(self.invars, self.jaxpr.invars),
            outvars=atoms(self.outvars, self.jaxpr.outvars),
            eqns=eqns,
        )
        return jaxpr if self.closed is self.jaxpr else ClosedJaxpr(jaxpr, self.closed.consts)


class _Keys:
    """The variables of a dictionary; literals, which have no hash, are not among them."""

    def __init__(self, table: dict[Any, Any]) -> None:
        self.table = table

    def __contains__(self, atom: Any) -> bool:
        return not isinstance(atom, _core.Literal) and atom in self.table


def _literal(make: Any, aval: Any) -> Callable[[Any], Any]:
    dtype = aval.dtype
    return lambda n: _core.Literal(np.asarray(make(n)).astype(dtype)[()], aval)


# -- sameness


def without_numbers(closed: Any, n: int) -> Any:
    """A jaxpr without those of its results after the first `n` that are known numbers."""
    jaxpr = closed.jaxpr
    outs = [v for i, v in enumerate(jaxpr.outvars) if i < n or not isinstance(v, _core.Literal)]
    info = jaxpr.debug_info._replace(result_paths=None)
    return ClosedJaxpr(jaxpr.replace(outvars=outs, debug_info=info), closed.consts)


def same(a: Any, b: Any) -> bool:
    """Are two jaxprs, closed or not, the same but for the names of their variables?"""
    if isinstance(a, ClosedJaxpr):
        return isinstance(b, ClosedJaxpr) and _same_consts(a.consts, b.consts) and same(a.jaxpr, b.jaxpr)
    if isinstance(b, ClosedJaxpr) or len(a.eqns) != len(b.eqns) or a.effects != b.effects:
        return False
    names: dict[Any, Any] = {}
    if not _bound(names, (*a.constvars, *a.invars), (*b.constvars, *b.invars)):
        return False
    for x, y in zip(a.eqns, b.eqns, strict=True):
        if x.primitive is not y.primitive or not _read(names, x.invars, y.invars) or x.params.keys() != y.params.keys():
            return False
        if x.effects != y.effects or not all(
            k in _RULES.get(x.primitive.name, ()) or equal(x.params[k], y.params[k]) for k in x.params
        ):
            return False
        if not _bound(names, x.outvars, y.outvars):
            return False
    return _read(names, a.outvars, b.outvars)


def _bound(names: dict[Any, Any], a: Any, b: Any) -> bool:
    names.update(zip(a, b, strict=False))
    return len(a) == len(b) and all(x.aval == y.aval and _plain(x.aval) for x, y in zip(a, b, strict=True))


def _plain(aval: Any) -> bool:
    return all(type(d) is int for d in getattr(aval, "shape", ()))


def _read(names: dict[Any, Any], a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if isinstance(x, _core.Literal) or isinstance(y, _core.Literal):
            if not isinstance(x, _core.Literal) or not isinstance(y, _core.Literal) or not _same_literal(x, y):
                return False
        elif names.get(x) is not y:
            return False
    return True


def _same_literal(x: Any, y: Any) -> bool:
    a, b = np.asarray(x.val), np.asarray(y.val)
    kind = x.aval.dtype
    return (
        kind == y.aval.dtype and x.aval.shape == y.aval.shape and a.astype(kind).tobytes() == b.astype(kind).tobytes()
    )


def _same_consts(a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
            return False
    return True


def _is_whole(x: Any) -> bool:
    return type(x) is int or isinstance(x, np.integer)


def equal(a: Any, b: Any) -> bool:
    """Are two parameters of an equation equal?"""
    if a is b:
        return True
    if isinstance(a, (ClosedJaxpr, _core.Jaxpr)):
        return isinstance(b, (ClosedJaxpr, _core.Jaxpr)) and same(a, b)
    if _is_whole(a) and _is_whole(b):
        return bool(a == b)
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return _same_consts([a], [b])
    if isinstance(a, _core.DebugInfo):
        return True
    if callable(a) and not isinstance(a, type):
        return False
    try:
        return bool(a == b)
    except Exception:
        return False
