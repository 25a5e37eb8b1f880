"""`torch.jit.save`: writes traced modules, and those that `load` gave, as TorchScript archives that PyTorch loads.

A traced module's program is traced by `torch.fx` and its graph written as source; each layer of PyTorch's becomes a class with a
`forward` of its own. What was written is read again and compared with the program on the example before anything is given out.
"""

from __future__ import annotations

import copy
import io
import keyword
import os
import zipfile
from typing import Any

from .. import fx, random
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import no_grad
from .._serialization import saving
from .._serialization.replacing import replacing
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._classes import Loaded
from ._layers import LAYERS, forward_of
from ._reading import load
from ._texts import literal, of_function, of_method, refused

_VERSION = b"10\n"


class _Pickler(saving.Pickler):
    """Writes an archive's objects as PyTorch does: parameters as tensors, modules as objects of the archive's classes."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and obj.__module__.startswith("__torch__"):
            return self._global(obj, obj.__module__, obj.__name__)
        if isinstance(obj, Parameter):
            return self._plain(obj)
        return super().reducer_override(obj)


def _pickled(x: Any) -> tuple[bytes, dict[int, Any]]:
    text = io.BytesIO()
    pickler = _Pickler(text, 2)
    pickler.dump(x)
    return text.getvalue(), pickler.memories


class Source:
    """The classes and constants of an archive, as they are written."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.files: dict[str, str] = {}
        self.constants: list[Tensor] = []
        self.kinds: dict[str, Any] = {}

    def kind(self, name: str) -> Any:
        """A class for objects of `__torch__...name`, whose own name no other has."""
        module, count = "__torch__", 0
        while f"{module}.{name}" in self.names:
            module, count = f"__torch__.___torch_mangle_{count}", count + 1
        self.names.add(f"{module}.{name}")
        return type(name, (), {"__module__": module})

    def add(self, kind: Any, text: str) -> None:
        """The source of a class."""
        file = "code/" + kind.__module__.replace(".", "/") + ".py"
        self.files[file] = self.files.get(file, "") + text

    def constant(self, x: Tensor) -> str:
        """The name of a constant."""
        self.constants.append(x.detach())
        return f"CONSTANTS.c{len(self.constants) - 1}"

    def write(self, root: Any, file: Any, stem: str, extra: Any, version: bytes) -> None:
        """Write the archive of an object."""
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, content in (("data", root), ("constants", tuple(self.constants))):
                text, memories = _pickled(content)
                saving._record(archive, f"{stem}/{name}.pkl", text)
                for memory in memories.values():
                    saving._record(archive, f"{stem}/{name}/{memory.key}", saving._bytes_of(memory.content), 64)
            for name, text in self.files.items():
                saving._record(archive, f"{stem}/{name}", text.encode())
            for name, content in (extra or {}).items():
                held = content.encode() if isinstance(content, str) else content
                saving._record(archive, f"{stem}/extra/{name}", held)
            saving._record(archive, f"{stem}/byteorder", b"little")
            saving._record(archive, f"{stem}/version", version)


# -- modules of a traced program


def _attribute(path: str) -> str:
    text = "self"
    for part in path.split("."):
        plain = part.isidentifier() and not keyword.iskeyword(part)
        text = f"{text}.{part}" if plain else f"getattr({text}, {literal(part)})"
    return text


