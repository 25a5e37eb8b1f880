"""`split_module`: a graph as a module of modules, by which part the program says that each node belongs to."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from ...nn.modules.module import Module
from ..graph import Graph
from ..graph_module import GraphModule, _get_attr
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """A part of a graph: what it is given, what it gives, and which parts it waits for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n partitions "
            f"depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


def _is_part(node: Node) -> bool:
    return node.op not in ("placeholder", "get_attr", "output")


def _partitions(m: GraphModule, callback: Callable[[Node], Any], affix: str | None) -> tuple[Any, dict[str, Partition]]:
    """The part of each node, and the parts by name, with what goes from one to another."""
    of: dict[Node, Partition] = {}
    parts: dict[str, Partition] = {}
    for node in m.graph.nodes:
        if _is_part(node):
            name = str(callback(node))
            if name not in parts:
                parts[name] = Partition(name)
                if affix is not None:
                    parts[name].submod_name = f"submod_{affix}_{name}"
            part = of[node] = parts[name]
            part.node_names.append(node.name)
    for user in m.graph.nodes:
        to = of.get(user)

        def use(given: Node, to: Partition | None = to, user: Node = user) -> Node:
            source = of.get(given)
            if source is not to and source is not None:
                source.outputs.setdefault(given.name)
            if to is not None and source is not to:
                to.inputs.setdefault(given.name)
                if source is not None:
                    to.dependencies.setdefault(source.name)
                    source.dependents.setdefault(to.name)
            return given

        map_arg((user.args, user.kwargs), use)
    return of, parts


def _sorted(parts: dict[str, Partition]) -> list[str]:
    """The parts, each after those that it waits for; RuntimeError where they wait for each other."""
    waiting = {name: set(part.dependencies) for name, part in parts.items()}
    ready = [name for name, others in waiting.items() if not others]
    found: list[str] = []
    while ready:
        found.append(ready.pop())
        for name in parts[found[-1]].dependents:
            waiting[name].discard(found[-1])
            if not waiting[name]:
                ready.append(name)
    if len(found) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return found


def _fill(m: GraphModule, of: dict[Node, Partition], parts: dict[str, Partition], names: Any, **keep: bool) -> None:
    """Copy the nodes into the graphs of their parts."""
    nodes = {node.name: node for node in m.graph.nodes}
    for part in parts.values():
        for position, name in enumerate(part.inputs):
            made = part.graph.placeholder(name if keep["inputs"] else f"arg_{position}", nodes[name].type)
            made.meta = nodes[name].meta.copy()
            part.environment[nodes[name]] = made
    for node, part in of.items():
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            part.targets[target] = _get_attr(m, node.target)
            if names is not None:
                names[f"{part.submod_name}.{target}"] = node.target
        args, kwargs = map_arg((node.args, node.kwargs), part.environment.__getitem__)
        made = part.graph.create_node(node.op, target, args, kwargs, node.name if keep["nodes"] else None, node.type)
        made.meta = node.meta.copy()
        part.environment[node] = made
    for part in parts.values():
        found = tuple([part.environment[nodes[name]] for name in part.outputs])
        part.graph.output(found[0] if len(found) == 1 and not keep["tuples"] else found)


def split_module(
    m: GraphModule,
    root_m: Module | None,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A module that computes what `m` computes by calling a submodule, `submod_<name>`, for each part.

    split_callback: the name of a node's part; asked of the nodes that compute. qualname_map: is filled with the names that
    modules had in `m`, by those that they have in the result. keep_original_order: parts follow in the order of their first
    nodes. RuntimeError where parts need each other's results.
    """
    of, parts = _partitions(m, split_callback, partition_affix)
    order = _sorted(parts)
    if keep_original_order:
        order = list(parts)
    _fill(
        m, of, parts, qualname_map,
        nodes=bool(keep_original_node_name), inputs=keep_original_input_name, tuples=tuple_return,
    )  # fmt: skip
    graph, env, held = Graph(), dict[str, Node](), dict[str, Any]()

    def fetch(node: Node) -> None:
        if node.name not in env:
            made = env[node.name] = graph.get_attr(node.target, node.type)
            made.meta = node.meta.copy()
            held[node.target] = _get_attr(m, node.target)

    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else inspect.Signature.empty
            made = env[node.name] = graph.placeholder(node.target, node.type, default)
            made.meta = node.meta.copy()
    attributes = [node for node in m.graph.nodes if node.op == "get_attr"]
    if not keep_original_order:
        for node in attributes:
            fetch(node)
    for name in order:
        part = parts[name]
        for node in attributes:
            if node.name in part.inputs:
                fetch(node)
        held[part.submod_name] = GraphModule(part.targets, part.graph)
        call = graph.call_module(part.submod_name, tuple([env[given] for given in part.inputs]))
        outputs = list(part.outputs)
        if len(outputs) == 1 and not tuple_return:
            env[outputs[0]] = call
        else:
            for i, given in enumerate(outputs):
                env[given] = graph.call_function(operator.getitem, (call, i))
    for node in attributes:
        fetch(node)
    for node in m.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], lambda given: env[given.name]))
    made = GraphModule(held, graph)
    made.meta["partition_names"] = {part.submod_name for part in parts.values()}
    return made
