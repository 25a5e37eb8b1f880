"""Arguments taken apart into tensors and the rest, and results put together again."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from .._core.graph.nodes import shown
from .._core.tensor import strides
from .._core.tensor.out_tensors import same_memory
from .._core.tensor.storage import Alias
from .._core.tensor.tensor import Tensor
from .._core.types.device import device
from .._core.types.dtypes import dtype
from .._core.types.grad_mode import state

_PLAIN = (int, str, bytes, bool, type(None), complex, dtype, device)
_SEQUENCES = (tuple, list)


class Signature:
    """The arguments of one call.

    tensors: those among them, in order.
    objects: what is neither tensor, number nor container: known by identity.
    key:     everything about the call that a captured program is made for: types of the tensors, numbers, structure.
    """

    __slots__ = ("tensors", "objects", "key")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.objects: list[Any] = []
        key: list[Any] = []
        for x in args:
            self._add(x, key)
        if kwargs:
            for name, x in kwargs.items():
                key.append(name)
                self._add(x, key)
        self.key = tuple(key)

    def _add(self, x: Any, key: list[Any]) -> None:
        cls = x.__class__
        if isinstance(x, Tensor):
            alias = x._alias
            tensors = self.tensors
            key.append(x._value.aval)
            part: Any = alias is not None and not _reads_all(alias)
            if part and writable_part(x, ()):
                part = "writable"
            if part or x._rg or x._layout is not None or x._grad is not None or cls is not Tensor:
                key += (cls, x._rg, x._node is None, x._layout, part, x._grad is None)
                if alias is not None and alias.__class__ is Alias and alias.storage.host is not None:
                    key.append("host")
            for i, t in enumerate(tensors):
                if t is x:
                    key.append(i)
                elif alias is not None and t._alias is not None and t._alias.storage is alias.storage:
                    key.append(("memory", i, same_memory(t, x)))
            tensors.append(x)
        elif cls is float:
            key += (float, x, math.copysign(1.0, x)) if x == x else (float, "nan")
        elif cls is complex:
            key += (complex, repr(x))
        elif cls in _PLAIN:
            key += (cls, x)
        elif isinstance(x, _SEQUENCES):
            key += (cls, len(x))
            for item in x:
                self._add(item, key)
        elif isinstance(x, dict):
            key += (cls, tuple(x))
            for item in x.values():
                self._add(item, key)
        else:
            key += ("object", id(x))
            self.objects.append(x)


def _reads_all(alias: Any) -> bool:
    """Is this a tensor that reads the whole of a storage, as one does of which a view has been taken? It is like any other."""
    return (
        alias.__class__ is Alias
        and not alias.chain
        and alias.base is None
        and alias.silent is None
        and alias.storage.host is None
    )


def writable_part(t: Tensor, others: Iterable[Tensor]) -> bool:
    """Is this a view that a write changes in a plain way, and do none of `others` lie in its memory?"""
    alias = t._alias
    if alias is None or alias.__class__ is not Alias or _reads_all(alias) or alias.storage.host is not None:
        return False
    graph = t._rg or (alias.base is not None and alias.base._rg)
    if graph and (state.grad or shown(t._node) is not None):
        return False
    if t._layout is not None and strides.may_overlap(t._value.aval.shape, t._layout[0]):
        return False
    return not any(t is not other and same_memory(t, other) for other in others)


def outline(x: Any) -> Any:
    """The structure of an argument and what stands in it, for comparing before and after a call."""
    if isinstance(x, (tuple, list)):
        return type(x), [outline(y) for y in x]
    if isinstance(x, dict):
        return type(x), [(k, outline(y)) for k, y in x.items()]
    return id(x), x if isinstance(x, (float, *_PLAIN)) else None


class Unbuildable(Exception):
    """A result that a replay could not put together."""


def taken_apart(result: Any, export: Callable[[Tensor], Any]) -> Any:
    """A result as a description that `put_together` builds from; `export` gives each tensor its number."""
    if isinstance(result, Tensor):
        return ("tensor", export(result))
    cls = type(result)
    if result is None or isinstance(result, (int, float, complex, str, bytes, bool, dtype, device)):
        return ("same", result)
    if isinstance(result, (tuple, list)):
        return ("sequence", cls, [taken_apart(x, export) for x in result])
    if isinstance(result, dict):
        if cls not in (dict, OrderedDict) and not dataclasses.is_dataclass(result):
            raise Unbuildable(f"it returns a {cls.__qualname__}")
        return ("dict", cls, list(result), [taken_apart(x, export) for x in result.values()])
    if dataclasses.is_dataclass(result):
        fields = [f.name for f in dataclasses.fields(result)]
        shell = copy.copy(result)
        for name in fields:
            object.__setattr__(shell, name, None)
        return ("fields", shell, fields, [taken_apart(getattr(result, name), export) for name in fields])
    raise Unbuildable(f"it returns a {cls.__module__}.{cls.__qualname__}")


def put_together(spec: Any, tensors: list[Any]) -> Any:
    """The result that a description stands for; tensors are given by number."""
    kind = spec[0]
    if kind == "tensor":
        return tensors[spec[1]]
    if kind == "same":
        return spec[1]
    if kind == "sequence":
        items = [put_together(s, tensors) for s in spec[2]]
        cls = spec[1]
        return cls(*items) if hasattr(cls, "_fields") else items if cls is list else cls(items)
    items = [put_together(s, tensors) for s in spec[3]]
    if kind == "dict":
        pairs = dict(zip(spec[2], items, strict=True))
        return spec[1](**pairs) if dataclasses.is_dataclass(spec[1]) else spec[1](pairs)
    made = copy.copy(spec[1])
    for name, item in zip(spec[2], items, strict=True):
        object.__setattr__(made, name, item)
    return made


def numbers_in(spec: Any) -> list[int]:
    """The numbers of the tensors in the description of a result."""
    if spec[0] == "tensor":
        return [spec[1]]
    return [] if spec[0] == "same" else [n for part in spec[-1] for n in numbers_in(part)]