def _object(m: Any, source: Source, forwards: dict[int, str], done: dict[int, Any]) -> Any:
    """An object with the parameters, buffers and submodules of a module, and its class in the source."""
    if id(m) in done:
        return done[id(m)]
    kind = source.kind(type(m).__name__)
    made = done[id(m)] = kind()
    state = made.__dict__
    parameters = {n: p for n, p in m._parameters.items() if p is not None}
    buffers = {n: b for n, b in m._buffers.items() if b is not None}
    state |= parameters | buffers | {"training": m.training}
    lines = [f"  __parameters__ = [{''.join(literal(n) + ', ' for n in parameters)}]"]
    lines += [f"  __buffers__ = [{''.join(literal(n) + ', ' for n in buffers)}]"]
    types = dict.fromkeys([*parameters, *buffers], "Tensor") | {"training": "bool"}
    for n, inner in m._modules.items():
        if inner is not None:
            state[n] = _object(inner, source, forwards, done)
            types[n] = f"{type(state[n]).__module__}.{type(state[n]).__name__}"
    for n, t in types.items():
        plain = n.isidentifier() and not keyword.iskeyword(n)
        lines.append(f"  {n} : {t}" if plain else f"  __annotations__[{literal(n)}] = {t}")
    own = f"{kind.__module__}.{kind.__name__}"
    text = forwards.get(id(m), "").replace("(self", f"(self: {own}", 1)
    source.add(kind, f"class {kind.__name__}(Module):\n" + "\n".join(lines) + "\n" + text)
    return made


def _type_of(x: Any) -> str:
    if isinstance(x, Tensor):
        return "Tensor"
    if x is None:
        return "NoneType"
    if type(x) in (bool, int, float, str):
        return type(x).__name__
    if isinstance(x, tuple):
        return f"Tuple[{', '.join(map(_type_of, x)) or '()'}]"
    if isinstance(x, list):
        kinds = {_type_of(i) for i in x} or {"Tensor"}
        if len(kinds) == 1:
            return f"List[{kinds.pop()}]"
    if isinstance(x, dict):
        keys, kinds = {_type_of(k) for k in x}, {_type_of(v) for v in x.values()}
        if len(keys) == len(kinds) == 1 and keys <= {"str", "int", "float", "Tensor"}:
            return f"Dict[{keys.pop()}, {kinds.pop()}]"
    raise refused(f"a value of the type {type(x).__name__} as an argument or result")


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return type(m) in LAYERS


class _Values(fx.Interpreter):
    """Runs a graph and keeps what each node gave."""

    def __init__(self, module: Any) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.values: dict[Any, Any] = {}

    def run_node(self, n: Any) -> Any:
        made = self.values[n] = super().run_node(n)
        return made


def _traced_graph(program: Any) -> Any:
    before = random.get_rng_state().numpy().tobytes()
    try:
        graph = _Tracer().trace(program)
    except Exception as error:
        said = (str(error).splitlines() or [""])[0]
        raise refused(f"a program that torch.fx cannot trace ({type(error).__name__}: {said})") from error
    if random.get_rng_state().numpy().tobytes() != before:
        raise refused("a program that draws random numbers of a size that depends on no input")
    return graph


def _source_of(program: Any, example: tuple[Any, ...], source: Source) -> Any:
    """The object of a program; its source and constants go to `source`."""
    tracing = copy.deepcopy(program)  # tracing may set attributes
    graph = _traced_graph(tracing)
    running = _Values(fx.GraphModule(copy.deepcopy(tracing), graph))
    state = random.get_rng_state()
    with no_grad():
        result = running.run(*copy.deepcopy(example))
    random.set_rng_state(state)
    values = {n.name: v for n, v in running.values.items()}
    of = {n: values[n.name] for n in graph.nodes if n.name in values}
    forwards: dict[int, str] = {}
    modules = dict(program.named_modules())
    lines: list[str] = []
    held = {
        n
        for n, _ in [*program.named_parameters(remove_duplicate=False), *program.named_buffers(remove_duplicate=False)]
    }
    arguments = []
    for n in graph.nodes:
        if n.op == "placeholder":
            arguments.append(f", {n.name}: {_type_of(of[n])}")
        elif n.op == "get_attr":
            constant = n.target not in held
            lines.append(f"{n.name} = {source.constant(of[n]) if constant else _attribute(n.target)}")
        elif n.op == "call_module":
            if n.kwargs:
                raise refused(f"a call of the module {n.target} with keywords")
            inner = modules[n.target]
            text = forward_of(inner, [of.get(a) for a in n.args])
            forwards[id(inner)] = text
            lines.append(f"{n.name} = ({_attribute(n.target)}).forward({literal(n.args[0])}, )")
        elif n.op == "call_method":
            lines.append(f"{n.name} = {of_method(n.target, n.args, n.kwargs, of)}")
        elif n.op == "call_function":
            lines.append(f"{n.name} = {of_function(n.target, n.args, n.kwargs, of)}")
        else:
            lines.append(f"return {literal(n.args[0])}")
    body = "".join(f"    {line}\n" for line in lines)
    forwards[id(program)] = f"  def forward(self{''.join(arguments)}) -> {_type_of(result)}:\n{body}"
    return _object(program, source, forwards, {})


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.dtype is b.dtype and a.shape == b.shape and bool(
            a.allclose(b, 1e-3, 1e-4, equal_nan=True) if not a.is_complex() else (a - b).abs().max() < 1e-3
        )  # fmt: skip
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(_alike(a[k], b[k]) for k in a)
    return a == b


