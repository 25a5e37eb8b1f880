"""What a captured call depends on besides its arguments, as guards that are checked before every replay.

`Watch` starts from the function and follows what its code can reach: closure cells, the globals it names, defaults, attributes
whose names occur in code that ran, the contents of containers, all of a module's parameters, buffers, submodules and hooks.
Every place on the way becomes a guard: that it still holds the same object, or an equal number or string. State that cannot
be watched so (an iterator, a file, an object of an unknown extension type) makes the call not replayable.
"""

from __future__ import annotations

import builtins
import collections
import dis
import enum
import functools
import importlib.util
import re
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .._core.compile.kernel import Entry
from .._core.graph.nodes import Node
from .._core.random.generator import Generator
from .._core.tensor.tensor import Tensor
from .._core.types.device import device
from .._core.types.dtypes import dtype
from .._core.types.grad_mode import _Decorating
from .._running.install import ours
from ..nn import Module
from ..optim import Optimizer
from ..optim.lr_scheduler import LRScheduler
from .checking_guards import Guard, Guards
from .observing import package_of

LIMIT = 20_000
"""More guards than this are not worth checking."""

_ATOMS = (
    int, float, complex, str, bytes, bool, type(None), dtype, device, type(...), type(NotImplemented), enum.Enum, range, slice,
    re.Pattern, jax.Array, np.dtype, np.generic, Generator, Node, Entry, functools._lru_cache_wrapper, types.GenericAlias,
    types.CodeType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.MethodWrapperType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, np.ufunc,
)  # fmt: skip
"""What never changes, or is only ever replaced."""

_TRUSTED = frozenset({"jaxtorch", "jax", "jaxlib", "numpy", "optax", "flax", "builtins"}) | set(sys.stdlib_module_names)
_DYNAMIC = frozenset({"getattr", "vars", "__dict__", "globals", "locals", "eval", "attrgetter"})
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_TABLES = ("_parameters", "_buffers", "_modules")
_OF_ALL = frozenset(vars(Module()))
"""What every module has."""
_OPTIMIZER_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
_UNSET = object()


class Unwatchable(Exception):
    """Some state that a call depends on cannot be guarded; the message says which."""


def _root(name: Any) -> str:
    return str(name).partition(".")[0]


def _own(cls: type) -> bool:
    """Is this a class of jaxtorch, whose instances are guarded whole and whose code needs no watching?"""
    return ours(cls)


def _trusted(cls: type) -> bool:
    return _root(cls.__module__) in _TRUSTED or _own(cls)


