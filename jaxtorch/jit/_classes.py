"""The classes, functions and modules that a TorchScript archive defines, made of its source when they are asked for."""

from __future__ import annotations

import ast
import collections
import enum
import functools
from collections.abc import Callable
from typing import Any, NoReturn

from .._core.tensor.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from . import _operations
from ._scripted import Compiled, Recursive, _converting, missing
from ._source import METHOD, Refused, Translator, chain_of, parsed
from ._values import LANGUAGE


class Loaded(Recursive, Compiled, Module):
    """A module of a TorchScript archive."""

    _archive_class: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _converting:
            return super().__call__(*args, **kwargs)

    @property
    def original_name(self) -> str:
        """The name of the class of the module that was scripted."""
        return self._archive_class.name.rpartition(".")[2]

    @property
    def code(self) -> str:
        """The source of `forward`, as the archive has it."""
        return self._archive_class.text("forward")

    @property
    def graph(self) -> NoReturn:
        """NotImplementedError: there are no graphs of TorchScript."""
        raise missing("torch.jit.ScriptModule.graph")

    @property
    def inlined_graph(self) -> NoReturn:
        """NotImplementedError: there are no graphs of TorchScript."""
        raise missing("torch.jit.ScriptModule.inlined_graph")

    def __len__(self) -> int:
        method = getattr(self, METHOD + "__len__", None)
        return len(self._modules) if method is None else method()

    def __iter__(self) -> Any:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        return self._modules[index] if isinstance(index, str) else list(self._modules.values())[index]

    def __bool__(self) -> bool:
        return True

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(
            "modules of TorchScript are not written by pickle or torch.save: use module.save(path), or save its state_dict"
        )

    def __deepcopy__(self, memo: Any) -> Any:
        import copy

        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made


class ScriptObject:
    """An object of a class that an archive defines."""

    _archive_class: Any = None

    @classmethod
    def blank(cls) -> Any:
        """An object without attributes."""
        return object.__new__(cls)


def _converted(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method for callers outside of the archive, with TorchScript's exceptions."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _converting:
            return method(*args, **kwargs)

    return call


def _floats(node: ast.FunctionDef) -> dict[Any, None]:
    """The positions and names of the arguments that are floats."""
    found = [
        (i, a.arg)
        for i, a in enumerate(node.args.args)
        if isinstance(a.annotation, ast.Name) and a.annotation.id == "float"
    ]
    return dict.fromkeys(x for pair in found for x in pair)


def _with_floats(method: Callable[..., Any], floats: dict[Any, None]) -> Callable[..., Any]:
    """A method for callers outside of the archive, who may give a whole number where it takes a float."""
    if not floats:
        return method

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [float(a) if i in floats and type(a) is int else a for i, a in enumerate(args)]
        named = {n: float(a) if type(a) is int and n in floats else a for n, a in kwargs.items()}
        return method(*given, **named)

    return call


class Definition:
    """A class of an archive: its name and tree, and the Python class once it has been made."""

    def __init__(self, name: str, node: ast.ClassDef, source: str) -> None:
        self.name, self.node, self.source = name, node, source
        self.kind = node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else ""
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        self.types: dict[str, str] = {}
        self.values: dict[str, ast.expr] = {}
        self.methods: list[ast.FunctionDef] = []
        for s in node.body:
            self._take(s)

    def _take(self, s: ast.stmt) -> None:
        if isinstance(s, ast.FunctionDef):
            self.methods.append(s)
        elif isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name):
            self.types[s.target.id] = ast.unparse(s.annotation)
            if s.value is not None:
                self.values[s.target.id] = s.value
        elif isinstance(s, ast.Assign) and len(s.targets) == 1:
            target = s.targets[0]
            if isinstance(target, ast.Subscript):  # __annotations__["0"] = T
                if isinstance(target.slice, ast.Constant):
                    self.types[str(target.slice.value)] = ast.unparse(s.value)
            elif isinstance(target, ast.Name) and target.id in ("__parameters__", "__buffers__"):
                names = [str(n.value) for n in s.value.elts if isinstance(n, ast.Constant)]  # type: ignore[attr-defined]
                setattr(self, target.id.strip("_"), names)
            elif isinstance(target, ast.Name) and "hooks" in target.id:
                if getattr(s.value, "elts", None):
                    raise NotImplementedError(f"{self.name}: jaxtorch loads no hooks of a TorchScript archive yet")
            elif isinstance(target, ast.Name) and target.id != "__annotations__":
                self.values[target.id] = s.value
        elif not isinstance(s, ast.Pass):
            raise Refused(f"{self.name}: a {type(s).__name__} in a class of a TorchScript archive")

    def text(self, method: str) -> str:
        """The source of a method."""
        found = next((m for m in self.methods if m.name == method), None)
        if found is None:
            raise RuntimeError(f"Method '{method}' is not defined.")
        lines = self.source.split("\n")[found.lineno - 1 : found.end_lineno]
        return "\n".join(line[2:] for line in lines).replace(f"self: {self.name}", "self") + "\n"


