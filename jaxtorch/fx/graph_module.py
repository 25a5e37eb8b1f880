"""`GraphModule`: a module whose forward is written from a graph."""

from __future__ import annotations

import copy
import importlib
import itertools
import linecache
import pickle
import re
from types import ModuleType
from typing import Any

from .._core.tensor.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .codegen import _PyTreeCodeGen
from .graph import Graph

__all__ = ["GraphModule"]

flat_graph: Any = None
"""Gives the graph of a module, in which its modules are called and not traced into. Set by `tracer.py`."""
_numbers = itertools.count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    """A module with the attributes of another, given as a dictionary."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(body)


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Give a module the attribute at a path of another, with plain modules on the way."""
    *path, field = target.split(".")
    for part in path:
        source = getattr(from_module, part)
        found = getattr(to_module, part, None)
        if source is found:
            return
        if found is None:
            found = Module()
            setattr(to_module, part, found)
        from_module, to_module = source, found
    _put(to_module, field, getattr(from_module, field))


def _assign_attr(from_obj: Any, to_module: Any, target: str) -> None:
    """Give a module an attribute at a path, with plain modules on the way."""
    *path, field = target.split(".")
    for part in path:
        found = getattr(to_module, part, None)
        if found is None:
            found = Module()
            setattr(to_module, part, found)
        to_module = found
    _put(to_module, field, from_obj)


def _get_attr(model: Any, attr_name: str) -> Any:
    """The attribute at a path."""
    for part in attr_name.split("."):
        model = getattr(model, part)
    return model


def _put(module: Any, field: str, value: Any) -> None:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(field, value)
    else:
        setattr(module, field, value)


class GraphModule(Module):
    """A module with the graph's program as its forward.

    root: the module (or dictionary of paths) from which the attributes are taken that the graph names. class_name: what the
    class is called. After a change of the graph, `recompile()`.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Every instance has a class of its own, which holds its forward."""
        base = cls
        for parent in cls.__mro__:
            if "_is_of_one_instance" in vars(parent):
                base = parent.__mro__[1]
                break
        own = {"_is_of_one_instance": True, "__module__": base.__module__}
        own["__qualname__"] = f"{GraphModule.__qualname__}.__new__.<locals>.GraphModuleImpl"
        made = type(base.__name__, (base,), own)
        return object.__new__(made)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            wanted = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
            for target in wanted:
                if target not in root:
                    raise RuntimeError(f"Node target {target} was referenced but it was not provided in `root`!")
            for target in sorted(dict.fromkeys(wanted), key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {type(root)} passed for root!")
        self.graph = graph
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {})) if isinstance(root, Module) else {}

    @property
    def graph(self) -> Graph:
        """The graph; assigning another one writes the forward anew."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        object.__setattr__(self, "_graph", g)
        g.owning_module = self
        self.recompile()

    def recompile(self) -> Any:
        """Write the forward from the graph; returns its code."""
        code = self._graph.python_code(root_module="self")
        filename = f"<jaxtorch.fx {next(_numbers)}>"
        linecache.cache[filename] = (len(code.src), None, code.src.splitlines(True), filename)
        names = dict(code.globals)
        exec(compile(code.src, filename, "exec", dont_inherit=True), names)
        object.__setattr__(self, "_code", code.src)
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = self._graph._codegen.in_spec, self._graph._codegen.out_spec
        type(self).forward = names["forward"]
        return code

    @property
    def code(self) -> str:
        """The text of the forward."""
        return self._code

    def print_readable(self, print_output: bool = True, *args: Any, **kwargs: Any) -> str:
        """The text of the forward within its class, printed unless told otherwise."""
        code = self._graph.python_code(root_module="self", verbose=True).src
        body = "\n".join("    " + line if line else "" for line in code.strip("\n ").split("\n"))
        text = f"class {type(self).__name__}(torch.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module at a path; False where something else is in the way."""
        *path, field = target.split(".")
        module: Any = self
        for part in path:
            found = getattr(module, part, None)
            if found is None:
                found = Module()
                setattr(module, part, found)
            if not isinstance(found, Module):
                return False
            module = found
        module.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; False where there is none."""
        *path, field = target.split(".")
        module: Any = self
        for part in path:
            module = getattr(module, part, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, field, None), Module):
            return False
        delattr(module, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph does not name, nor any inside them."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    used.update(f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules())
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def __deepcopy__(self, memo: Any) -> Any:
        made = GraphModule.__new__(type(self))
        Module.__init__(made)
        memo[id(self)] = made
        skipped = ("_graph", "_code")
        for key, value in self.__dict__.items():
            if key not in skipped:
                made.__dict__[key] = copy.deepcopy(value, memo)
        type(made).__name__ = type(self).__name__
        made.graph = copy.deepcopy(self._graph)
        return made

    def __copy__(self) -> Any:
        return GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)

    def __reduce__(self) -> Any:
        """Its text and attributes, without the name of its class, as in PyTorch; PicklingError for functions that no module has."""
        code = self._graph.python_code(root_module="self")
        imports = [_import_line(name, found) for name, found in code.globals.items() if _says(code.src, name)]
        body = {key: value for key, value in self.__dict__.items() if key != "_graph"} | {"_code": code.src}
        return reduce_graph_module, (body, "\n".join(imports))

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{super().__str__()}\n{self._code}\n{hint}"


# -- pickles


def _says(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _import_line(name: str, found: Any) -> str:
    """The import under which a pickled text finds what one of its names means; torch's modules have PyTorch's names."""
    if isinstance(found, ModuleType):
        return f"import {_TORCH.sub('torch', found.__name__)} as {name}"
    if found is type(None):
        return f"from types import NoneType as {name}"
    if isinstance(found, float):
        return f"from math import {name}"
    module, own = getattr(found, "__module__", None), getattr(found, "__qualname__", None)
    if module is None or own is None or getattr(importlib.import_module(module), own, None) is not found:
        raise pickle.PicklingError(f"torch.fx.GraphModule: no module has {found!r}, which its graph calls, by name")
    return f"from {_TORCH.sub('torch', module)} import {own} as {name}"


_TORCH, _OURS = re.compile(r"^jaxtorch\b"), re.compile(r"^(import|from) torch\b")


def reduce_graph_module(body: dict[Any, Any], import_block: str) -> GraphModule:
    """A pickled GraphModule: what runs its text with proxies once more."""
    code = body["_code"]
    names: dict[str, Any] = {}
    for line in import_block.splitlines():
        *_, name = line.split()
        if line.startswith(("import ", "from ")) and _says(code, name):
            suffix = " as torch" if line == "import torch" else ""
            exec(_OURS.sub(r"\1 jaxtorch", line) + suffix, names)
    exec(compile(code, "<jaxtorch.fx pickle>", "exec", dont_inherit=True), names)
    root = type("_Pickled", (_CodeOnlyModule,), {"forward": names["forward"]})(body)
    made = GraphModule(root, flat_graph(root), body.get("_graphmodule_cls_name", "GraphModule"))
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made
