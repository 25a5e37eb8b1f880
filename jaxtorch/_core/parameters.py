"""The parameters of an operation, as its body's annotations give them, and static arguments as parts of a key."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dtypes
from .size import need_sizes

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
    note: str = ""
    """What it is annotated as."""
    position: int = 0
    """Its place among those that may be given without a name, from 1 on; 0 where it may not."""

    @property
    def required(self) -> bool:
        return self.default is _NO_DEFAULT


def refuse_sizes(op: str, p: Parameter, given: Any) -> None:
    """TypeError where an argument annotated as `Ints` or `Sizes` is nothing of the kind."""
    kind, _, rest = p.note.partition(" | ")
    if not (given is None and rest == "None") and not (isinstance(given, str) and rest == "str"):
        need_sizes(op, p.name, given, p.position, alone=kind == "Ints")


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
    if hasattr(static, "_value") and hasattr(static, "item") and not isinstance(static, type):
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
        position = 0 if i >= code.co_argcount or n == star else i + 1
        by_name = i >= code.co_argcount
        found.append(Parameter(n, kind, defaults.get(n, _NO_DEFAULT), by_name, n == star, str(note), position))
    return found


_NO_NUMBERS = (str, complex, list, tuple, dict, np.ndarray, dtypes.dtype)
_REFUSED = {
    "int": (bool, np.bool_, float, np.floating, *_NO_NUMBERS),
    "float": _NO_NUMBERS,
    "Real": tuple(kind for kind in _NO_NUMBERS if kind is not complex),
}
_SHOWN = {"Real": "Number"}
"""What PyTorch does not take for a number, though Python may be able to make one of it."""


def refuse_kind(op: str, p: Parameter, given: Any) -> None:
    """TypeError where an argument is of another kind than `p` is annotated as (see `need_kind`)."""
    wanted, _, rest = p.note.partition(" | ")
    if given is not None or not rest:
        need_kind(op, p.name, wanted, given)


def need_kind(function: str, argument: str, wanted: str, given: Any) -> None:
    """TypeError where an argument that should be a `bool`, `int` or `float` is of another kind, as PyTorch tells them apart: a
    flag is a bool and nothing else, a whole number is no flag."""
    if wanted == "bool":
        bad = not isinstance(given, bool)
    elif given is not None and hasattr(given, "_value"):  # a tensor
        bad = wanted == "int" and (given.dtype.is_floating_point or given.dtype is dtypes.bool_)
    else:
        bad = given is None or type(given) is object or isinstance(given, _REFUSED[wanted])
    if bad and (hasattr(given, "_value") or not hasattr(type(given), "__torch_function__")):
        raise TypeError(
            f"{function}(): argument '{argument}' must be {_SHOWN.get(wanted, wanted)}, not {type(given).__name__}"
        )
