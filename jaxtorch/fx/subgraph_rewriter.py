"""Replacing the parts of a graph that look like another graph: `replace_pattern`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._core.tensor.tensor import Tensor
from ..nn.modules.module import Module
from .graph import Graph
from .graph_module import GraphModule, _assign_attr
from .node import Node, map_aggregate
from .tracer import symbolic_trace

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where the pattern was found.

    anchor: the pattern's node at which the search began, one that it returns. nodes_map: the pattern's nodes, and what each was in
    the graph; a placeholder may have been a number.
    """

    anchor: Node
    nodes_map: dict[Node, Any]


@dataclass
class ReplacedPatterns:
    """A match, and the nodes that were written in its place."""

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


@dataclass
class InternalMatch:
    """A match as filters see it.

    anchors: the pattern's nodes at which the search began. placeholder_nodes: what stands for the pattern's inputs.
    returning_nodes: what stands for the nodes that it returns.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Any] = field(default_factory=dict)


def _leaves(a: Any) -> list[Any]:
    found: list[Any] = []
    map_aggregate(a, found.append)
    return found


class _Matcher:
    """Looks for one pattern: backwards from what it returns, through the arguments."""

    def __init__(self, pattern: Graph, ignore_literals: bool) -> None:
        self.pattern = pattern
        self.ignore_literals = ignore_literals
        self.placeholders = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.returning = output.all_input_nodes
        self.anchors = [n for n in self.returning if len(n.users) == 1 and n.op != "placeholder"]
        if len(self.placeholders) + 1 == len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")

    def matches(self, graph: Graph) -> list[InternalMatch]:
        """Where the pattern is, in the graph's order; no node is part of two places."""
        found: list[InternalMatch] = []
        taken: set[Node] = set()
        for nodes_map in self._all(graph, self.anchors, {}):
            own = {gn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
            if own & taken or not self._closed(nodes_map):
                continue
            taken |= own
            inputs = [nodes_map[p] for p in self.placeholders if p in nodes_map]
            outputs = [nodes_map[n] for n in self.returning]
            found.append(InternalMatch(self.anchors, nodes_map, inputs, outputs))
        return found

    def _all(self, graph: Graph, anchors: Sequence[Node], known: dict[Node, Any]) -> Iterator[dict[Node, Any]]:
        if not anchors:
            yield known
            return
        for node in graph.nodes:
            tried = dict(known)
            if node.op != "output" and self._same(anchors[0], node, tried):
                yield from self._all(graph, anchors[1:], tried)

    def _closed(self, nodes_map: dict[Node, Any]) -> bool:
        """Does nothing outside use what is inside, other than the results?"""
        inside = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        return all(pn in self.returning or all(user in inside for user in gn.users) for gn, pn in inside.items())

    def _same(self, pn: Node, gn: Node, known: dict[Node, Any]) -> bool:
        """Is the graph's node the pattern's, and are their inputs alike? Adds to `known`."""
        if pn in known:
            return known[pn] is gn
        if any(gn is other for other in known.values()):
            return False
        if pn.op != "placeholder":
            if pn.op != gn.op or (not _same_attribute(pn, gn) if pn.op == "get_attr" else pn.target != gn.target):
                return False
            if len(pn.args) != len(gn.args) or list(pn.kwargs) != list(gn.kwargs):
                return False
        known[pn] = gn
        if pn.op in ("placeholder", "get_attr"):
            return True
        ours, theirs = _leaves((pn.args, pn.kwargs)), _leaves((gn.args, gn.kwargs))
        return len(ours) == len(theirs) and all(self._alike(a, b, known) for a, b in zip(ours, theirs, strict=True))

    def _alike(self, a: Any, b: Any, known: dict[Node, Any]) -> bool:
        if isinstance(a, Node) and isinstance(b, Node):
            return self._same(a, b, known)
        if isinstance(a, Node):
            if a.op != "placeholder":
                return self.ignore_literals
            return known.setdefault(a, b) == b
        if isinstance(b, Node):
            return self.ignore_literals
        return self.ignore_literals or (type(a) is type(b) and a == b)


def _same_attribute(pn: Node, gn: Node) -> bool:
    ours, theirs = (_attribute(n.graph.owning_module, n.target) for n in (pn, gn))
    return isinstance(ours, Tensor) and isinstance(theirs, Tensor)


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part, None)
    return module


