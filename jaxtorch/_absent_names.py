"""What PyTorch has and jaxtorch has not: one table of modules and names, and how an import or an attribute finds them.

A library that imports such a name goes on, and the one program that uses it is told which name that is and why. The table,
`_absent_names.txt`, is written by `scripts/absent_names.py`: for each module of PyTorch the classes, exceptions,
enumerations, functions, plain values and other objects that jaxtorch's module lacks. Whatever a module of jaxtorch
defines comes first.
"""

from __future__ import annotations

import enum
import functools
import importlib
import json
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ._absent import AbsentAttribute, AbsentValue, absent_class, absent_function

_INNER = ("jaxtorch._core", "jaxtorch._ops", "jaxtorch._install", "jaxtorch.__main__", "jaxtorch.info")
"""jaxtorch's own private modules, which have nothing to do with PyTorch's modules of the same names."""

_SHARDED = "jaxtorch has no sharded models; DistributedDataParallel averages gradients, and jax.sharding is for several devices"
_TENSORS = "jaxtorch has no distributed tensors; for several devices use jax.sharding"
_HOOKS = "DistributedDataParallel has the hooks of default_hooks"
_COLLECTIVES = "use the collectives of torch.distributed, or of torch.distributed.nn.functional"
_QUANTISATION = "jaxtorch quantises in eager mode, by prepare, convert and quantize_dynamic"

_REASONS = {
    "torch.ao": "of quantisation jaxtorch has the eager mode",
    "torch.ao.nn.quantized.dynamic": "jaxtorch has linear and recurrent layers only",
    "torch.ao.nn.quantized.functional": "jaxtorch has no such function of quantised tensors",
    "torch.ao.quantization": _QUANTISATION,
    "torch.quantization": _QUANTISATION,
    "torch.nn.quantized": "of quantisation jaxtorch has the eager mode",
    "torch._inductor": "XLA compiles, and jaxtorch has no code generator of its own",
    "torch._dynamo": "jaxtorch reads no bytecode",
    "torch._dynamo._trace_wrapped_higher_order_op": "nothing is captured, so there is nothing to transform",
    "torch._export": "jaxtorch exports no programs",
    "torch.export": "jaxtorch exports no programs of PyTorch; see jax.export",
    "torch.onnx": "jaxtorch exports no ONNX; use jax.export, or export the state_dict from PyTorch",
    "torch._C": "jaxtorch has no compiled core",
    "torch._C._functorch": "torch.func.vmap is jax.vmap here",
    "torch.distributed": "of torch.distributed jaxtorch has what the backend 'gloo' does with whole tensors",
    "torch.distributed.split_group": "new_group makes groups of some of the processes",
    "torch.distributed._composable.fsdp": _SHARDED,
    "torch.distributed.fsdp": _SHARDED,
    "torch.distributed._functional_collectives": _COLLECTIVES,
    "torch.distributed.utils": _COLLECTIVES,
    "torch.distributed.algorithms._checkpoint": "use torch.utils.checkpoint",
    "torch.distributed.algorithms.ddp_comm_hooks": _HOOKS,
    "torch.distributed.algorithms.model_averaging": _HOOKS,
    "torch.distributed.checkpoint": "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    "torch.distributed.launcher": "python -m jaxtorch -m torch.distributed.run starts processes",
    "torch.distributed.optim": "use ZeroRedundancyOptimizer, or any optimizer with DistributedDataParallel",
    "torch.distributed.pipelining": "jaxtorch has no pipelines of stages",
    "torch.distributed.rpc": "jaxtorch has no remote procedure calls",
    "torch.distributed.tensor": _TENSORS,
    "torch.fx.experimental.optimization": "XLA chooses the kernels",
    "torch.fx.experimental.proxy_tensor": "use torch.fx.symbolic_trace, or jax.make_jaxpr",
    "torch.fx.experimental.symbolic_shapes": "jaxtorch traces with numbers, not symbols",
    "torch.cuda": "XLA runs the GPUs",
    "torch.cuda.nccl": "there is no NCCL",
    "torch.xpu": "jaxtorch has no XPU backend",
    "torch.mtia": "jaxtorch has no MTIA backend",
    "torch.mps": "jaxtorch has no MPS backend",
    "torch.jit": "jaxtorch has TorchScript's files, and not its compiler",
    "torch.package": "jaxtorch packs no models with their code; torch.save writes their parameters",
    "torch.sparse": "jaxtorch has no kernels for semi-structured sparsity or Triton",
    "torch.utils.benchmark": "jaxtorch times statements in Python only, and draws dense tensors",
    "torch.utils.cpp_extension": "jaxtorch has no C++ interface; see jax.ffi",
    "torch.utils.data": "jaxtorch has no DataPipes, which PyTorch no longer develops; write an IterableDataset or a Dataset",
    "torch.utils._triton": "jaxtorch runs no Triton kernels; see jax.experimental.pallas",
    "torch.ops": "jaxtorch has no such operation",
    "torch.ops.c10d": "jaxtorch has no collectives as operations",
    "torch.ops.c10d_functional": "jaxtorch has no collectives as operations",
    "torch.ops._c10d_functional": "jaxtorch has no collectives as operations",
}
"""Why names are absent, by the beginning of their modules' names; the longest counts."""


