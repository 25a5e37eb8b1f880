"""`Tracer`: calls a module with proxies and so finds its graph."""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import math
import warnings
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .._core.tensor.tensor import Tensor
from .._namespace.symbols import _assert
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..utils._pytree import LeafSpec, tree_flatten, tree_leaves, tree_map
from . import graph_module
from .codegen import _PyTreeCodeGen
from .graph import Graph
from .graph_module import GraphModule
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = [
    "PH",
    "PHBase",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

_wrapped: list[tuple[dict[str, Any], str]] = []
"""The functions that `wrap` has been told of: the namespace they are in, and their name."""

_tracing: list[Any] = []
_CHECKED = (bool, int, float, str, bytes, complex)
"""The types of `concrete_args` that a graph compares with what it is given."""


class PHBase:
    """Stands for an argument that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


def is_fx_tracing() -> bool:
    """Is a module being traced?"""
    return bool(_tracing)


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """Metaclass: while tracing, making an instance with proxies becomes a call of the class in the graph."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs) if _tracing else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


def _find_proxy(*parts: Any) -> Proxy | None:
    return next((x for x in tree_leaves(parts) if isinstance(x, Proxy)), None)


def wrap(fn_or_name: Any) -> Any:
    """Have calls of a function of this module become nodes, instead of being traced into. By itself, or its name."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((caller.f_globals, name))
    return fn_or_name


def _recording(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that becomes a node when a proxy is among its arguments."""

    @functools.wraps(original)
    def record(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return record


_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__


class _Patcher:
    """Changes of namespaces and classes that are undone when the `with` block ends; a later change of a name goes on top.

    Libraries with a `trace` of their own use it too, as they do `_autowrap_check` and `_patch_wrapped_functions`.
    """

    def __init__(self) -> None:
        self.undo: list[Callable[[], None]] = []
        self.visited: set[int] = set()
        self._patched: set[tuple[int, str]] = set()

    def _again(self, owner: Any, name: str, deduplicate: bool) -> bool:
        """Is it changed already, and once is enough?"""
        key = (id(owner), name)
        seen = key in self._patched
        self._patched.add(key)
        return seen and deduplicate

    def patch(self, namespace: dict[str, Any], name: str, new: Any, deduplicate: bool = True) -> None:
        """Give `name` another value in a namespace. deduplicate: leave it if this patcher has done so before."""
        if self._again(namespace, name, deduplicate):
            return
        missing = name not in namespace
        old = namespace.get(name)
        self.undo.append(lambda: namespace.pop(name) if missing else namespace.__setitem__(name, old))
        namespace[name] = new

    def patch_method(self, owner: Any, name: str, new: Any, deduplicate: bool = True) -> None:
        """Give a class another method. deduplicate: leave it if this patcher has done so before."""
        if self._again(owner, name, deduplicate):
            return
        own = vars(owner)
        if name in own:
            old = own[name]
            self.undo.append(lambda: setattr(owner, name, old))
        else:
            self.undo.append(lambda: delattr(owner, name))
        setattr(owner, name, new)

    def visit_once(self, thing: Any) -> bool:
        """Is this the first visit of an object?"""
        first = id(thing) not in self.visited
        self.visited.add(id(thing))
        return first

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exc: Any) -> None:
        for undo in reversed(self.undo):
            undo()
        self.undo.clear()
        self.visited.clear()
        self._patched.clear()


def _autowrap_check(patcher: _Patcher, namespace: dict[str, Any], function_ids: set[int]) -> None:
    """Have calls of those functions become nodes where this namespace names them; each namespace is looked at once."""
    if patcher.visit_once(namespace):
        for name, value in list(namespace.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(namespace, name, _recording(value))


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Have calls of the functions that `wrap` was told of become nodes."""
    for namespace, name in _wrapped:
        original = namespace[name] if name in namespace else getattr(builtins, name)
        patcher.patch(namespace, name, _recording(original))


class Tracer(TracerBase):
    """Finds the graph of a module or function by calling it with proxies.

    autowrap_modules: Python modules whose functions become nodes. autowrap_functions: further functions that do.
    Subclasses change what is a leaf, and more.
    """

    __module__ = "jaxtorch.fx._symbolic_trace"

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_function_ids = {id(f) for f in autowrap_functions}
        for module in autowrap_modules:
            for name, value in vars(module).items():
                if not name.startswith("_") and callable(value):
                    self._autowrap_function_ids.add(id(value))
        self._autowrap_search: list[ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.scope = Scope("", None)
        self.module_stack: dict[str, Any] = {}
        self.num_calls: dict[str, int] = {}
        self.tensor_attrs: dict[Any, str] = {}
        self.root: Any = None

    # -- what subclasses change

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Does a call of the module become one node? Those of `torch.nn` do, but for Sequential."""
        name = type(m).__module__
        return (name.startswith(("jaxtorch.nn", "torch.nn", "jaxtorch.ao.nn"))) and type(m).__name__ != "Sequential"

    def path_of_module(self, mod: Module) -> str:
        """The path of a module inside the root; NameError where it is not inside."""
        if self.submodule_paths is not None and mod in self.submodule_paths:
            return self.submodule_paths[mod]
        for name, found in self.root.named_modules():
            if found is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called for each call of a module: a node for a leaf, otherwise the forward is traced."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as current:
            count = self.num_calls.get(path, 0)
            key = f"{path}@{count}" if count else path
            self.num_calls[path] = count + 1
            self.module_stack[key] = (path, current.module_type)
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Called for each attribute that is read from a module: parameters become proxies."""
        if not isinstance(attr_val, Parameter):
            return attr_val
        for name, parameter in self.root.named_parameters():
            if parameter is attr_val:
                if name not in parameter_proxy_cache:
                    make = None
                    if self.param_shapes_constant:
                        make = functools.partial(self._parameter_proxy, name, attr_val)
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=make)
                return parameter_proxy_cache[name]
        return attr_val

    def _parameter_proxy(self, name: str, parameter: Any, node: Any) -> Proxy:
        return ParameterProxy(self, node, name, parameter)

    def create_arg(self, a: Any) -> Any:
        """An argument of a node. Tensors and modules become attributes of the root."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            return self._constant(a, "_tensor_constant")
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, (tuple, list)) and any(isinstance(x, (Tensor, Module)) for x in a):
            items = [self.create_arg(x) for x in a]
            return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
        if isinstance(a, dict) and any(isinstance(x, (Tensor, Module)) for x in a.values()):
            return {k: self.create_arg(v) for k, v in a.items()}
        return super().create_arg(a)

    def _constant(self, value: Any, prefix: str) -> Any:
        name = self.tensor_attrs.get(value)
        if name is None:
            i = 0
            while hasattr(self.root, f"{prefix}{i}"):
                i += 1
            name = self.tensor_attrs[value] = f"{prefix}{i}"
            setattr(self.root, name, value)
        return self.create_node("get_attr", name, (), {})

    # -- tracing

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """The function to call, and a proxy for each of its parameters. concrete_args: values for some, by name."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:count])
        args: list[Any] = [self.root] if is_module else []
        given: list[Any] = []
        parameters = inspect.signature(function).parameters
        types = _annotations(function)
        for name in names[1 if is_module else 0 :]:
            default = parameters[name].default
            default = () if default is inspect.Parameter.empty else (default,)
            if concrete_args is not None and name in concrete_args:
                given.append(concrete_args[name])
                args.append(self._specialized(name, given[-1], default))
            else:
                given.append(self.create_proxy("placeholder", name, default, {}, type_expr=types.get(name)))
                args.append(given[-1])
        if concrete_args is not None:
            given_names = names[1 if is_module else 0 :]
            _, spec = tree_flatten(given)
            if any(not isinstance(child, LeafSpec) for child in spec.children_specs):
                self.graph.set_codegen(_PyTreeCodeGen(given_names, spec))
        extra = []
        at = count
        for flag, prefix in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
            if code.co_flags & flag:
                extra.append(self.create_proxy("placeholder", prefix + code.co_varnames[at], (), {}))
                at += 1
        if type(root_fn) is FunctionType and function is root_fn and (extra or code.co_kwonlyargcount):
            return _by_position(root_fn, count + len(extra)), [*args, *extra]
        if extra:
            return _with_stars(root_fn, extra, names, bool(code.co_flags & inspect.CO_VARARGS)), args
        keyword = code.co_kwonlyargcount
        if not keyword:
            return root_fn, args
        return (lambda *a: root_fn(*a[:-keyword], **dict(zip(names[-keyword:], a[-keyword:], strict=True)))), args

    def _specialized(self, name: str, concrete: Any, default: tuple[Any, ...]) -> Any:
        """Inputs for the leaves of a value: `PH` becomes one, everything else stays what it is, and the graph checks it."""
        numbers = itertools.count(1)

        def leaf(value: Any) -> Any:
            proxy = self.create_proxy("placeholder", f"{name}_{next(numbers)}", default, {})
            if isinstance(value, PHBase):
                return proxy
            message = f"{name} has been specialized to have value {value} but got another value"
            if isinstance(value, _CHECKED):
                _assert(proxy == value, message)
            elif value is None:
                self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user "
                    "to make sure that your inputs match the inputs you specialized the function with.",
                    stacklevel=2,
                )
            return value

        return tree_map(leaf, concrete)

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function."""
        if isinstance(root, Module):
            self.root = root
            fn: Any = getattr(type(root), self.traced_func_name)
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = Module()
            fn = root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        if isinstance(root, Module):
            self._collect(root, [])
        call, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        parameters: dict[str, Any] = {}
        original_call, original_getattr = Module.__call__, Module.__getattr__
        tracer = self

        def module_call(mod: Any, *args: Any, **kwargs: Any) -> Any:
            return tracer.call_module(mod, lambda *a, **k: original_call(mod, *a, **k), args, kwargs)

        def module_getattr(mod: Any, name: str) -> Any:
            return tracer.getattr(name, original_getattr(mod, name), parameters)

        _tracing.append(self)
        try:
            with _Patcher() as patcher:
                patcher.patch_method(Module, "__call__", module_call)
                patcher.patch_method(Module, "__getattr__", module_getattr)
                self._wrap_functions(patcher, fn)
                result = call(*args)
                if isinstance(self.graph._codegen, _PyTreeCodeGen):
                    result, self.graph._codegen.out_spec = tree_flatten(result)
                by_position = (
                    type(call) is FunctionType and call is not fn
                )  # which has no annotations, in PyTorch neither
                kind = None if by_position else _annotations(inspect.unwrap(fn)).get("return")
                self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        finally:
            _tracing.pop()
            self.submodule_paths = None
        return self.graph

    def _collect(self, module: Any, path: list[str]) -> None:
        """Remember the tensors that are plain attributes of modules."""
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                self.tensor_attrs[value] = ".".join([*path, name])
        for name, child in module.named_children():
            self._collect(child, [*path, name])

    def _wrap_functions(self, patcher: _Patcher, fn: Any) -> None:
        namespaces = [inspect.unwrap(fn).__globals__] if isinstance(inspect.unwrap(fn), FunctionType) else []
        for module in self.root.modules():
            forward = getattr(type(module), "forward", None)
            if isinstance(forward, FunctionType) and not self.is_leaf_module(module, ""):
                namespaces.append(forward.__globals__)
        for namespace in [*namespaces, *map(vars, self._autowrap_search)]:
            _autowrap_check(patcher, namespace, self._autowrap_function_ids)
        _patch_wrapped_functions(patcher)


def _annotations(function: Any) -> dict[str, Any]:
    """A function's annotations as they stand; those of jaxtorch's own, which are text, as the types that they name."""
    found = dict(getattr(function, "__annotations__", {}))
    if str(function.__globals__.get("__package__")).partition(".")[0] == "jaxtorch":
        return {name: _evaluated(text, function.__globals__) for name, text in found.items()}
    return found


def _evaluated(text: Any, names: dict[str, Any]) -> Any:
    try:
        kind = eval(text, names) if isinstance(text, str) else text
    except (NameError, TypeError):
        return None
    return None if kind is Any else kind


def _assert_is_none(value: Any, msg: str) -> None:
    assert value is None, msg


_assert_is_none.__module__ = "jaxtorch.fx._symbolic_trace"


def _by_position(fn: FunctionType, count: int) -> FunctionType:
    """A function that takes all its parameters by position, what goes into `*args` and `**kwargs` as one each."""
    code = fn.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    flat = code.replace(co_flags=flags, co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0)
    return FunctionType(flat, fn.__globals__, fn.__name__, None, fn.__closure__)


def _with_stars(root_fn: Any, extra: list[Any], names: list[str], has_star: bool) -> Any:
    """The function called with the proxies that stand for `*args` and `**kwargs` as the only ones."""

    def call(*args: Any) -> Any:
        star = (extra[0],) if has_star else ()
        named = {"kwargs": extra[-1]} if len(extra) > (1 if has_star else 0) else {}
        return root_fn(*args, *star, **named)

    return call


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module whose forward is the graph of a module or function, found by calling it with proxies."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


class _Leaves(Tracer):
    """Traces into no module."""

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


def _flat_graph(root: Module) -> Graph:
    return _Leaves().trace(root)


graph_module.flat_graph = _flat_graph
