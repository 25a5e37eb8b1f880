"""The Python text of a graph."""

from __future__ import annotations

import builtins
import importlib
import math
import re
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..utils import _pytree as pytree
from . import _pytree as fx_pytree
from .node import Node, qualified_name, type_text

__all__ = ["CodeGen", "PythonCode"]

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=",
}  # fmt: skip
_UNARY = {"neg": "-", "pos": "+", "invert": "~"}
_GENERIC = {
    kind: getattr(typing, name)
    for kind, name in zip((list, dict, set, frozenset, tuple), "List Dict Set FrozenSet Tuple".split(), strict=True)
}
"""The generic types of `typing` by those that they stand for."""


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

    def generate(self, nodes: Iterable[Node], root: str, verbose: bool = False) -> PythonCode:
        """The function, whose first parameter is `root`. verbose: say in a comment where the program's lines are not known."""
        writer = self._writer(root)
        nodes = list(nodes)
        freed = _last_uses(nodes)
        lines = []
        remark = verbose
        for node in nodes:
            written = writer.write(node)
            if remark and node.op not in ("placeholder", "output"):
                lines += ["\n"] * bool(lines) + ["# No stacktrace found for following nodes"]
                remark = False
            if node.op not in ("placeholder", "output") and freed[node]:
                written[-1] += f";  {' = '.join([*freed[node], 'None'])}"
            lines += written
        lines += ["return None"] * (not writer.returned)
        if self._body_transformer is not None:
            lines = self._body_transformer(lines)
        head = f"def forward({', '.join([root, *self._parameters(writer, lines)])}){writer.returns}:"
        body = "\n".join("    " + line if line else "" for text in lines for line in _lines(text))
        marks = "\n".join([f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped])
        return PythonCode(f"\n{marks}\n\n{head}\n{body}\n    ", writer.globals)

    def _writer(self, root: str) -> _Writer:
        return _Writer(root)

    def _parameters(self, writer: _Writer, lines: list[str]) -> list[str]:
        return writer.parameters

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, from the function's arguments."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The function's result, from the value of the output node."""
        return outputs


class _PyTreeCodeGen(CodeGen):
    """Writes a function of nested arguments. names: its parameters. in_spec, out_spec: the structures of these and of its result."""

    def __init__(self, names: list[str], in_spec: Any, out_spec: Any = None) -> None:
        super().__init__()
        self.names, self.in_spec, self.out_spec = names, in_spec, out_spec

    def _writer(self, root: str) -> _Writer:
        writer = _Writer(root)
        writer.globals.update(pytree=pytree, fx_pytree=fx_pytree)
        writer.nested = self.out_spec is not None
        return writer

    def _parameters(self, writer: _Writer, lines: list[str]) -> list[str]:
        bound = [re.split(r"[ :=]", p)[0] for p in writer.parameters]
        inputs = f"[{', '.join(self.names)}]"
        lines.insert(
            0, f"{', '.join([*bound, ''])[:-1]} = fx_pytree.tree_flatten_spec({inputs}, {writer.root}._in_spec)"
        )
        return self.names

    def process_inputs(self, *args: Any) -> Any:
        """The leaves of the arguments."""
        return pytree.arg_tree_leaves(*args)

    def process_outputs(self, outputs: Any) -> Any:
        """The leaves put together again."""
        if self.out_spec is None:
            return outputs
        return pytree.tree_unflatten(outputs if isinstance(outputs, (list, tuple)) else [outputs], self.out_spec)


def _lines(text: str) -> list[str]:
    return [""] if text == "\n" else [line for line in text.split("\n") if line]


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
        self.returns = ""
        self.nested = False
        self.wrapped: dict[str, None] = {}
        """The names of functions whose calls stay nodes when the text is traced again."""

    def name_of(self, obj: Any) -> str:
        """A name for a function or another object, under which the text can say it."""
        if not callable(obj):
            return self._global(type(obj).__name__, obj)
        name = qualified_name(obj)
        return self._global(f"_{name}" if name.startswith("operator.") else name, obj)

    def _global(self, full: str, obj: Any) -> str:
        if full.startswith("torch.") and self._is(full, obj):
            return full
        if full in vars(builtins) and vars(builtins)[full] is obj:
            return full
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", full)
        while name in self.globals and self.globals[name] is not obj:
            name += "_1"
        self.globals[name] = obj
        return name

    def _is(self, full: str, obj: Any) -> bool:
        found: Any = self.globals["torch"]
        for part in full.split(".")[1:]:
            found = getattr(found, part, None)
        return found is obj

    def annotation(self, kind: Any) -> str:
        """A type as Python; generic ones by the name of their origin."""
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.annotation, kind.__args__))
        origin = getattr(kind, "__origin__", None)
        if origin is None:
            return self._global(type_text(kind), kind)
        inside = getattr(kind, "__args__", ())
        if inside and not isinstance(kind, types.GenericAlias):
            origin = _GENERIC.get(origin, origin)
        name = self._global(type_text(origin), origin)
        return f"{name}[{','.join(map(self.annotation, inside))}]" if inside else name

    def _typed(self, node: Node) -> str:
        return "" if node.type is None else f" : {self.annotation(node.type)}"

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
            self.returns = "" if node.type is None else f" -> {self.annotation(node.type)}"
            result = self.text(node.args[0])
            return [
                f"return pytree.tree_unflatten({result}, {self.root}._out_spec)" if self.nested else f"return {result}"
            ]
        return [f"{node.name}{self._typed(node)} = {self._expression(node)}"]

    def _placeholder(self, node: Node) -> list[str]:
        target = node.target
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.parameters.append(target + self._typed(node) + default)
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
        name = self.name_of(node.target)
        if node.meta.get("is_wrapped"):
            self.wrapped[name] = None
        return f"{name}({self.call(args, kwargs)})"

    def _atom(self, a: Any) -> str:
        text = self.text(a)
        return f"({text})" if isinstance(a, (int, float, complex)) and text.startswith("-") else text


def _path(root: str, target: str) -> str:
    """`self.layers.0.weight` as Python says it."""
    text = root
    for part in target.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text