def _graph_of(found: Any) -> Graph:
    if isinstance(found, GraphModule):
        return found.graph
    return found if isinstance(found, Graph) else symbolic_trace(found).graph


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replace each place of the graph that does what `pattern` does by what `replacement` does.

    Both are functions or modules, and are traced. The arguments of the pattern stand for anything, and its results may
    be used anywhere; other nodes inside must not be used outside. Places that overlap with one found before are left.
    Returns the matches; AssertionError where the replacement takes or returns another number of values.
    """
    return [Match(r.anchor, r.nodes_map) for r in _replace(gm, pattern, replacement, None, False, None)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """`replace_pattern` where every filter agrees.

    match_filters: functions of the match, the graph and the pattern. ignore_literals: numbers and texts need not be equal.
    replacement_callback: makes the replacement of each match, in place of `replacement`.
    """
    if node_name_match:
        raise NotImplementedError("torch.fx.subgraph_rewriter.replace_pattern_with_filters: node_name_match")
    return _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback)


def _replace(
    gm: GraphModule, pattern: Any, replacement: Any, filters: Any, ignore_literals: bool, callback: Any
) -> list[ReplacedPatterns]:  # fmt: skip
    pattern_graph = _graph_of(pattern)
    fixed = None if replacement is None else _graph_of(replacement)
    if fixed is None and callback is None:
        raise AssertionError("Must provide either replacement_graph or replacement_callback")
    matcher = _Matcher(pattern_graph, ignore_literals)
    matches = [m for m in matcher.matches(gm.graph) if all(f(m, gm.graph, pattern_graph) for f in filters or ())]
    changed: dict[Any, Any] = {}
    done: list[ReplacedPatterns] = []
    for match in matches:
        new = _graph_of(callback(match, gm.graph, pattern_graph)) if fixed is None else fixed
        done.append(_replace_one(gm.graph, match, new, changed))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return done


def _replace_one(graph: Graph, match: InternalMatch, replacement: Graph, changed: dict[Any, Any]) -> ReplacedPatterns:
    """Write the replacement before the first user of the match's results, and remove what it replaces."""
    placeholders = [n for n in replacement.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(placeholders):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(placeholders)}")

    def now(a: Any) -> Any:
        while isinstance(a, Node) and a in changed:
            a = changed[a]
        return a

    for pn, gn in match.nodes_map.items():
        if pn.op == "placeholder":
            match.nodes_map[pn] = now(gn)
    inputs: dict[Node, Any] = {p: now(gn) for p, gn in zip(placeholders, match.placeholder_nodes, strict=True)}
    old = [now(n) for n in match.returning_nodes]
    users = {user for node in old for user in node.users}
    inside = [gn for pn, gn in match.nodes_map.items() if pn.op != "placeholder"]
    nodes = list(graph.nodes)
    place = next((n for n in nodes if n in users), None)
    before = place if place is not None else next(n for n in reversed(nodes) if n in inside).next
    known = set(nodes)
    with graph.inserting_before(before):
        result = graph.graph_copy(replacement, inputs)
    new = result if isinstance(result, (tuple, list)) else (result,)
    if len(new) != len(old):
        raise AssertionError(f"Output count mismatch: {len(old)} vs {len(new)}")
    for was, made in zip(old, new, strict=True):
        if was is not made:
            was.replace_all_uses_with(made)
            changed[was] = made
    for node in reversed([n for n in graph.nodes if n in inside]):
        graph.erase_node(node)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, [n for n in graph.nodes if n not in known])


def _take_attributes(gm: GraphModule, source: Any) -> None:
    """The modules and tensors that the new nodes name, from the replacement; what the graph names no more goes."""
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and _attribute(gm, node.target) is None:
            _assign_attr(_attribute(source, node.target), gm, node.target)
    gm.delete_all_unused_submodules()
    gm.graph.lint()
