"""The Python text of a graph."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .node import Node, qualified_name

__all__ = ["CodeGen", "PythonCode"]

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=",
}  # fmt: skip
_UNARY = {"neg": "-", "pos": "+", "invert": "~"}


class PythonCode(NamedTuple):
    """src: the text of a function `forward`. globals: what the names in it mean."""

    __module__ = "jaxtorch.fx.graph"

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes the function of a graph."""

    __module__ = "jaxtorch.fx.graph"

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None

    def generate(self, nodes: Iterable[Node], root: str) -> PythonCode:
        """The function, whose first parameter is `root`."""
        writer = _Writer(root)
        nodes = list(nodes)
        freed = _last_uses(nodes)
        lines = []
        for node in nodes:
            written = writer.write(node)
            if node.op not in ("placeholder", "output") and freed[node]:
                written[-1] += f";  {' = '.join([*freed[node], 'None'])}"
            lines += written
        lines += ["return None"] * (not writer.returned)
        if self._body_transformer is not None:
            lines = self._body_transformer(lines)
        head = f"def forward({', '.join([root, *writer.parameters])}):"
        body = "\n".join("    " + line for text in lines for line in text.split("\n") if line)
        return PythonCode(f"\n\n\n{head}\n{body}\n    ", writer.globals)


def _last_uses(nodes: list[Node]) -> dict[Node, list[str]]:
    """For each node the names of the values that nothing later uses: its own, where nothing does at all."""
    seen: set[Node] = set()
    freed: dict[Node, list[str]] = {}
    for node in reversed(nodes):
        unused = [] if node.users or node.op in ("placeholder", "output") else [node.name]
        freed[node] = [n.name for n in node.all_input_nodes if n not in seen] + unused
        seen.update(node.all_input_nodes)
    return freed


class _Writer:
    def __init__(self, root: str) -> None:
        torch = importlib.import_module("jaxtorch")
        self.root = root
        self.globals: dict[str, Any] = {"torch": torch, "inf": math.inf, "nan": math.nan, "device": torch.device}
        self.parameters: list[str] = []
        self.returned = False

    def name_of(self, obj: Any) -> str:
        """A name for a function or another object, under which the text can say it."""
        full = qualified_name(obj) if callable(obj) else type(obj).__name__
        if full.startswith("torch.") and self._is(full, obj):
            return full
        name = re.sub(r"[^0-9a-zA-Z_]", "_", full)
        while name in self.globals and self.globals[name] is not obj:
            name += "_1"
        self.globals[name] = obj
        return name

    def _is(self, full: str, obj: Any) -> bool:
        found: Any = self.globals["torch"]
        for part in full.split(".")[1:]:
            found = getattr(found, part, None)
        return found is obj

    def text(self, a: Any) -> str:
        """An argument as Python."""
        if isinstance(a, Node):
            return a.name
        if isinstance(a, tuple):
            inside = ", ".join(map(self.text, a)) + ("," if len(a) == 1 else "")
            if hasattr(a, "_fields"):
                return f"{self.name_of(type(a))}({inside})"
            return f"({inside})"
        if isinstance(a, list):
            return "[" + ", ".join(map(self.text, a)) + "]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{k!r}: {self.text(v)}" for k, v in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({self.text(a.start)}, {self.text(a.stop)}, {self.text(a.step)})"
        if a is None or a is ... or isinstance(a, (bool, int, float, complex, str, bytes, range)):
            return repr(a)
        if type(a).__name__ in ("dtype", "memory_format", "layout"):
            return repr(a)
        return self.name_of(a)

    def call(self, args: Any, kwargs: Any) -> str:
        return ", ".join([*map(self.text, args), *[f"{k} = {self.text(v)}" for k, v in kwargs.items()]])

    def write(self, node: Node) -> list[str]:
        if node.op == "placeholder":
            return self._placeholder(node)
        if node.op == "output":
            self.returned = True
            return [f"return {self.text(node.args[0])}"]
        return [f"{node.name} = {self._expression(node)}"]

    def _placeholder(self, node: Node) -> list[str]:
        target = node.target
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.parameters.append(target + default)
        plain = target.replace("*", "")
        return [] if plain == node.name else [f"{node.name} = {plain}"]

    def _expression(self, node: Node) -> str:
        args, kwargs = node.args, node.kwargs
        if node.op == "get_attr":
            return _path(self.root, node.target)
        if node.op == "call_module":
            return f"{_path(self.root, node.target)}({self.call(args, kwargs)})"
        if node.op == "call_method":
            return f"{self.text(args[0])}.{node.target}({self.call(args[1:], kwargs)})"
        name, module = node.target.__name__ if hasattr(node.target, "__name__") else "", qualified_name(node.target)
        if module.startswith("operator.") and not kwargs:
            if name in _BINARY and len(args) == 2 and not name.startswith("i"):
                return f"{self._atom(args[0])} {_BINARY[name]} {self._atom(args[1])}"
            if name in _UNARY and len(args) == 1:
                return f"{_UNARY[name]}{self._atom(args[0])}"
            if name == "getitem":
                return f"{self.text(args[0])}[{self.text(args[1])}]"
        if (
            node.target is getattr
            and not kwargs
            and isinstance(args[1], str)
            and args[1].isidentifier()
            and len(args) == 2
        ):
            return f"{self.text(args[0])}.{args[1]}"
        return f"{self.name_of(node.target)}({self.call(args, kwargs)})"

    def _atom(self, a: Any) -> str:
        text = self.text(a)
        return f"({text})" if isinstance(a, (int, float, complex)) and text.startswith("-") else text


def _path(root: str, target: str) -> str:
    """`self.layers.0.weight` as Python says it."""
    text = root
    for part in target.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text