@functools.cache
def _lines() -> dict[str, str]:
    """The table: its line for each module of PyTorch."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    return {module: rest for module, _, rest in (line.partition(" ") for line in text.splitlines()) if module != "#"}


@functools.cache
def entries(module: str) -> dict[str, tuple[str, Any]]:
    """What PyTorch's module has and jaxtorch's has not: kind and content by name."""
    line = json.loads(_lines().get(module) or "{}")
    found: dict[str, tuple[str, Any]] = {}
    for kind, names in line.items():
        if isinstance(names, dict):
            found.update({name: (kind, content) for name, content in names.items()})
        else:
            found.update(dict.fromkeys(names.split(), (kind, None)))
    return found


def named(module: str, name: str) -> bool:
    """Has the table a name of PyTorch's module?"""
    return name in entries(module) and not _hidden


@functools.cache
def _parents() -> frozenset[str]:
    """Modules with modules inside them, as PyTorch has them."""
    return frozenset(name.rpartition(".")[0] for name in _lines())


def reason(api: str) -> str:
    """Why jaxtorch has not what is called so."""
    found = [prefix for prefix in _REASONS if api == prefix or api.startswith(prefix + ".")]
    return _REASONS[max(found, key=len)] if found else "jaxtorch does not have it"


@functools.cache
def _made(module: str, name: str) -> Any:
    kind, content = entries(module)[name]
    api = f"{module}.{name}"
    if kind == "value":
        return tuple(content) if isinstance(content, list) else content
    if kind == "exception":  # which programs name in `except`; nothing raises it
        import builtins

        return type(name, (getattr(builtins, content),), {"__module__": module, "__doc__": f"{reason(api)}."})
    if kind == "operator" or kind == "setting":
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    if kind == "enum":
        return enum.Enum(name, content, module=module)
    make = {"class": absent_class, "function": absent_function}.get(kind, AbsentValue)
    return make(api, reason(api))


_OLDER = ("nn.intrinsic", "nn.qat", "nn.quantizable", "nn.quantized", "quantization")
"""Packages that have moved to `torch.ao`; their modules are found under both names."""


def _moved(fullname: str) -> str | None:
    """Where a module of jaxtorch has moved to; None for one that has not."""
    rest = fullname.removeprefix("jaxtorch.")
    return f"jaxtorch.ao.{rest}" if any(rest == old or rest.startswith(old + ".") for old in _OLDER) else None


def find(module: str, name: str) -> Any:
    """What stands for a name of the table in PyTorch's `module`; AttributeError where it is not there."""
    if not name.startswith("__"):
        if (f"{module}.{name}" in _lines() and not _hidden) or f"{module}.{name}".removeprefix("torch.") in _OLDER:
            return importlib.import_module("jax" + f"{module}.{name}")
        if named(module, name):
            return _made(module, name)
        if _is_inside(module, name):
            return importlib.import_module(f"jax{module}.{name}")  # PyTorch's packages import theirs by themselves
    raise AttributeError(f"module '{module}' has no attribute '{name}'")


_hidden: list[bool] = []
"""Not empty: nothing of the table is found, for the script that writes it."""


def inner(name: str) -> bool:
    """Is this a module of jaxtorch that is no part of PyTorch's API?"""
    return name.startswith(_INNER) and any(name == own or name.startswith(own + ".") for own in _INNER)


def listed(module: str) -> bool:
    """Has PyTorch this module, and jaxtorch only what the table says of it?"""
    return module in _lines() and not _hidden


