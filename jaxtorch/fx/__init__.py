"""`torch.fx`: programs as graphs, traced by calling them with proxies, and run as Python that is written from the graph."""

from __future__ import annotations

from . import _pytree as _pytree
from . import _symbolic_trace as _symbolic_trace
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Attribute, ParameterProxy, Proxy, TraceError
from .subgraph_rewriter import replace_pattern
from .tracer import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap

__all__ = [
    "PH",
    "Attribute",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "ParameterProxy",
    "Proxy",
    "ProxyableClassMeta",
    "TraceError",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]  # fmt: skip
