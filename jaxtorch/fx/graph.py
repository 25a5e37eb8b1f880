"""`Graph`: a list of nodes, and the Python that it stands for."""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from ..overrides import resolve_name
from .codegen import CodeGen, PythonCode, _PyTreeCodeGen
from .node import Argument as Argument
from .node import Node, map_arg, qualified_name

__all__ = ["CodeGen", "Graph", "PythonCode", "_PyTreeCodeGen"]


class _Namespace:
    """Gives out names that are not taken, nor Python's own."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._objects: dict[Any, str] = {}

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """`candidate`, or with a number behind it."""
        if obj is not None and obj in self._objects:
            return self._objects[obj]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (match.group(1), int(match.group(2))) if match else (candidate, None)
        name = candidate
        while (
            name in self._used or keyword.iskeyword(name) or name in vars(builtins) or name in ("torch", "inf", "nan")
        ):
            number = 1 if number is None else number + 1
            name = f"{base}_{number}"
        self._used.add(name)
        if obj is not None:
            self._objects[obj] = name
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Say whose a name is."""
        self._objects.setdefault(obj, name)

    _rename_object = associate_name_with_obj


class _NodeList:
    """The nodes of a graph, in order; nodes may be erased on the way."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> Any:
        return _NodeList(self.graph, "_prev" if self.direction == "_next" else "_next")


_node_list = _NodeList


class _InsertPoint:
    """The place of new nodes, taken at once; as a context manager it gives the place before it back."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        self.graph._insert = self.before


class Graph:
    """A program as a list of nodes, each using the results of earlier ones.

    owning_module: the GraphModule it belongs to, whose attributes `get_attr` and `call_module` nodes name.
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> Any:
        """The module the graph belongs to."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _NodeList:
        """The nodes in order."""
        return _NodeList(self)

    def output_node(self) -> Node:
        """The node that returns."""
        return next(n for n in self.nodes.__reversed__() if n.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of an op, and of a target."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # -- making nodes

    def create_node(
        self, op: str, target: Any, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        name: str | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Add a node at the place of insertion: the end, unless `inserting_before` or `inserting_after` say otherwise."""
        args, kwargs = args or (), kwargs or {}
        made = Node(self, "", op, target, args, kwargs, type_expr)
        made.name = self._graph_namespace.create_name(name or self._target_to_str(target), None)
        self._graph_namespace.associate_name_with_obj(made.name, made)
        self._insert(made)
        return made

    @staticmethod
    def _target_to_str(target: Any) -> str:
        if callable(target):
            text = target.__name__ if hasattr(target, "__name__") else type(target).__name__
            if isinstance(target, FunctionType) and resolve_name(target) is not None:
                text = qualified_name(target).rpartition(".")[2]  # which is its `__name__` in PyTorch
        else:
            text = str(target)
            if text.startswith("__") and text.endswith("__"):
                text = text[2:-2]
        return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", text.replace(".", "_")).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty) -> Node:
        """An input."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module, by its path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a module inside the module."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a method of args[0]."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None, type_expr: Any = None, name: str | None = None
    ) -> Node:  # fmt: skip
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the program returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Add a copy of a node of another graph; `arg_transform` says which node stands for each of its inputs."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Add copies of another graph's nodes, up to its output, whose value is returned. val_map: nodes that have a copy."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # -- changing

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node; RuntimeError while another uses it."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        to_erase._set((), {})
        to_erase._unlink()
        to_erase._erased = True

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes come before a node, or at the beginning: from this call on, or as a context, until its end."""
        return _InsertPoint(self, (self._root._next if n is None else n).prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """New nodes come after a node, or at the end; the first one made comes last. Lasts as `inserting_before` does."""
        return _InsertPoint(self, (self._root._prev if n is None else n).append)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes that nothing uses and that do nothing else; returns whether there were any."""
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in self.nodes.__reversed__():
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """RuntimeError where a node is used before its place, or names nothing in the owning module."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph")
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that Nodes "
                        f"in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                found = self.owning_module
                for part in node.target.split("."):
                    if not hasattr(found, part):
                        raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part}")
                    found = getattr(found, part)

    # -- showing

    def python_code(self, root_module: str = "self", *, verbose: bool = False, **kwargs: Any) -> PythonCode:
        """The text of the function, and what its names mean."""
        return self._codegen.generate(self.nodes, root_module, verbose)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have the text be written by another object."""
        self._codegen = codegen

    @contextmanager
    def on_generate_code(self, make_transformer: Callable[[Any], Callable[[list[str]], list[str]]]) -> Iterator[None]:
        """Context in which a function changes the lines of the function's body."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        try:
            yield
        finally:
            self._codegen._body_transformer = before

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        for n in self.nodes:
            rows.append([n.op, n.name, str(n.target), str(n.args), str(dict(n.kwargs))])
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, ["-" * w for w in widths])
        for row in rows:
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())

    def __str__(self) -> str:
        return "\n".join(["graph():", *["    " + str(n.format_node()) for n in self.nodes]])

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the function as the placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result as the caller gets it."""
        return self._codegen.process_outputs(out)

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        memo = {} if memo is None else memo
        memo[id(self)] = made
        copies: dict[Node, Node] = {}
        found = made.graph_copy(self, copies, return_output_node=True)
        if found is not None:
            result, old = found
            made.output(result, type_expr=old.type).meta = dict(old.meta)
        made._codegen = self._codegen
        return made
