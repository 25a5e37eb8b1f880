"""The signatures of PyTorch's compiled functions: would PyTorch take these arguments at all?

PyTorch looks at the kinds of all arguments before it looks at anything else. Operations here read their arguments as they need
them, so a call that fails for another reason is held against the table before its error goes on: what no overload takes is a
TypeError. The table, `_signatures.txt`, is written by `scripts/signatures.py`, and read when it is first needed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..types import dtypes
from ..types.size import kind_name
from ..types.value import Value

_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
_NUMBERS_TOO = frozenset("add div divide floor_divide mul multiply sub subtract true_divide".split())
"""Functions that take a number where their signature says Tensor."""
_SHOWN = {
    "Scalar": "Number", "int[]": "tuple of ints", "Tensor[]": "tuple of Tensors", "float[]": "tuple of floats",
    "Scalar[]": "tuple of Scalars", "Tensor?[]": "tuple of Tensors", "dtype": "torch.dtype", "device": "torch.device",
    "layout": "torch.layout", "Generator": "torch.Generator", "memory_format": "torch.memory_format",
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter of an overload. size: of how many items one number stands for all, 0 where it does not."""

    name: str
    kind: str
    size: int
    optional: bool
    required: bool
    keyword_only: bool

    def __str__(self) -> str:
        return f"{_SHOWN.get(self.kind, self.kind)} {self.name}{'' if self.required else ' = None'}"


class Mismatch(Exception):
    """Why an overload does not take some arguments."""


def _parameter(text: str, keyword_only: bool) -> Parameter:
    kind, _, name = text.partition(" ")
    sized = re.fullmatch(r"(.*)\[(\d+)\](\??)", kind)
    if sized:
        kind = f"{sized[1]}[]{sized[3]}"
    optional = kind.endswith("?")
    return Parameter(
        name.rstrip("="), kind.rstrip("?"), int(sized[2]) if sized else 0, optional, name[-1] != "=", keyword_only
    )


def _overload(text: str) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    keyword_only = False
    for part in text.split(", ") if text else ():
        if part == "*":
            keyword_only = True
        else:
            found.append(_parameter(part, keyword_only))
    return tuple(found)


@functools.cache
def _lines() -> dict[str, str]:
    text = Path(__file__).with_name("_signatures.txt").read_text(encoding="utf-8")
    return {name: rest for name, _, rest in (line.partition(": ") for line in text.splitlines())}


@functools.cache
def overloads(name: str) -> tuple[tuple[Parameter, ...], ...]:
    """The overloads of one of PyTorch's functions; none of one that the table has not."""
    line = _lines().get(name)
    return () if line is None else tuple(_overload(text) for text in line.split(" | "))


def _is_tensor(given: Any) -> bool:
    return (hasattr(given, "_value") and hasattr(given, "requires_grad")) or isinstance(given, Value)


def _is_number(given: Any, whole: bool, real: bool) -> bool:
    """Is it a number, or a tensor without dimensions or gradient? One whole number in a tensor of any shape is a size."""
    if hasattr(given, "_value"):
        category = dtypes.category(given.dtype)
        if whole:
            return category < 2 and given.numel() == 1
        return not given.requires_grad and not given.ndim and (category < 3 or not real)
    if whole:
        return isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    return isinstance(given, (int, float, np.number, np.bool_)) or (not real and isinstance(given, complex))


def _is_one(kind: str, given: Any, function: str) -> bool:
    """Is an argument of this kind?"""
    if kind == "object":
        return True
    if kind == "Tensor":
        return _is_tensor(given) or (function in _NUMBERS_TOO and _is_number(given, False, False))
    if kind in ("Scalar", "int", "float"):
        return _is_number(given, kind == "int", kind != "Scalar")
    if kind in ("bool", "str"):
        return isinstance(given, (bool, np.bool_) if kind == "bool" else str)
    if kind == "dtype":
        return isinstance(given, dtypes.dtype) or given in (float, int, bool, complex)
    if kind == "device":
        given = "" if isinstance(given, int) and not isinstance(given, bool) else given
        return isinstance(given, str) or type(given).__name__ == kind
    return type(given).__name__ == kind


def _are(p: Parameter, given: Any, function: str) -> bool:
    """Is an argument a sequence of what a parameter wants? PyTorch looks at the first number, and at all tensors."""
    kind = p.kind.removesuffix("[]").rstrip("?")
    if p.size and kind != "Tensor" and _is_one(kind, given, function):
        return True
    if not isinstance(given, (tuple, list)):
        return False
    if kind == "Tensor":
        null = p.kind.startswith("Tensor?")
        return all(_is_tensor(x) or (null and x is None) for x in given) and (not p.size or len(given) == p.size)
    return all(_is_one(kind, x, function) or (i and isinstance(x, (bool, np.bool_))) for i, x in enumerate(given))


