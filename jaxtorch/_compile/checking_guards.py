"""Guards on Python objects, checked together by one generated function: some 25 ns each."""

from __future__ import annotations

import operator
from keyword import iskeyword
from typing import Any

import numpy as np

from .._core.compile.kernel import function_from_text
from .._core.tensor.tensor import Tensor

_EQUAL = (int, float, complex, str, bytes, bool)
_GONE = object()
_CHUNK = 40  # beyond 256 names Python does not specialise the look-ups


class Guard:
    """That a place holds what it held when a call was captured.

    kind: 'item' (place[key] is value), 'slot' (of a list), 'absent', 'cell', 'attribute', 'class', 'sequence', 'keys',
          'length', 'set', 'empty', 'array'; 'tensor' and 'grad' are about a tensor's type and whether it has a gradient,
          'typed' about what kind of thing is there, 'memory' about where several tensors are (memory.py).
          Numbers and strings need only be equal and of the same type.
    path: how the user's program would name the place.
    """

    __slots__ = ("kind", "place", "key", "value", "path")

    def __init__(self, kind: str, place: Any, key: Any, value: Any, path: str) -> None:
        self.kind = kind
        self.place = place
        self.key = key
        self.value = value
        self.path = path

    def now(self) -> Any:
        """What is at the place now."""
        place, key = self.place, self.key
        match self.kind:
            case "item":
                return place.get(key, _GONE)
            case "absent":
                return place.get(key, _GONE)
            case "cell":
                try:
                    return place.cell_contents
                except ValueError:
                    return _GONE
            case "attribute":
                return getattr(place, key, _GONE)
            case "slot":
                return place[key] if key < len(place) else _GONE
            case "class":
                return vars(place).get(key, _GONE)
            case "sequence":
                return tuple(place)
            case "keys":
                return list(place)
            case "values":
                return tuple(place.values())
            case "length":
                return len(place)
            case "set":
                return frozenset(place)
            case "array":
                return place
            case "typed" | "memory":
                return place()
            case _:
                return place

    def put(self, new: Any) -> None:
        """Put something else there."""
        match self.kind:
            case "item" | "slot":
                self.place[self.key] = new
            case "cell":
                self.place.cell_contents = new
            case _:
                setattr(self.place, self.key, new)

    def holds(self) -> bool:
        """Is everything there as it was?"""
        now, value = self.now(), self.value
        match self.kind:
            case "tensor":
                return described(self.place) == value
            case "grad":
                return (self.place._grad is None) is value
            case "typed":
                return pictured(now) == value
            case "absent":
                return now is _GONE
            case "empty":
                return not now
            case "sequence" | "values":
                return len(now) == len(value) and all(same(a, b) for a, b in zip(now, value, strict=True))
            case "keys" | "set" | "memory":
                return now == value
            case "array":
                return _same_array(now, value)
            case _:
                return same(now, value)

    def _whole(self) -> bool:
        """Are the items of a sequence known by identity alone?"""
        return not any(type(v) in _EQUAL for v in self.value)

    def expression(self, name: str) -> str:
        """The guard in Python, on variables `name`p, `name`k and `name`v."""
        match self.kind:
            case "item" | "slot":
                found = f"{name}p[{name}k]"
            case "cell":
                found = f"{name}p.cell_contents"
            case "attribute" if self.key.isidentifier() and not iskeyword(self.key):
                found = f"{name}p.{self.key}"
            case "absent":
                return f"{name}k not in {name}p"
            case "empty":
                return f"not {name}p"
            case "length":
                return f"len({name}p) == {name}v"
            case "tensor":
                layout = "is None" if self.value[2] is None else f"== {name}v2"
                leaf = "is None" if self.value[3] else "is not None"
                return (
                    f"{name}p._value.aval is {name}v0 and {name}p._rg is {name}v1 and {name}p._layout {layout} "
                    f"and {name}p._node {leaf} and {name}p._hooks is {name}v4"
                    + (f" and {name}p._post_hooks is {name}v5" if self.value[1] else "")
                )
            case "sequence":
                return (
                    f"len({name}p) == {len(self.value)} and all(map(is_, {name}p, {name}v))"
                    if self._whole()
                    else f"{name}p()"
                )
            case "values":
                return f"len({name}p) == {len(self.value)} and all(map(is_, {name}p.values(), {name}v))"
            case "keys":
                return f"[*{name}p] == {name}v"
            case "memory":
                return f"{name}p() == {name}v"
            case "grad":
                return f"({name}p._grad is None) is {name}v"
            case _:
                return f"{name}p()"
        if type(self.value) in _EQUAL:
            signed = f" and repr(x) == {_sign(self.value)!r}" if _sign(self.value) else ""
            return f"((x := {found}) is {name}v or (type(x) is {type(self.value).__name__} and x == {name}v{signed}))"
        return f"{found} is {name}v"

    def variables(self, name: str) -> dict[str, Any]:
        """The values of the variables in `expression`."""
        if self.kind == "tensor":
            return {f"{name}p": self.place} | {f"{name}v{i}": v for i, v in enumerate(self.value)}
        odd = self.kind == "attribute" and (not self.key.isidentifier() or iskeyword(self.key))
        generic = (
            odd or self.kind in ("class", "set", "array", "typed") or (self.kind == "sequence" and not self._whole())
        )
        return {f"{name}p": self.holds if generic else self.place, f"{name}k": self.key, f"{name}v": self.value}


