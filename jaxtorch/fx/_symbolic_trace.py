"""`torch.fx._symbolic_trace`: where libraries look for the tracer, and for the parts of which they make a `trace` of their own."""

import functools
from types import FunctionType

from .._jit_internal import ScriptObject
from ._compatibility import compatibility
from .graph import Graph
from .graph_module import GraphModule
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from .tracer import (
    PH,
    PHBase,
    ProxyableClassMeta,
    Tracer,
    _assert_is_none,
    _autowrap_check,
    _orig_module_call,
    _orig_module_getattr,
    _patch_wrapped_functions,
    _Patcher,
    is_fx_symbolic_tracing,
    is_fx_tracing,
    symbolic_trace,
    wrap,
)

__all__ = [
    "PH",
    "FunctionType",
    "Graph",
    "GraphModule",
    "PHBase",
    "ParameterProxy",
    "Proxy",
    "ProxyableClassMeta",
    "Scope",
    "ScopeContextManager",
    "ScriptObject",
    "Tracer",
    "TracerBase",
    "_Patcher",
    "_assert_is_none",
    "_autowrap_check",
    "_orig_module_call",
    "_orig_module_getattr",
    "_patch_wrapped_functions",
    "compatibility",
    "functools",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]
