"""`Proxy`: stands for a value while a program is traced; what is done with it becomes nodes."""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._core.dispatch.torch_function import activate
from .._core.types.device import device
from .._core.types.dtypes import dtype
from .._ops.types.constants import layout, memory_format
from ..overrides import resolve_name
from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
           "TracerBase"]  # fmt: skip


class TraceError(ValueError):
    """The program does something with a proxy that a graph cannot hold."""


class Scope:
    """The module being called: its path and its type."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Context in which the scope is another."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._previous = Scope(scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc: Any) -> None:
        self._scope.module_path, self._scope.module_type = self._previous.module_path, self._previous.module_type


class TracerBase:
    """What a tracer does with proxies; subclasses change it."""

    graph: Any
    trace_asserts = False
    record_stack_traces = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def create_node(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None
    ) -> Node:  # fmt: skip
        """Add a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:  # fmt: skip
        """Add a node with these arguments, among which there may be proxies; returns its proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """An argument of a node: proxies become nodes. NotImplementedError for what a graph cannot hold."""

        def one(x: Any) -> Any:
            if isinstance(x, Proxy):
                return x.node
            if hasattr(x, "__fx_create_arg__"):
                return x.__fx_create_arg__(self)
            if isinstance(x, range):
                return range(self.create_arg(x.start), self.create_arg(x.stop), self.create_arg(x.step))
            if x is None or isinstance(x, (str, int, float, bool, complex, Node, type(...))) or _is_plain(x):
                return x
            raise NotImplementedError(f"argument of type: {type(x)}")

        if isinstance(a, dict):
            for key in a:
                if isinstance(key, Proxy):
                    raise NotImplementedError("dictionaries in the arguments of a node cannot have proxies as keys")
        return map_aggregate(a, one) if not isinstance(a, Proxy) else a.node

    def to_bool(self, obj: Proxy) -> bool:
        """Called when the program asks whether a proxy is true."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called when the program goes through a proxy. Unpacking into a fixed number of names works."""
        frame = inspect.currentframe()
        caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
        if caller is not None:
            for instruction in dis.get_instructions(caller.f_code):
                if instruction.offset == caller.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                    return (obj[i] for i in range(instruction.argval))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument."
        )

    def keys(self, obj: Proxy) -> Any:
        """Called for `**proxy`."""
        return Attribute(obj, "keys")()


def _is_plain(x: Any) -> bool:
    return isinstance(x, (device, dtype, layout, memory_format))


class GraphAppendingTracer(TracerBase):
    """Adds what is done with proxies to a graph that exists."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.scope = Scope("", None)


class Proxy:
    """Stands for the value of a node."""

    if TYPE_CHECKING:

        def __getitem__(self, index: Any) -> Any: ...

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        activate()  # a program may make proxies of its own, without a trace
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k in ("node", "tracer"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: Any) -> Proxy:
        return Proxy(self.node, self.tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __contains__(self, item: Any) -> bool:
        raise TraceError("`in` cannot be used on a symbolically traced variable")

    def keys(self) -> Any:
        """The keys of a mapping that the proxy stands for."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tracers: dict[Any, None] = {}

        def find(a: Any) -> Any:
            if isinstance(a, Proxy):
                tracers[a.tracer] = None
            return a

        map_aggregate(args, find)
        map_aggregate(kwargs, find)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        name = resolve_name(orig_method) or ""
        if name.startswith("torch.Tensor."):
            return tracer.create_proxy("call_method", name.removeprefix("torch.Tensor."), args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a proxy: a node of its own only when it is not called as a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node  # pyright: ignore[reportReturnType]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter, whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self) -> Any:
        return self.param.size()

    def dim(self) -> int:
        return self.param.dim()

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


def _magic(name: str, function: Callable[..., Any], swapped: bool) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any) -> Any:
        given = (args[0], self) if swapped else (self, *args)
        return self.tracer.create_proxy("call_function", function, given, {})

    method.__name__ = method.__qualname__ = name
    return method


_BINARY = "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor"
_OTHER = "eq ne lt le gt ge getitem neg pos invert abs"
for _word in (_BINARY + " " + _OTHER).split():
    _function = getattr(operator, _word + "_" if _word in ("and", "or") else _word)
    setattr(Proxy, f"__{_word}__", _magic(f"__{_word}__", _function, False))
    if _word in _BINARY.split():
        setattr(Proxy, f"__r{_word}__", _magic(f"__r{_word}__", _function, True))
Proxy.__hash__ = object.__hash__