_BUILT_IN = {"int": int, "float": float, "bool": bool, "str": str, "Tensor": Tensor, "Device": _operations.device,
             "NoneType": type(None), "complex": complex}  # fmt: skip


class Archive:
    """What the source of an archive defines. files: its text by name, `__torch__/a.py` for `__torch__.a`."""

    def __init__(self, files: dict[str, str], constants: tuple[Any, ...], version: int) -> None:
        self.files, self.constants, self.version = files, constants, version
        self.definitions: dict[str, Any] = {}
        self.made: dict[str, Any] = {}
        for name, text in files.items():
            prefix = name.removesuffix(".py").replace("/", ".")
            for s in parsed(text, name).body:
                if isinstance(s, ast.ClassDef):
                    self.definitions[f"{prefix}.{s.name}"] = Definition(f"{prefix}.{s.name}", s, text)
                elif isinstance(s, ast.FunctionDef):
                    self.definitions[f"{prefix}.{s.name}"] = s
                elif not (isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant)):  # op_version_set = 1
                    raise Refused(f"{name}, line {s.lineno}: a {type(s).__name__} in a TorchScript archive")
        language = {**LANGUAGE, "isinstance": self._asked}
        self.translator = Translator(self.resolve, self._operation, language, self.constant, _operations.KEYWORDS)

    def _operation(self, space: str, name: str) -> Any:
        return _operations.operation(space, name, self.version)

    def constant(self, name: str) -> Any:
        """`CONSTANTS.c0`."""
        index = name.removeprefix("c")
        if not index.isdigit() or int(index) >= len(self.constants):
            raise Refused(f"the TorchScript archive has no constant {name}")
        return self.constants[int(index)]

    def resolve(self, chain: list[str]) -> Any:
        """The function or class that a name stands for, or the member of an enumeration."""
        name = ".".join(chain)
        if name not in self.made:
            definition = self.definitions.get(name)
            if definition is None:
                owner = self.resolve(chain[:-1]) if len(chain) > 2 else None
                if isinstance(owner, type) and issubclass(owner, enum.Enum):
                    return owner[chain[-1]]
                raise Refused(f"the TorchScript archive does not define {name}")
            if isinstance(definition, Definition):
                self._class(name, definition)
            else:
                self.made[name] = self.translator.function(definition, name)
        return self.made[name]

    def evaluated(self, node: ast.expr, where: str) -> Any:
        """The value of an expression that stands in a class."""
        nothing = ast.arguments([], [], None, [], [], None, [])
        function = ast.FunctionDef("value", nothing, [ast.Return(node)], [], None, lineno=1, col_offset=0)
        return self.translator.function(function, where)()

    def _class(self, name: str, of: Definition) -> None:
        short = name.rpartition(".")[2]
        values = {n: self.evaluated(v, f"{name}.{n}") for n, v in of.values.items()}
        if of.kind == "NamedTuple":
            fields = list(of.types)
            made = collections.namedtuple(short, fields, defaults=[values[f] for f in fields if f in values])
            self.made[name] = made
            return
        if of.kind == "Enum":
            self.made[name] = enum.Enum(short, values)
            return
        if of.kind.endswith("Interface"):
            self.made[name] = type(short, (ScriptObject,), {})
            return
        if of.kind == "Module":
            made: Any = type(
                "RecursiveScriptModule", (Loaded,), {**values, "_archive_class": of, "__module__": Loaded.__module__}
            )
        elif of.kind == "":
            made = type(short, (ScriptObject,), {**values, "_archive_class": of})
        else:
            raise NotImplementedError(f"the TorchScript archive has a class of the kind {of.kind} ({name})")
        self.made[name] = made
        for m in of.methods:
            floats = _floats(m)
            function = self.translator.function(m, f"{name}.{m.name}")
            setattr(made, METHOD + m.name, function)
            if m.name == "forward":
                made.forward = _with_floats(function, floats)
            elif not m.name.startswith("__") and not hasattr(made, m.name):
                setattr(made, m.name, _converted(_with_floats(function, floats)))

    def _asked(self, node: ast.expr, translator: Translator) -> Callable[[Any], bool]:
        """What `isinstance(x, node)` asks."""
        if isinstance(node, (ast.List, ast.Tuple)):
            tests = [self._asked(n, translator) for n in node.elts]
            return lambda x: any(test(x) for test in tests)
        if isinstance(node, ast.Name) and node.id in _BUILT_IN:
            kind = _BUILT_IN[node.id]
            return lambda x: type(x) is kind or (kind in (Tensor, _operations.device) and isinstance(x, kind))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return self._generic(node.value.id, node.slice, translator)
        chain = chain_of(node)
        if chain is not None and chain[0] == "__torch__":
            found = self.resolve(chain)
            return lambda x: isinstance(x, found)
        raise NotImplementedError(f"the TorchScript archive asks for the type {ast.unparse(node)}")

    def _generic(self, name: str, given: ast.expr, translator: Translator) -> Callable[[Any], bool]:
        inner = given.elts if isinstance(given, ast.Tuple) else [given]
        tests = [self._asked(n, translator) for n in inner]
        if name == "Optional":
            return lambda x: x is None or tests[0](x)
        if name == "Union":
            return lambda x: any(test(x) for test in tests)
        if name == "List":
            return lambda x: type(x) is list and all(tests[0](item) for item in x)
        if name == "Tuple":
            return lambda x: (
                isinstance(x, tuple) and len(x) == len(tests) and all(t(i) for t, i in zip(tests, x, strict=True))
            )
        if name == "Dict":
            return lambda x: isinstance(x, dict) and all(tests[0](k) and tests[1](v) for k, v in x.items())
        raise NotImplementedError(f"the TorchScript archive asks for the type {name}")


