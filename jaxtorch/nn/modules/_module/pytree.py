"""Modules as JAX pytrees: the leaves are the tensors, everything else is structure.

So a module can be an argument or a result of `jax.jit`, `jax.grad` and `jax.vmap`. A whole module is one node, so that a
parameter or submodule that occurs twice (tied weights) stays one. Two modules have the same structure when their classes,
names, flags and attributes agree; a changed attribute traces anew. Attributes that are neither tensors, containers nor
comparable by == count as unchanged while they are the same objects.
"""

from __future__ import annotations

import collections
import types
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...._core.tensor.tensor import Tensor

_BASE: list[type] = []


class _Leaf:
    """Marks the place of leaf `index` in the structure."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class _Submodule:
    """Marks the place of module `index` in the structure; with a function, of that method of it."""

    __slots__ = ("function", "index")

    def __init__(self, index: int, function: Any = None) -> None:
        self.index, self.function = index, function


class _Walk:
    """One pass over a module: its leaves with their names, and the classes and attributes of the modules in it."""

    def __init__(self, module: Any) -> None:
        self.leaves: list[Any] = []
        self.names: list[str] = []
        self.records: list[tuple[type, Any]] = []
        self._places: dict[int, Any] = {}
        self._keep: list[Any] = []
        self.place(module, "")

    def place(self, x: Any, name: str) -> Any:
        """`x` with marks in place of leaves and modules, and copies of containers."""
        if isinstance(x, (Tensor, jax.Array)):
            found = self._places.get(id(x))
            if found is None:
                found = self._places[id(x)] = _Leaf(len(self.leaves))
                self.leaves.append(x)
                self.names.append(name)
            return found
        kind = type(x)
        if kind is dict or kind is collections.OrderedDict:
            return kind([(k, self.place(v, f"{name}.{k}" if name else str(k))) for k, v in x.items()])
        if kind is list or kind is tuple:
            return kind([self.place(v, f"{name}.{i}") for i, v in enumerate(x)])
        if kind is set or kind is np.ndarray:
            return x.copy()
        if isinstance(x, _BASE[0]):
            return self._module(x, name)
        if kind is types.MethodType and isinstance(x.__self__, _BASE[0]):
            return _Submodule(self._module(x.__self__, name).index, x.__func__)
        return x

    def _module(self, module: Any, name: str) -> _Submodule:
        found = self._places.get(id(module))
        if found is None:
            found = self._places[id(module)] = _Submodule(len(self.records))
            self.records.append((type(module), None))
            own, before = module.__dict__, f"{name}." if name else ""
            made = {}
            for key in ("_parameters", "_buffers", "_modules"):
                made[key] = {k: self.place(v, before + k) for k, v in own[key].items()}
            for key, v in own.items():
                if key not in made and key != "_compiled_call_impl":
                    made[key] = self.place(v, before + key)
            self.records[found.index] = (type(module), made)
        return found


class Structure:
    """What is left of a module without its leaves."""

    __slots__ = ("names", "records")

    def __init__(self, names: tuple[str, ...], records: list[tuple[type, Any]]) -> None:
        self.names, self.records = names, records

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Structure)
            and self.names == other.names
            and len(self.records) == len(other.records)
            and all(a[0] is b[0] and _same(a[1], b[1]) for a, b in zip(self.records, other.records, strict=True))
        )

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"{self.records[0][0].__name__}{list(self.names)}"


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is dict or kind is collections.OrderedDict:
        return list(a) == list(b) and all([_same(v, b[k]) for k, v in a.items()])  # noqa: C419
    if kind is list or kind is tuple:
        return len(a) == len(b) and all([_same(v, w) for v, w in zip(a, b, strict=True)])  # noqa: C419
    if kind is np.ndarray:
        return a.dtype == b.dtype and np.array_equal(a, b)
    if kind is _Leaf:
        return a.index == b.index
    if kind is _Submodule:
        return a.index == b.index and a.function is b.function
    try:
        return bool(a == b)
    except Exception:  # objects that cannot be compared are the same only when identical
        return False


def flatten(module: Any) -> tuple[tuple[Any, ...], Structure]:
    walk = _Walk(module)
    return tuple(walk.leaves), Structure(tuple(walk.names), walk.records)


def flatten_with_names(module: Any) -> tuple[tuple[Any, ...], Structure]:
    leaves, structure = flatten(module)
    return tuple([(tree_util.GetAttrKey(n), x) for n, x in zip(structure.names, leaves, strict=True)]), structure


def unflatten(structure: Structure, leaves: Any) -> Any:
    leaves = tuple(leaves)
    modules = [object.__new__(kind) for kind, _ in structure.records]

    def put(x: Any) -> Any:
        kind = type(x)
        if kind is _Leaf:
            return leaves[x.index]
        if kind is _Submodule:
            module = modules[x.index]
            return module if x.function is None else types.MethodType(x.function, module)
        if kind is dict or kind is collections.OrderedDict:
            return kind([(k, put(v)) for k, v in x.items()])
        if kind is list or kind is tuple:
            return kind([put(v) for v in x])
        return x.copy() if kind is set or kind is np.ndarray else x

    for module, (_, own) in zip(modules, structure.records, strict=True):
        module.__dict__.update(put(own))
    return modules[0]


def register(kind: type) -> None:
    """Make a class of modules a pytree node; the first one is the base of all."""
    if not _BASE:
        _BASE.append(kind)
    tree_util.register_pytree_with_keys(kind, flatten_with_names, unflatten, flatten)
