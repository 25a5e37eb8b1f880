"""`torch.fx.experimental.const_fold`: what a graph computes from attributes alone is computed once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..._core.tensor.tensor import Tensor
from ..._ops.creation.from_data import tensor
from ...nn import Module, Parameter, ParameterList
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node
from ..tracer import symbolic_trace

__all__ = ["FoldedGraphModule", "split_const_subgraphs"]

_FOLDED = "_FX_CONST_FOLDED_ATTRS"


class FoldedGraphModule(GraphModule):
    """A graph module whose first call runs another graph, `const_subgraph_module`, and keeps what that gives as parameters."""

    def __init__(
        self, root: Any, graph: Graph, const_subgraph: Graph | None = None, fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:  # fmt: skip
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants; the first call does."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        kept = ParameterList([self._kept(x) for x in found]) if isinstance(found, tuple) else self._kept(found)
        setattr(self, self.fx_const_folded_attrs_name, kept)

    def _kept(self, x: Any) -> Parameter:
        if isinstance(x, Tensor):
            return Parameter(x.detach(), requires_grad=x.requires_grad)
        return Parameter(tensor([float(x)], device=self.device_for_folded_attrs), requires_grad=False)


def split_const_subgraphs(
    module: Module, skip_folding_node_fn: Callable[[Node], bool] | None = None, device_for_folded_attrs: str = "cpu"
) -> FoldedGraphModule:
    """The module's graph without what depends on attributes alone, which is computed at the first call.

    skip_folding_node_fn: says of which nodes that is not done.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant: set[Node] = set()
    for node in traced.graph.nodes:
        fixed = node.op == "get_attr" or constant.issuperset(node.all_input_nodes)
        skipped = skip_folding_node_fn is not None and skip_folding_node_fn(node)
        if fixed and node.op not in ("placeholder", "output") and not skipped and not node.is_impure():
            constant.add(node)
    folded = [
        n for n in traced.graph.nodes if n in constant and n.op != "get_attr" and not constant.issuperset(n.users)
    ]
    if not folded:
        return FoldedGraphModule(traced, traced.graph)

    first, env = Graph(), {}
    for node in traced.graph.nodes:
        if node in constant and not (node.op == "get_attr" and constant.isdisjoint(node.users)):
            env[node] = first.node_copy(node, lambda n, e=env: e[n])
    results = tuple([env[n] for n in folded])
    first.output(results[0] if len(folded) == 1 else results)

    rest, env = Graph(), {}
    kept = [
        n for n in traced.graph.nodes if n not in constant or (n.op == "get_attr" and not constant.issuperset(n.users))
    ]
    for node in [n for n in kept if n.op in ("placeholder", "get_attr")]:
        env[node] = rest.node_copy(node)
    root = GraphModule(traced, traced.graph)
    setattr(root, _FOLDED, ParameterList() if len(folded) > 1 else Parameter(tensor([])))
    rest.owning_module = root
    attribute = rest.get_attr(_FOLDED)
    for i, node in enumerate(folded):
        env[node] = rest.call_function(operator.getitem, (attribute, i)) if len(folded) > 1 else attribute
    for node in [n for n in kept if n.op not in ("placeholder", "get_attr")]:
        env[node] = rest.node_copy(node, lambda n, e=env: e[n])
    return FoldedGraphModule(root, rest, first, _FOLDED, device_for_folded_attrs)
