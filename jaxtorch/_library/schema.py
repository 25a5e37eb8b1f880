"""Schemas of operations: `name(Tensor x, float p=0.5, *, int[] dims=[]) -> (Tensor, Tensor)`."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.device import device

_MISSING: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Argument:
    """One argument of a schema. type: as written, without the letters that say what it shares memory with."""

    name: str
    type: str
    default: Any = _MISSING
    kwarg_only: bool = False
    is_write: bool = False

    def __str__(self) -> str:
        text = f"{self.type} {self.name}"
        if self.default is _MISSING:
            return text
        shown = {True: "True", False: "False"}.get(self.default) if isinstance(self.default, bool) else None
        return f"{text}={shown or (repr(self.default) if not isinstance(self.default, str) else json(self.default))}"


def json(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True)
class Schema:
    """A parsed schema. text: as it was given."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any], label: str) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword-only arguments with their defaults, as their types want them. RuntimeError for what does not fit."""
        positional = [a for a in self.arguments if not a.kwarg_only]
        said = f"Declaration: {self.text}"
        if len(args) > len(positional):
            raise RuntimeError(
                f"{label}() takes {len(positional)} positional argument(s) but {len(args)} was/were given.  {said}"
            )
        rest = dict(kwargs)
        given: list[Any] = []
        for i, a in enumerate(self.arguments):
            if i < len(args):
                value = args[i]
                if a.name in rest:
                    raise RuntimeError(f"Argument '{a.name}' specified both as positional and keyword argument. {said}")
            elif a.name in rest:
                value = rest.pop(a.name)
            elif a.default is not _MISSING:
                given.append(a.default)
                continue
            else:
                raise RuntimeError(f"{label}() is missing value for argument '{a.name}'. {said}")
            fitting = fitted(a.type, value)
            if fitting is _MISSING:
                raise RuntimeError(
                    f"{label}() Expected a value of type '{a.type}' for argument '{a.name}' but instead found type "
                    f"'{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\n{said}"
                )
            given.append(fitting)
        if rest:
            raise RuntimeError(f"Unknown keyword argument '{next(iter(rest))}' for operator '{label}'. {said}")
        n = len(positional)
        return given[:n], {a.name: v for a, v in zip(self.arguments[n:], given[n:], strict=True)}

    def checked(self, result: Any) -> Any:
        """A result as the schema says it; RuntimeError or TypeError for what does not fit."""
        if len(self.returns) > 1 and not isinstance(result, (list, tuple)):
            raise TypeError(f"Object of type '{type(result).__name__}' is not an instance of 'sequence'")
        for kind, one in zip(self.returns, result if len(self.returns) > 1 else [result], strict=False):
            if kind == "Tensor" and one is not None and not isinstance(one, Tensor):
                raise RuntimeError(f"Unable to cast {one!r} to Tensor")
            if (kind in _NUMBERS or kind == "bool") and fitted(kind, one) is _MISSING:
                raise RuntimeError(f"Unable to cast Python instance of type {type(one)} to C++ type '{kind}'")
        return fitted(self.returns[0], result) if len(self.returns) == 1 and self.returns[0] in _NUMBERS else result


_NUMBERS: dict[str, Any] = {"int": int, "SymInt": int, "float": float}


def fitted(kind: str, value: Any) -> Any:
    """An argument as an operation's implementation gets it, or `_MISSING` where its type does not fit."""
    if kind.endswith("?"):
        return None if value is None else fitted(kind[:-1], value)
    inner, brackets, size = kind.partition("[")
    if brackets:
        if size[0].isdigit() and isinstance(value, int):
            return [int(value)] * int(size[:-1])
        if not isinstance(value, (list, tuple, set)):
            return _MISSING
        found = [_MISSING if v is None and inner == "Tensor" else fitted(inner, v) for v in value]
        return _MISSING if any(f is _MISSING for f in found) else found
    if kind == "Tensor":
        return value if value is None or isinstance(value, Tensor) else _MISSING
    if kind == "str":
        return value if isinstance(value, str) else _MISSING
    if kind == "Scalar":
        return value if isinstance(value, (int, float, complex)) else _MISSING
    if kind == "Device":
        return device(value) if isinstance(value, str) else value if isinstance(value, device) else _MISSING
    if kind == "ScalarType":
        return value if isinstance(value, dtypes.dtype) else _MISSING
    single = isinstance(value, (np.number, np.bool_)) or (isinstance(value, Tensor) and value.ndim == 0)
    if kind == "bool":
        return bool(value) if single or value is None or isinstance(value, (int, float, complex)) else _MISSING
    if kind in _NUMBERS:
        plain = isinstance(value, int) or (kind == "float" and isinstance(value, float))
        if value.__class__ is _NUMBERS[kind]:
            return value
        return _NUMBERS[kind](value.item() if isinstance(value, Tensor) else value) if single or plain else _MISSING
    return value


def _split(text: str) -> list[str]:
    """The parts between commas that are not inside brackets or quotes."""
    parts, depth, quote, part = [], 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        part += c
    return [*parts, part.strip()] if part.strip() else parts


_ALIAS = re.compile(r"\([a-z*|> -]*!?\)")


def _default(text: str) -> Any:
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a name of an enumeration, such as Mean


