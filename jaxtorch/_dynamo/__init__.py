"""`torch._dynamo`: switches of the part of `torch.compile` that reads bytecode. jaxtorch has no such part."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .._compile import OptimizedModule
from .._compile import compile as _compile
from .._private_names.absent import absent_function as _absent_function
from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset
from . import config as config
from . import eval_frame as eval_frame
from . import utils as utils
from .eval_frame import is_dynamo_supported

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "eval_frame",
    "explain", "export", "forbid_in_graph", "graph_break", "is_compiling", "is_dynamo_supported", "is_inductor_supported",
    "list_backends", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "optimize", "reset", "run",
    "utils",
]  # fmt: skip

external_utils = SimpleNamespace(is_compiling=is_compiling)


def graph_break(msg: str = "") -> None:
    """Nothing to do: Python runs each time, so there is no graph to break."""


def optimize(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """As `torch.compile` without a function."""
    return lambda fn: _compile(fn)


def run(fn: Any = None) -> Any:
    """The function itself (or a decorator)."""
    return (lambda f: f) if fn is None else fn


def forbid_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


disallow_in_graph = forbid_in_graph


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Nothing to do: a program is compiled for each shape."""


maybe_mark_dynamic = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing to do: a program is compiled for each shape."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing to do: XLA owns the memory."""


def is_inductor_supported() -> bool:
    """False: XLA compiles."""
    return False


_NO_GRAPHS = "jaxtorch captures no graphs of bytecode"
explain = _absent_function("torch._dynamo.explain", _NO_GRAPHS)
export = _absent_function("torch._dynamo.export", _NO_GRAPHS)