class Instance:
    """An object of a class of the archive, as its pickle has it: before its methods are compiled."""

    def __init__(self, name: str, args: tuple[Any, ...] = ()) -> None:
        self.name, self.args = name, args
        self.state: Any = None


class Builder:
    """Makes modules and values of what the pickle of an archive held, each object once."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.done: dict[int, Any] = {}
        self.parameters: dict[int, Parameter] = {}

    def built(self, root: Any) -> Any:
        """The module of the whole archive."""
        self._collect(root, set())
        return self.value(root)

    def _collect(self, x: Any, seen: set[int]) -> None:
        """Every tensor that is some module's parameter becomes one Parameter, wherever else it is held."""
        pending = [x]
        while pending:
            x = pending.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            if isinstance(x, Instance):
                definition = self.archive.definitions.get(x.name)
                state = x.state if isinstance(x.state, dict) else {}
                for name in definition.parameters if isinstance(definition, Definition) else ():
                    held = state.get(name)
                    if isinstance(held, Tensor) and id(held) not in self.parameters:
                        self.parameters[id(held)] = Parameter(held.detach(), held.requires_grad)
                pending.extend(state.values())
                pending.extend([x.state] if not isinstance(x.state, dict) else [])
            elif isinstance(x, (list, tuple)):
                pending.extend(x)
            elif isinstance(x, dict):
                pending.extend(x.values())

    def value(self, x: Any) -> Any:
        """What stands for a value of the pickle."""
        if isinstance(x, Tensor):
            return self.parameters.get(id(x), x)
        if id(x) in self.done:
            return self.done[id(x)]
        kind = type(x)
        if kind is list:
            items: list[Any] = []
            self.done[id(x)] = items
            items.extend(map(self.value, x))
            return items
        if kind is tuple:
            return tuple(map(self.value, x))
        if isinstance(x, dict):
            made = self.done[id(x)] = kind()
            for k, v in x.items():
                made[self.value(k)] = self.value(v)
            return made
        return self._object(x) if kind is Instance else x

    def _object(self, x: Instance) -> Any:
        found = self.archive.resolve(x.name.split("."))
        if not (isinstance(found, type) and issubclass(found, (Loaded, ScriptObject))):
            self.done[id(x)] = made = found(*map(self.value, x.args))
            return made
        of = found._archive_class
        made: Any = object.__new__(found)
        self.done[id(x)] = made
        if isinstance(made, Module):
            Module.__init__(made)
            made.__dict__["training"] = False  # frozen modules have no such attribute
        if hasattr(found, METHOD + "__setstate__"):
            getattr(made, METHOD + "__setstate__")(self.value(x.state))
            return made
        if not isinstance(x.state, dict):
            raise Refused(f"the state of {x.name} in the TorchScript archive is no dict")
        for name, held in x.state.items():
            self._attribute(made, of, str(name), self.value(held))
        return made

    def _attribute(self, made: Any, of: Definition, name: str, value: Any) -> None:
        if name not in of.types:
            raise Refused(
                f"the TorchScript archive gives {of.name} an attribute {name!r}, which the class does not have"
            )
        if name.startswith(("__", "_archive", METHOD)) or name in ("_parameters", "_buffers", "_modules"):
            raise Refused(f"the TorchScript archive gives {of.name} an attribute {name!r}")
        if not isinstance(made, Module):
            made.__dict__[name] = value
        elif isinstance(value, Module):
            made._modules[name] = value
        elif name in of.parameters:
            made._parameters[name] = value
        elif name in of.buffers:
            made._buffers[name] = value
        else:
            made.__dict__[name] = value