def _same_array(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        return False
    if a.dtype.kind == "c":
        return _same_array(a.real, b.real) and _same_array(a.imag, b.imag)
    return a.dtype.kind != "f" or bool(((np.signbit(a) == np.signbit(b)) | (a != 0)).all())


def described(t: Any) -> tuple[Any, ...]:
    """What a captured program takes for granted of a tensor."""
    return t._value.aval, t._rg, t._layout, t._node is None, t._hooks, t._post_hooks if t._rg else None


def pictured(x: Any) -> Any:
    """What a captured program takes for granted of what stands at a place that it rebinds: tensors, or tuples of such."""
    if isinstance(x, Tensor):
        return type(x), described(x)
    if isinstance(x, (tuple, list)):
        return type(x), [pictured(y) for y in x]
    if isinstance(x, dict):
        return type(x), [(k, pictured(y)) for k, y in x.items()]
    return (type(x), x, _sign(x)) if isinstance(x, (*_EQUAL, type(None))) else id(x)


def _sign(x: Any) -> str:
    """What tells a number with a zero in it from its equal, in which that is -0.0."""
    return repr(x) if isinstance(x, complex) or (isinstance(x, float) and not x) else ""


class Inner:
    """A tensor within the tuple, list or dictionary at a place."""

    __slots__ = ("guard", "keys")

    def __init__(self, guard: Guard, keys: tuple[Any, ...]) -> None:
        self.guard = guard
        self.keys = keys

    def now(self) -> Any:
        """The tensor that is there now."""
        found = self.guard.now()
        for key in self.keys:
            found = found[key]
        return found


def same(a: Any, b: Any) -> bool:
    """Are two objects the same to a program that has only been given one: identical, or equal numbers or strings?"""
    return a is b or (type(a) is type(b) and type(a) in _EQUAL and a == b and _sign(a) == _sign(b))


class Guards:
    """Guards that must all hold; calling it checks them."""

    def __init__(self, guards: list[Guard]) -> None:
        self.list = guards
        self._checks: list[Any] | None = None

    def __call__(self) -> bool:
        checks = self._checks
        if checks is None:
            checks = self._checks = self._compiled()
        try:
            for check in checks:
                if not check():
                    return False
        except (KeyError, IndexError, ValueError, AttributeError, TypeError):
            return False  # a key, the content of a cell or an attribute is gone
        return True

    def _compiled(self) -> list[Any]:
        checks = []
        for begin in range(0, len(self.list), _CHUNK):
            scope: dict[str, Any] = {"is_": operator.is_}
            parts = []
            for i, guard in enumerate(self.list[begin : begin + _CHUNK]):
                parts.append(guard.expression(f"c{i}"))
                scope.update(guard.variables(f"c{i}"))
            checks.append(function_from_text(f"def check():\n    return {' and '.join(parts)}", scope, "check"))
        return checks

    def broken(self) -> list[Guard]:
        """The guards that do not hold."""
        return [c for c in self.list if not c.holds()]
