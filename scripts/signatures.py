"""Print the table of the signatures of PyTorch's compiled functions, `jaxtorch/_core/define/_signatures.txt`.

    python scripts/signatures.py > jaxtorch/_core/define/_signatures.txt

A line for each function: its name and its overloads, with ` | ` between them. An overload is what the error of a wrong call says of
it, or, where the function has only one, its schema. `=` stands behind what may be left out, `?` behind types that None has as well.
"""

from __future__ import annotations

import collections
import re
from typing import Any

import torch

WORDS = {
    "Number": "Scalar", "tuple of ints": "int[]", "tuple of Tensors": "Tensor[]", "tuple of floats": "float[]",
    "tuple of Scalars": "Scalar[]", "torch.dtype": "dtype", "torch.device": "device", "torch.layout": "layout",
    "torch.Generator": "Generator", "torch.memory_format": "memory_format", "ScalarType": "dtype", "Layout": "layout",
    "Device": "device", "MemoryFormat": "memory_format",
}  # fmt: skip
OPTIONS = ("dtype", "layout", "device", "pin_memory")
OF_OPTIONS = ["dtype? dtype=", "layout? layout=", "device? device=", "bool? pin_memory=", "bool requires_grad="]
BY_HAND = {
    "as_tensor": "object data, *, dtype? dtype=, device? device=",
    "asarray": "object obj, *, dtype? dtype=, device? device=, bool? copy=, bool requires_grad=",
    "hsmm": "Tensor input, Tensor mat2, *, Tensor? out=",
    "nonzero": "Tensor input, *, Tensor? out=, bool as_tuple=",
    "saddmm": "Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=, Scalar alpha=, Tensor? out=",
    "tensor": "object data, *, dtype? dtype=, device? device=, bool pin_memory=, bool requires_grad=",
    "range": "Scalar start, Scalar end, Scalar step=, *, Tensor? out=, dtype? dtype=, layout layout=, device? device=, "
    "bool requires_grad=",
}
"""Functions whose schemas are those of TorchScript's, or others than Python's, or that have none."""
_BETA = {"addbmm": "batch1 batch2", "baddbmm": "batch1 batch2", "addmm": "mat1 mat2", "sspaddmm": "mat1 mat2", "saddmm": "mat1 mat2",
         "addmv": "mat vec", "addr": "vec1 vec2"}  # fmt: skip
OLD = {
    "add": "Tensor input, Scalar alpha, Tensor other",
    "sub": "Tensor input, Scalar alpha, Tensor other",
    "addcdiv": "Tensor input, Scalar value, Tensor tensor1, Tensor tensor2",
    "addcmul": "Tensor input, Scalar value, Tensor tensor1, Tensor tensor2",
    **{name: " | ".join([f"Scalar beta, Tensor input, {alpha}Tensor {a}, Tensor {b}" for alpha in ("Scalar alpha, ", "")])
       for name, (a, b) in ((name, factors.split()) for name, factors in _BETA.items())},
}  # fmt: skip
"""Old overloads, which no message names; each may have `out=`."""


class Odd:
    """What no parameter takes."""


class Argument:
    """An argument of a schema: `int[2]? stride=None`."""

    def __init__(self, text: str) -> None:
        head, equal, self.default = text.partition("=")
        kind, _, name = head.rpartition(" ")
        self.name = "input" if name == "self" else name
        self.written = "!" in kind
        kind = re.sub(r"\([^)]*\)", "", kind).replace("SymInt", "int")
        self.optional = kind.endswith("?")
        kind = kind.rstrip("?")
        self.kind = WORDS.get(kind, kind)
        self.has_default = bool(equal)

    def __str__(self) -> str:
        return f"{self.kind}{'?' * self.optional} {self.name}{'=' * self.has_default}"


def split(schema: Any) -> list[Any]:
    """The arguments of a schema, with '*' where those begin that are given by name alone."""
    text = str(schema).partition("(")[2].rpartition(") -> ")[0]
    parts = re.split(r", (?![^\[(]*[\])])", text) if text else []
    return [p if p == "*" else Argument(p) for p in parts]


def by_name() -> dict[str, list[list[Any]]]:
    """The argument lists of the overloads of ATen's functions."""
    found = collections.defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten":
            found[name].append(split(schema))
    return found


def named(arguments: list[Any]) -> list[Argument]:
    return [a for a in arguments if a != "*"]


def of_message(text: str, known: list[list[Any]]) -> str:
    """An overload as a message writes it, with what only the schemas say."""
    every = [a for arguments in known for a in named(arguments)]
    optional = {a.name for a in every if a.optional} - ({"pin_memory"} if "object " in text else set())
    sizes = {a.name: a.kind for a in every if re.search(r"\[\d", a.kind)}
    parts = []
    for part in text.split(", "):
        if part == "*":
            parts.append(part)
            continue
        head, equal, default = part.partition(" = ")
        kind, _, name = head.rpartition(" ")
        kind = WORDS.get(kind, kind)
        kind = sizes.get(name, kind) if kind in ("int[]", "float[]") else kind
        null = name in optional or default == "None"
        parts.append(f"{kind}{'?' * null} {name}{'=' * bool(equal)}")
    return ", ".join(parts)


def of_schema(arguments: list[Any], known: list[list[Any]]) -> str:
    """An overload that its schema describes, with `out=` where another schema has that beside the same arguments."""
    names = [a.name for a in named(arguments)]
    options = set(OPTIONS) <= set(names)
    results = 0
    for other in known:
        written = [a.name for a in named(other) if a.written]
        rest = [a.name for a in named(other) if not a.written]
        if written and not results and rest in (names, [n for n in names if n not in OPTIONS]):
            results = len(written)
    parts = [str(a) for a in arguments if not options or a == "*" or a.name not in OPTIONS]
    if parts[-1:] == ["*"]:
        parts.pop()
    if (results or options) and "*" not in parts:
        parts.append("*")
    out = ["Tensor? out="] if results == 1 else [f"Tensor[{results}]? out="] if results else []
    return ", ".join(parts + out + OF_OPTIONS * options)


def overloads(name: str, message: str, known: list[list[Any]]) -> list[str]:
    """All overloads of one function."""
    if name in BY_HAND:
        return [BY_HAND[name]]
    found = re.findall(r"^ \* \((.*)\)$", message, re.MULTILINE)
    if found:
        return [of_message(o, known) for o in found]
    plain = [k for k in known if name.endswith("_") or not any(a.written for a in named(k))]
    return [of_schema(k, known) for k in plain[:1]]


def main() -> None:
    known = by_name()
    odd = [Odd() for _ in range(24)]
    spaces = {torch._C._VariableFunctions: "", torch._C._linalg: "linalg_", torch._C._fft: "fft_",
              torch._C._special: "special_", torch._C._nn: ""}  # fmt: skip
    lines = {}
    for space, prefix in spaces.items():
        for name in dir(space):
            function = getattr(space, name)
            if name.removeprefix(prefix).startswith("_") or type(function).__name__ != "builtin_function_or_method":
                continue
            try:
                function(*odd)
            except TypeError as error:
                texts = overloads(name, str(error), known[name])
                for old in OLD[name].split(" | ") if name in OLD else ():
                    texts.append(old + ", *, Tensor? out=")
                if texts:
                    lines[name] = " | ".join(texts)
    for name in sorted(lines):
        print(f"{name}: {lines[name]}")


if __name__ == "__main__":
    main()
