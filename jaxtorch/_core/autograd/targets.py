"""Where gradients are sent, and where the caller of a backward pass wants them: `autograd.grad`, `backward(inputs=...)`."""

from __future__ import annotations

from typing import Any

from ..graph.nodes import GradientSink, Node
from ..tensor.aliasing import check_place
from ..tensor.views import regenerate_grad_fn


class GradientTargets:
    """Where the caller wants gradients: at outputs of nodes, or at leaves. `found` holds them in the order of `inputs`.

    accumulate: leaves keep theirs in `.grad` (`backward(inputs=...)`) instead.
    """

    __slots__ = ("by_node", "by_leaf", "found", "needed", "accumulate")

    def __init__(self, inputs: list[Any], accumulate: bool = False) -> None:
        self.by_node: dict[tuple[int, int], list[int]] = {}
        self.by_leaf: dict[int, list[int]] = {}
        self.found: list[Any] = [None] * len(inputs)
        self.accumulate = accumulate
        for position, (target, index) in enumerate(map(edge_of, inputs)):
            if isinstance(target, Node):
                self.by_node.setdefault((id(target), index), []).append(position)
            else:
                self.by_leaf.setdefault(id(target), []).append(position)
        self.needed: set[int] = set()

    def has_output_wanted(self, node: Any) -> bool:
        """Is a gradient of one of the node's outputs wanted?"""
        return any(key == id(node) for key, _ in self.by_node)

    def record(self, node: Any, grads: list[Any]) -> None:
        """Note the gradients of a node's outputs that the caller wants."""
        for index, g in enumerate(grads):
            for position in self.by_node.get((id(node), index), ()):
                self.found[position] = g

    def leads_to_target(self, edge: Any) -> bool:
        """Does a gradient along this edge lead to a captured place?"""
        target, index = edge
        if isinstance(target, Node):
            return id(target) in self.needed or (id(target), index) in self.by_node
        return id(target) in self.by_leaf

    def mark_needed(self, roots: list[Any]) -> None:
        """Find the nodes that lead to a captured place; only those run."""
        seen: set[int] = set()
        stack = [(n, False) for n in roots if isinstance(n, Node)]
        while stack:
            node, done = stack.pop()
            if done:
                if any(e is not None and self.leads_to_target(e) for e in node.edges):
                    self.needed.add(id(node))
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((t, False) for t in node.ends if isinstance(t, Node) and id(t) not in seen)


def edge_of(place: Any) -> tuple[Any, int]:
    """Where gradients of a tensor, or of a GradientEdge, are sent: (node, output number), or (leaf, 0)."""
    if isinstance(place, tuple):
        return (place[0], place[1]) if isinstance(place[0], Node) else (place[0].variable, 0)
    if not hasattr(place, "_alias"):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(place).__name__}")
    if place._alias is not None:
        check_place(place)
        regenerate_grad_fn(place)
    if type(place._node) is GradientSink:
        return GradientSink(), 0  # one that no gradient reaches
    return (place, 0) if place._node is None else (place._node, place._index)