@functools.lru_cache(maxsize=4096)
def _globals_named(code: types.CodeType) -> tuple[str, ...]:
    return tuple({str(i.argval) for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")})


@functools.lru_cache(maxsize=4096)
def _imported(code: types.CodeType, package: str) -> tuple[str, ...]:
    """The modules that code imports itself, with the packages that they are in."""
    found: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for i, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME":
            level = next((n.argval for n in instructions[max(0, i - 2) : i] if isinstance(n.argval, int)), 0)
            try:
                name = importlib.util.resolve_name("." * level + str(instruction.argval), package)
            except ImportError:  # beyond the top: it was not run
                continue
            parts = name.split(".")
            found.update(".".join(parts[: n + 1]) for n in range(len(parts)))
    return tuple(sorted(found))


class Watch:
    """The guards under which a call that ran `codes` does the same again."""

    def __init__(self, codes: set[types.CodeType], roots: list[tuple[str, Any]]) -> None:
        self.codes = codes
        self.names: set[str] = set()
        self.everything = False
        for code in codes:
            self.names.update(code.co_names)
            self.names.update(c for c in code.co_consts if isinstance(c, str) and c.isidentifier())
            self.everything = self.everything or not _DYNAMIC.isdisjoint(code.co_names)
        self.found: list[Guard] = []
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self._seen: dict[int, Any] = {}
        self._reached: set[types.CodeType] = set()
        self._work: list[tuple[Any, str]] = [(value, path) for path, value in roots]
        while self._work:
            self._visit(*self._work.pop())
            if len(self.found) > LIMIT:
                raise Unwatchable(f"more than {LIMIT} places would have to be checked before each call")
        for code in codes - self._reached:
            if not self._is_inner(code):
                raise Unwatchable(
                    f"jaxtorch does not see where the function {code.co_qualname} ({code.co_filename}:{code.co_firstlineno}) is from"
                )

    def _is_inner(self, code: types.CodeType) -> bool:
        """Was the function made during the call, by code that is watched?"""
        pending = list(self._reached)
        while pending:
            for const in pending.pop().co_consts:
                if isinstance(const, types.CodeType):
                    if const is code or const == code:
                        return True
                    pending.append(const)
        return False

    # -- guards

    def _hold(self, kind: str, place: Any, key: Any, value: Any, path: str, follow: bool = True) -> None:
        self.found.append(Guard(kind, place, key, value, path))
        if follow:
            self._reach(value, path)

    def _reach(self, value: Any, path: str) -> None:
        if isinstance(value, _ATOMS) or id(value) in self._seen:
            return
        self._work.append((value, path))

    def _visit(self, x: Any, path: str) -> None:
        if id(x) in self._seen:
            return
        self._seen[id(x)] = x
        cls = type(x)
        if isinstance(x, Tensor):
            self.tensors[id(x)] = (x, path)
            for hooks in (x._hooks, x._post_hooks):
                if hooks is not None:  # others may join them, or they may be removed
                    self._container(hooks, f"the hooks of {path}")
            if x.__dict__ and cls is not Tensor:
                self._attributes(x, x.__dict__, path, all_of=False)
        elif isinstance(x, Module):
            self._module(x, path)
        elif isinstance(x, Optimizer) and _own(cls):
            self._optimizer(x, path)
        elif isinstance(x, LRScheduler) and _own(cls):
            self._attributes(
                x, x.__dict__, path, all_of=False
            )  # each replay steps it; only what the user's code reads is guarded
        elif isinstance(x, types.FunctionType):
            self._function(x, path)
        elif isinstance(x, types.MethodType):
            self._reach(x.__self__, path)
            self._reach(x.__func__, path)
        elif isinstance(x, functools.partial):
            for part in (x.func, x.args, x.keywords):
                self._reach(part, path)
        elif isinstance(x, type):
            self._class(x, path)
        elif isinstance(x, types.ModuleType):
            self._python_module(x, path)
        elif isinstance(x, (property, functools.cached_property)):
            for part in (getattr(x, n, None) for n in ("fget", "fset", "func")):
                self._reach(part, path)
        elif isinstance(x, (staticmethod, classmethod)):
            self._reach(x.__func__, path)
        elif isinstance(x, np.ndarray):
            if x.size > 65536 or x.dtype.hasobject:
                raise Unwatchable(f"{path} is a NumPy array of {x.size} elements, too large to compare at each call")
            self.found.append(Guard("array", x, None, x.copy(), path))
        elif isinstance(x, weakref.ref):
            self._reach(x(), path)
        elif _own(cls) and "watched" in vars(cls):
            for name in cls.watched:
                self._hold("attribute", x, name, getattr(x, name), path)
        elif isinstance(x, _Decorating):
            self._attributes(x, x.__dict__, path, all_of=True)
        else:
            self._container(x, path)
            self._instance(x, path)

    def _container(self, x: Any, path: str) -> None:
        if isinstance(x, (list, tuple, collections.deque)):
            if not isinstance(x, tuple):
                self.found.append(Guard("sequence", x, None, tuple(x), path))
            for i, item in enumerate(x):
                self._reach(item, f"{path}[{i}]")
        elif isinstance(x, (dict, types.MappingProxyType)):
            self.found.append(Guard("keys", x, None, list(x), path))
            for key, value in x.items():
                self._hold("item", x, key, value, f"{path}[{key!r}]")
        elif isinstance(x, (set, frozenset)):
            if isinstance(x, set):
                self.found.append(Guard("set", x, None, frozenset(x), path))
            for item in x:
                self._reach(item, path)

    def _instance(self, x: Any, path: str) -> None:
        cls = type(x)
        own = getattr(x, "__dict__", None)
        if own is None and not isinstance(
            x, (list, tuple, dict, set, frozenset, collections.deque, types.MappingProxyType)
        ):
            slots = [s for k in cls.__mro__ for s in _slots(k)]
            if not slots:
                if cls is object or cls.__module__ == "torch":
                    return
                raise Unwatchable(f"{path} is a {cls.__module__}.{cls.__qualname__}, whose state cannot be watched")
        if own is not None:
            self._attributes(x, own, path, all_of=_own(cls))
        for name in [s for k in cls.__mro__ for s in _slots(k)]:
            if name in self.names or self.everything or _own(cls):
                value = getattr(x, name, _UNSET)
                if value is not _UNSET:
                    self._hold("attribute", x, name, value, f"{path}.{name}")
        self._class(cls, path)

    def _attributes(self, x: Any, own: dict[str, Any], path: str, all_of: bool) -> None:
        for name, value in list(own.items()):
            if all_of or self.everything or name in self.names:
                self._hold("item", own, name, value, f"{path}.{name}")
        if _own(type(x)):
            return
        for cls in type(x).__mro__:
            if _trusted(cls):
                continue
            for name, value in vars(cls).items():
                shadowed = name in self.names and name not in own and not name.startswith("__")
                if shadowed and not isinstance(value, (property, types.MemberDescriptorType)):
                    self.found.append(Guard("absent", own, name, None, f"{path}.{name}"))

    def _class(self, cls: type, path: str) -> None:
        for k in cls.__mro__:
            if id(k) in self._seen and k is not cls:
                continue
            self._seen[id(k)] = k
            if _trusted(k):
                continue
            for name, value in list(vars(k).items()):
                inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
                if isinstance(inner, (types.FunctionType, property, functools.cached_property)):
                    if isinstance(inner, types.FunctionType) and inner.__code__ not in self.codes and not _wraps(inner):
                        continue
                    self._hold("class", k, name, value, f"{k.__qualname__}.{name}")
                elif name in self.names and not isinstance(
                    value, (types.MemberDescriptorType, types.GetSetDescriptorType)
                ):
                    self._hold("class", k, name, value, f"{k.__qualname__}.{name}")

    def _module(self, m: Module, path: str) -> None:
        own = m.__dict__
        whole = _own(type(m)) or self.everything
        simple = (
            _own(type(m)) and not own.get("_modules") and not own.get("_buffers")
        )  # its forward reads parameters only
        for table in _TABLES:
            entries = own.get(table)
            if entries is None or (simple and table != "_parameters"):
                continue
            self.found.append(Guard("item", own, table, entries, f"{path}.{table}"))
            if table == "_modules" and len(entries) > 1:  # a container calls them in their order
                self.found.append(Guard("keys", entries, None, list(entries), f"{path}.{table}"))
            else:
                self.found.append(Guard("length", entries, None, len(entries), f"{path}.{table}"))
            for name, value in entries.items():
                self._hold("item", entries, name, value, f"{path}.{name}")
        for table in _HOOKS:
            hooks = own.get(table)
            if hooks:
                self._reach(hooks, f"{path}.{table}")
            elif hooks is not None:
                self.found.append(Guard("empty", hooks, None, None, f"the hooks of {path}"))
        for name, value in list(own.items()):
            if name in _TABLES or name in _HOOKS:
                continue
            if name == "training" or (whole and _is_option(name, value)) or (not whole and name in self.names):
                self._hold("item", own, name, value, f"{path}.{name}")
        if "forward" not in own:
            self.found.append(Guard("absent", own, "forward", None, f"{path}.forward"))
        if not _own(type(m)):
            self._attributes(m, {}, path, all_of=False)
            self._class(type(m), path)

    def _optimizer(self, o: Optimizer, path: str) -> None:
        own = o.__dict__
        for table in _OPTIMIZER_HOOKS:
            if own.get(table):
                raise Unwatchable(f"{path} has step hooks, which run in Python at each step")
            if table in own:
                self.found.append(Guard("empty", own[table], None, None, f"the hooks of {path}"))
        if "step" in own:  # a schedule's, or somebody else's
            self._hold("item", own, "step", own["step"], f"{path}.step", False)
        else:
            self.found.append(Guard("absent", own, "step", None, f"{path}.step"))
        for name in ("param_groups", "state"):
            self.found.append(Guard("item", own, name, own[name], f"{path}.{name}"))
        self.found.append(Guard("sequence", o.param_groups, None, tuple(o.param_groups), f"{path}.param_groups"))
        for i, group in enumerate(o.param_groups):
            where = f"{path}.param_groups[{i}]"
            params = group["params"]
            self._hold("item", group, "params", params, f"{where}['params']")
            if "param_groups" in self.names or "defaults" in self.names:
                self._reach(group, where)
            self.found.append(Guard("values", o.state, None, tuple(o.state.values()), f"{path}.state"))
            for p in params:
                state = o.state.get(p, None)
                if state is None:
                    continue
                self.found.append(Guard("length", state, None, len(state), f"{path}.state"))
                for name, value in state.items():
                    if isinstance(value, Tensor) or name != "step":
                        self._hold("item", state, name, value, f"{path}.state[...]['{name}']", name != "step")

    def _function(self, f: types.FunctionType, path: str) -> None:
        code = f.__code__
        foreign = package_of(code) or _root(f.__module__) in _TRUSTED
        if not foreign and code not in self.codes and not _wraps(f):
            return
        self._reached.add(code)
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._hold("cell", cell, None, value, name)
        for default in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._reach(default, f"a default of {f.__qualname__}")
        if foreign:
            return
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.found.append(Guard("attribute", f, name, getattr(f, name), f"{f.__qualname__}.{name}"))
        pending = [code]
        while pending:
            inner = pending.pop()
            pending.extend(c for c in inner.co_consts if isinstance(c, types.CodeType))
            for name in _globals_named(inner):
                if name in f.__globals__:
                    self._hold("item", f.__globals__, name, f.__globals__[name], name)
                elif hasattr(builtins, name):
                    self.found.append(Guard("absent", f.__globals__, name, None, name))
            for name in _imported(inner, f.__globals__.get("__package__") or ""):
                if name in sys.modules:
                    self._hold("item", sys.modules, name, sys.modules[name], name)

    def _python_module(self, module: types.ModuleType, path: str) -> None:
        root = _root(module.__name__)
        if root == "numpy" and "random" in self.names:
            raise Unwatchable("it may draw from numpy.random")
        if root in _TRUSTED:
            return
        own = vars(module)
        for name in self.names & own.keys():
            self._hold("item", own, name, own[name], f"{path}.{name}")


def _is_option(name: str, value: Any) -> bool:
    """Is this attribute of a module one that its forward may read?"""
    return not name.startswith("_") or (isinstance(value, (int, str, list, tuple, dict)) and name not in _OF_ALL)


def _slots(cls: type) -> tuple[str, ...]:
    if _trusted(cls) and not _own(cls):
        return ()
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(s for s in slots if s not in ("__dict__", "__weakref__"))


def _wraps(f: Callable[..., Any]) -> bool:
    """Is this a wrapper of another package round something that may be the user's?"""
    return bool(getattr(f, "__closure__", None)) and package_of(f.__code__)


def watch(codes: set[types.CodeType], roots: list[tuple[str, Any]]) -> tuple[Guards, dict[int, tuple[Tensor, str]]]:
    """The guards that hold now for what `codes` reach from `roots`, and the tensors among it. Unwatchable if it cannot be."""
    found = Watch(codes, roots)
    return Guards(found.found), found.tensors