def _fits(p: Parameter, given: Any, function: str) -> bool:
    if p.name == "reduction":  # a word in `nn.functional`, a number in `torch`: functions here take both
        return True
    if given is None:
        return p.optional or p.kind == "object" or p.name in ("requires_grad", "pin_memory")
    if p.kind.endswith("[]"):
        return _are(p, given, function)
    return _is_one(p.kind, given, function)


def _hold(
    function: str, params: tuple[Parameter, ...], args: tuple[Any, ...], kwargs: dict[str, Any], lenient: bool
) -> None:
    """Mismatch where an overload does not take these arguments. lenient: as in `refuse`."""
    placed = [p for p in params if not p.keyword_only]
    if len(placed) == 1 and placed[0].kind == "int[]" and args and not isinstance(args[0], (tuple, list)):
        args = (args,)  # items one by one
    if len(args) > len(placed):
        least = sum(p.required for p in placed)
        many = f"from {least} to {len(placed)}" if least != len(placed) else str(len(placed))
        s = "s" if len(placed) != 1 else ""
        were = "were" if len(args) != 1 else "was"
        raise Mismatch(f"{function}() takes {many} positional argument{s} but {len(args)} {were} given")
    known = {p.name for p in params}
    given = {p.name: x for p, x in zip(placed, args, strict=False)}
    for name, x in kwargs.items():
        own = name if name in known else _OTHER_NAMES.get(name, name)
        if name == "input" and own not in known:
            own = "self"  # as overloads with a number in the first place call it
        if own not in known:
            raise Mismatch(f"{function}() got an unexpected keyword argument '{name}'")
        if own in given:
            raise Mismatch(f"{function}() got multiple values for argument '{own}'")
        given[own] = x
    missing = [f'"{p.name}"' for p in params if p.required and p.name not in given and not (lenient and p.optional)]
    for i, p in enumerate(params):
        if p.name in given and not _fits(p, given[p.name], function):
            where = f" (position {i + 1})" * (i < len(args))
            shown = _SHOWN.get(p.kind, p.kind)
            raise Mismatch(f"{function}(): argument '{p.name}'{where} must be {shown}, not {kind_name(given[p.name])}")
        if f'"{p.name}"' in missing:
            break
    if missing:
        raise Mismatch(f"{function}() missing {len(missing)} required positional arguments: {', '.join(missing)}")


def _is_stranger(given: Any) -> bool:
    if isinstance(given, (tuple, list)):
        return any(_is_stranger(x) for x in given[:16] if x is not given)
    return hasattr(type(given), "__torch_function__") and not _is_tensor(given)


def refuse(function: str, args: tuple[Any, ...], kwargs: dict[str, Any], lenient: bool = False) -> None:
    """TypeError where PyTorch's function of this name has no overload for the arguments; nothing where it is not in the table.

    lenient: what may be None may be left out too.
    """
    found = overloads(function)
    if not found or any(_is_stranger(x) for x in (*args, *kwargs.values())):
        return
    told = ""
    for params in found:
        try:
            return _hold(function, params, args, kwargs, lenient)
        except Mismatch as error:
            told = str(error)
    if len(found) > 1:
        got = ", ".join([kind_name(x) for x in args] + [f"{n}={kind_name(x)}" for n, x in kwargs.items()])
        listed = "\n".join([f" * ({', '.join(map(str, params))})" for params in found])
        told = (
            f"{function}() received an invalid combination of arguments - got ({got}), but expected one of:\n{listed}"
        )
    raise TypeError(told)


def refuse_bound(function: str, values: dict[str, Any], lenient: bool = False) -> None:
    """The same for arguments of which is known to which parameters they belong, and not whether they were given by name."""
    found = overloads(function)
    known = {p.name for params in found for p in params}
    known |= {other for other, name in _OTHER_NAMES.items() if name in known}
    own: dict[str, Any] = {}
    for i, (name, value) in enumerate(values.items()):
        if value is not None:  # which functions in Python put in the place of what was not given
            own[name if i or name in known else found[0][0].name if found and found[0] else name] = value
    if own.keys() <= known and "reduction" not in known:  # losses, which `nn.functional` has with other parameters
        refuse(function, (), own, lenient)


def signed(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Has a plain function take what PyTorch's function `name` takes, and refuse everything else before it begins."""

    def define(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            refuse(name, args, kwargs)
            return fn(*args, **kwargs)

        return called

    return define