def _checked(content: bytes, program: Any, example: tuple[Any, ...]) -> None:
    written = load(io.BytesIO(content))
    state = random.get_rng_state()
    results = []
    with no_grad():
        for m in (copy.deepcopy(program), written):
            random.set_rng_state(state)
            results.append(m(*copy.deepcopy(example)))
    random.set_rng_state(state)
    if not _alike(*results):
        raise refused("this program (what was written gives another result for the example)")


# -- modules of an archive, with what they hold now


def _again(m: Any, source: Source, done: dict[int, Any]) -> Any:
    if isinstance(m, Tensor) or type(m) in (bool, int, float, str, type(None)):
        return m
    if type(m) is tuple:
        return tuple(_again(x, source, done) for x in m)
    if not isinstance(m, Loaded):
        raise refused(f"an attribute of the type {type(m).__name__} of a module that was loaded")
    if id(m) in done:
        return done[id(m)]
    of = m._archive_class
    module, _, name = of.name.rpartition(".")
    kind = source.kinds.setdefault(of.name, type(name, (), {"__module__": module}))
    made = done[id(m)] = kind()
    for n in of.types:
        if n in of.values:
            continue
        value = getattr(m, n)
        if isinstance(value, (list, dict)):
            value = _Tagged(value, of.types[n], source, done)
        made.__dict__[n] = _again(value, source, done) if not isinstance(value, _Tagged) else value
    return made


class _Tagged:
    """A list or dict with the type that PyTorch is to give it."""

    def __init__(self, value: Any, of: str, source: Source, done: dict[int, Any]) -> None:
        if isinstance(value, list):
            held: Any = [_again(x, source, done) for x in value]
        else:
            held = {k: _again(v, source, done) for k, v in value.items()}
        self.held, self.of = held, of

    def __reduce__(self) -> Any:
        return saving._name("torch.jit._pickle", "restore_type_tag"), (self.held, self.of)


def content_of(module: Any, stem: str, extra: Any = None) -> bytes:
    """The bytes of a module's archive."""
    if isinstance(module, Loaded) and "_archive" in module.__dict__:
        archive, source = module.__dict__["_archive"], Source()
        version = b"%d\n" % archive.version
        source.files = {f"code/{n}": text for n, text in archive.files.items()}
        source.constants = list(archive.constants)
        return _bytes(source, _again(module, source, {}), stem, extra, version)
    program, example = getattr(module, "__dict__", {}).get("_program"), getattr(module, "__dict__", {}).get("_example")
    if program is None or example is None or isinstance(program, Loaded):
        raise refused("what torch.jit.script gives, a frozen module, or one traced by trace_module or with keywords,")
    source = Source()
    content = _bytes(source, _source_of(program, example, source), stem, extra, _VERSION)
    _checked(content, program, example)
    return content


def _bytes(source: Source, root: Any, stem: str, extra: Any, version: bytes) -> bytes:
    file = io.BytesIO()
    source.write(root, file, stem, extra, version)
    return file.getvalue()


def save(module: Any, f: Any, extra: Any = None) -> None:
    """Write a module's archive to a path or an object with `write`."""
    if isinstance(f, (str, os.PathLike)):
        stem = os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
        content = content_of(module, stem, extra)
        with replacing(os.fspath(f)) as file:
            file.write(content)
        return
    f.write(content_of(module, "archive", extra))