def parse(text: str) -> Schema:
    """A schema from its text; RuntimeError where it is none."""
    match = re.fullmatch(r"\s*([\w:]+?)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.*?)\s*", text, re.DOTALL)
    if match is None:
        raise RuntimeError(f"expected a schema such as 'name(Tensor x) -> Tensor', got {text!r}")
    name, overload, inside, returned = match.groups()
    arguments, keyword = [], False
    for part in _split(inside):
        if part == "*":
            keyword = True
            continue
        left, equals, right = part.partition("=")
        kind, _, label = left.strip().rpartition(" ")
        if not kind:
            raise RuntimeError(f"expected a type and a name in {part!r} of the schema {text!r}")
        write = "!" in kind
        default = _default(right.strip()) if equals else _MISSING
        arguments.append(Argument(label, _ALIAS.sub("", kind).strip(), default, keyword, write))
    if returned.startswith("(") and returned.endswith(")"):
        returns = tuple(_ALIAS.sub("", r).strip().split(" ")[0] for r in _split(returned[1:-1]))
    else:
        returns = (_ALIAS.sub("", returned).strip(),)
    return Schema(name, overload or "", tuple(arguments), returns, text.strip())


_TYPES: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", device: "Device",
    dtypes.dtype: "ScalarType", int | float | bool: "Scalar",
}  # fmt: skip
_SINGLE = ("Tensor", "SymInt", "float", "bool", "str", "Scalar", "ScalarType", "Device")
_ARGUMENTS = frozenset(
    [n + end for n in _SINGLE for end in ("", "?")]
    + [n + "[]" + end for n in ("SymInt", "float", "bool") for end in ("", "?")]
    + ["Tensor[]", "Tensor?[]", "Scalar[]"]
)
_RESULTS = frozenset(("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"))


def _supported(annotation: Any, where: str, types: frozenset[str]) -> str:
    """The type in a schema; ValueError for what PyTorch's schemas have not there."""
    found = _type_of(annotation, where)
    origins = [typing.get_origin(a) for a in (annotation, *typing.get_args(annotation))]
    if found not in types or tuple in origins or (types is _RESULTS and Sequence in origins):
        raise ValueError(f"infer_schema(func): {where} has unsupported type {annotation}")
    return found


def _type_of(annotation: Any, where: str) -> str:
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if parts and type(None) in parts:
        inner = [p for p in parts if p is not type(None)]
        if inner:
            return _type_of(typing.Union[tuple(inner)], where) + "?"  # noqa: UP007  (of a single type: that type)
    if origin in (list, tuple, Sequence) and parts and (len(parts) == 1 or parts[1] is ...):
        return _type_of(parts[0], where) + "[]"
    if origin in (typing.Union,) and set(parts) == {int, float, bool}:
        return "Scalar"
    raise ValueError(f"infer_schema(func): {where} has unsupported type {annotation}")


def infer(fn: Callable[..., Any], *, mutates_args: Any = (), op_name: str = "") -> str:
    """The schema of a function, from its annotations. mutates_args: what it writes to: names, or 'unknown' for all."""
    hints = typing.get_type_hints(fn)
    parts, keyword = [], False
    for i, p in enumerate(inspect.signature(fn).parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise ValueError("infer_schema(func): we do not support *args or **kwargs in func.")
        if p.name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {p.name} must have a type annotation.")
        kind = _supported(hints[p.name], f"Parameter {p.name}", _ARGUMENTS)
        if type(p.default) not in (type(_MISSING), type(None), int, float, bool, str, dtypes.dtype, device, type):
            raise ValueError(
                f"infer_schema(func): Parameter {p.name} has an unsupported default value: {p.default!r}, which a schema cannot hold"
            )
        written = kind.startswith("Tensor") and (mutates_args == "unknown" or p.name in mutates_args)
        if written:
            kind = kind.replace("Tensor", f"Tensor(a{i}!)", 1)
        if p.kind is p.KEYWORD_ONLY and not keyword:
            parts.append("*")
            keyword = True
        default = str(p.default).removeprefix("torch.") if isinstance(p.default, dtypes.dtype) else p.default
        shown = str(Argument(p.name, kind, default))
        parts.append(shown.replace('="', "=").removesuffix('"') if default is not p.default else shown)
        if not written and mutates_args != "unknown" and p.name in mutates_args:
            raise ValueError(
                f"infer_schema(func): Parameter {p.name} is in mutates_args but only Tensors, or collections of them, can be mutated"
            )
    names = set(inspect.signature(fn).parameters)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError("infer_schema(func): mutates_args must be a sequence of names, or the string 'unknown'")
    if mutates_args != "unknown" and not set(mutates_args) <= names:
        raise ValueError(
            f"infer_schema(func): {sorted(set(mutates_args) - names)} in mutates_args are not parameters of the function"
        )
    returned = hints.get("return", _MISSING)
    if returned is _MISSING:
        raise ValueError("infer_schema(func): the function must have a return annotation")
    if returned is type(None):
        shown = "()"
    elif typing.get_origin(returned) is tuple:
        shown = "(" + ", ".join(_supported(r, "Return", _RESULTS) for r in typing.get_args(returned)) + ")"
    else:
        shown = _supported(returned, "Return", _RESULTS)
    return f"{op_name}({', '.join(parts)}) -> {shown}"
