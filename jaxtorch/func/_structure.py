"""Nested containers, as PyTorch's transformations take them: dictionaries keep their order, None is a leaf."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any


class Spec:
    """The shape of nested containers without their leaves."""

    __slots__ = ("children", "keys", "kind")

    def __init__(self, kind: Any = None, keys: Any = None, children: tuple[Spec, ...] = ()) -> None:
        self.kind, self.keys, self.children = kind, keys, children

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Spec)
            and self.kind is other.kind
            and self.children == other.children
            and (self.keys == other.keys or (self.kind in _DICTS and set(self.keys) == set(other.keys)))
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.children))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        return f"TreeSpec({self.kind.__name__}, {self.keys}, [{', '.join(map(repr, self.children))}])"

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum([c.size for c in self.children])


LEAF = Spec()
_DICTS = (dict, OrderedDict)


def _is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def flatten(x: Any) -> tuple[list[Any], Spec]:
    """The leaves of nested containers, and their structure."""
    leaves: list[Any] = []
    return leaves, _flatten(x, leaves)


def _flatten(x: Any, leaves: list[Any]) -> Spec:
    kind = type(x)
    if kind in _DICTS:
        return Spec(kind, tuple(x), tuple([_flatten(v, leaves) for v in x.values()]))
    if kind is list or kind is tuple or _is_namedtuple(kind):
        return Spec(kind, None, tuple([_flatten(v, leaves) for v in x]))
    leaves.append(x)
    return LEAF


def unflatten(leaves: Any, spec: Spec) -> Any:
    """The nested containers with these leaves."""
    return _unflatten(iter(leaves), spec)


def _unflatten(leaves: Any, spec: Spec) -> Any:
    kind = spec.kind
    if kind is None:
        return next(leaves)
    children = [_unflatten(leaves, c) for c in spec.children]
    if kind in _DICTS:
        return kind(zip(spec.keys, children, strict=True))
    return kind(*children) if _is_namedtuple(kind) else kind(children)


def spread(prefix: Any, spec: Spec) -> list[Any] | None:
    """One item for each leaf from a structure whose leaves may stand for whole branches; None where it does not fit."""
    if prefix is None or isinstance(prefix, int):
        return [prefix] * spec.size
    _, own = flatten(prefix)
    if own.kind is None or own.kind is not spec.kind or len(own.children) != len(spec.children):
        return None
    if own.kind in _DICTS and set(own.keys) != set(spec.keys):
        return None
    parts = prefix.values() if own.kind in _DICTS else prefix  # dictionaries by position, as in PyTorch
    found: list[Any] = []
    for part, child in zip(parts, spec.children, strict=True):
        items = spread(part, child)
        if items is None:
            return None
        found.extend(items)
    return found