@functools.cache
def _is_inside(module: str, name: str) -> bool:
    """Has jaxtorch's package of this name such a module?"""
    package = sys.modules.get("jax" + module)
    return bool(getattr(package, "__path__", None)) and find_spec(f"jax{module}.{name}") is not None


def complete(module: ModuleType, name: str) -> None:
    """Let a module of jaxtorch (`name`) answer for the names that it lacks."""
    theirs = name.removeprefix("jax")
    own = vars(module).get("__getattr__")

    def __getattr__(asked: str) -> Any:
        if own is not None:
            try:
                return own(asked)
            except AttributeError as error:
                try:
                    return find(theirs, asked)
                except AbsentAttribute:
                    raise
                except AttributeError:
                    raise error from None
        return find(theirs, asked)

    vars(module)["__getattr__"] = __getattr__
    if "__path__" not in vars(module) and theirs in _parents():
        module.__path__ = []  # of PyTorch's package: its modules are in the table


class Absent(ModuleType):
    """A module that jaxtorch has not. It can be imported, and names in it; using them raises NotImplementedError."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{reason(name.removeprefix('jax'))}.")
        self.__path__ = []


class _Answering(SourceFileLoader):
    """Loads a module of jaxtorch, which then answers for the names that it lacks."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if not inner(self.name) and not hasattr(type(module), "__getattr__"):  # modules of settings answer themselves
            complete(module, self.name)
        for told in loaded:
            told(module)


class _Moved(Loader):
    """Gives an import the module that is elsewhere now, and leaves that module as it was."""

    def __init__(self, real: str) -> None:
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.real)
        self.name, self.spec = spec.name, module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec
        for name, inside in list(sys.modules.items()):  # an import would put a module where its package has a function
            if name.startswith(self.real + "."):
                sys.modules.setdefault(self.name + name.removeprefix(self.real), inside)


class _Empty(Loader):
    """Makes a module that is in the table only."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        name = module.__spec__.name
        if any(kind == "setting" for kind, _ in entries(name.removeprefix("jax")).values()):
            settings(name)
        else:
            complete(module, name)


def settings(name: str, **begin: Any) -> None:
    """Make a module that is being imported one of the settings that PyTorch's module of this name has.

    begin: values with which settings begin, where that depends on the environment.
    """
    from .utils._config_module import become_settings  # few programs have modules of settings

    given = {n: text for n, (kind, text) in entries(name.removeprefix("jax")).items() if kind == "setting"}
    become_settings(sys.modules[name], given, find, begin)


loaded: list[Any] = []
"""Functions that are told of each module of jaxtorch that has been imported."""


def _test_utilities(fullname: str) -> ModuleSpec:
    """PyTorch's own test utilities, `torch.testing._internal`: the Python files of an installed PyTorch, which is not imported."""
    found = PathFinder.find_spec("torch")
    folder = Path(found.origin).parent / "testing" / "_internal" if found is not None and found.origin else None
    if fullname == "jaxtorch.testing._internal" and folder is not None and folder.is_dir():
        places = [str(folder)]
        return spec_from_file_location(fullname, folder / "__init__.py", submodule_search_locations=places)  # pyright: ignore[reportReturnType]
    if fullname == "jaxtorch.testing._internal":
        return ModuleSpec(fullname, _Empty(), is_package=True)
    name = fullname.removeprefix("jax")
    why = (
        ""
        if folder is not None and folder.is_dir()
        else ": PyTorch's test utilities are read from an installed PyTorch"
    )
    raise ModuleNotFoundError(f"No module named {name!r}{why}", name=name)


class _Finder(MetaPathFinder):
    """Finds jaxtorch's modules where they are, or in the table."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("jaxtorch."):
            return None
        moved = _moved(fullname)
        if moved is not None and find_spec(moved) is not None:
            return ModuleSpec(fullname, _Moved(moved))
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:  # and no folder that is left over from a module
            if type(spec.loader) is SourceFileLoader:
                spec.loader = _Answering(spec.loader.name, spec.loader.path)
            return spec
        if fullname.startswith("jaxtorch.testing._internal"):
            return _test_utilities(fullname)
        if listed(fullname.removeprefix("jax")) and not inner(fullname):
            return ModuleSpec(fullname, _Empty(), is_package=True)
        return None


sys.meta_path.insert(0, _Finder())  # modules that are imported from here on answer for the names that they lack
