"""The parameters of an operation, as its body's annotations give them, and static arguments as parts of a key."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_KINDS = {
    "Array": "array",
    "Array | None": "optional",
    "Operand": "operand",
    "Operand | None": "operand_optional",
    "Arrays": "arrays",
    "Scalar": "scalar",
    "Scalar | None": "scalar",
    "Number": "number",
    "Number | None": "number",
}
OPERAND_KINDS = ("array", "optional", "operand", "operand_optional", "arrays", "scalar")
_NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operation."""

    name: str
    kind: str
    default: Any
    keyword_only: bool
    star: bool = False

    @property
    def required(self) -> bool:
        return self.default is _NO_DEFAULT


def freeze(static: Any) -> Any:
    """A static argument in hashable form: lists become tuples, NumPy numbers Python ones."""
    if isinstance(static, (list, tuple)):
        return tuple([freeze(s) for s in static])
    if isinstance(static, (np.generic,)):
        return static.item()
    if isinstance(static, slice):
        return ("slice", freeze(static.start), freeze(static.stop), freeze(static.step))
    if isinstance(static, dict):
        return tuple((k, freeze(v)) for k, v in sorted(static.items()))
    if hasattr(static, "_value") and hasattr(static, "item"):
        return static.item()
    hash(static)
    return static


def parse(fn: Callable[..., Any], star: str | None) -> list[Parameter]:
    """The parameters of a body, by its annotations."""
    fn = inspect.unwrap(fn)
    code, notes = fn.__code__, fn.__annotations__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    last = names[code.co_argcount - len(fn.__defaults__ or ()) : code.co_argcount]
    defaults = {**dict(zip(last, fn.__defaults__ or (), strict=True)), **(fn.__kwdefaults__ or {})}
    found = []
    for i, n in enumerate(names):
        note = notes.get(n, "")
        kind = _KINDS.get(note if isinstance(note, str) else getattr(note, "__name__", ""), "static")
        found.append(Parameter(n, kind, defaults.get(n, _NO_DEFAULT), i >= code.co_argcount, n == star))
    return found
