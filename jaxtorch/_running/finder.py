"""How modules of jaxtorch are found: where they are, under a second name that PyTorch has, or in the table of what is absent."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from .._private_names.absent import AbsentAttribute
from .._private_names.absent_names import OLDER, entries, find, listed, parents, reason, settings

_INNER = ("jaxtorch._core", "jaxtorch._ops", "jaxtorch._running", "jaxtorch.__main__", "jaxtorch.info")
"""jaxtorch's own private modules, which have nothing to do with PyTorch's modules of the same names."""

_PRIVATE_NAMES = ("_custom_ops", "_guards", "_prims_common", "_tensor_str", "_utils_internal", "_vmap_internals")
_FOLDERS: dict[str, tuple[str, ...] | None] = {
    "jaxtorch._private_names": _PRIVATE_NAMES,
    "jaxtorch.distributions._continuous": None,
    "jaxtorch.distributions._discrete": None,
    "jaxtorch.distributions._multivariate": None,
}
"""Folders whose modules, all or these, are known as modules of the package above: PyTorch has them there."""


def _public_path(module: str) -> str:
    """The name under which programs know a module."""
    folder, _, name = module.rpartition(".")
    if folder not in _FOLDERS or name not in (_FOLDERS[folder] or (name,)):
        return module
    return f"{folder.rpartition('.')[0]}.{name}"


def _moved(fullname: str) -> str | None:
    """Where the file of a module is that does not lie where its name says; None for others."""
    rest = fullname.removeprefix("jaxtorch.")
    if rest in _PRIVATE_NAMES:
        return f"jaxtorch._private_names.{rest}"
    return f"jaxtorch.ao.{rest}" if any(rest == old or rest.startswith(old + ".") for old in OLDER) else None


def inner(name: str) -> bool:
    """Is this a module of jaxtorch that is no part of PyTorch's API?"""
    return name.startswith(_INNER) and any(name == own or name.startswith(own + ".") for own in _INNER)


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
    if "__path__" not in vars(module) and theirs in parents():
        module.__path__ = []  # of PyTorch's package: its modules are in the table


class Absent(ModuleType):
    """A module that jaxtorch has not. It can be imported, and names in it; using them raises NotImplementedError."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{reason(name.removeprefix('jax'))}.")
        self.__path__ = []

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *entries(self.__name__.removeprefix("jax"))})


def _publish(module: ModuleType, own: str, name: str) -> None:
    """Let a module be what programs find under a public path; what it defines says that it is from there."""
    module.__name__ = name
    sys.modules[name] = module
    above, _, last = name.rpartition(".")
    setattr(sys.modules[above], last, module)
    for item in vars(module).values():
        if getattr(item, "__module__", None) == own:
            item.__module__ = name


class _Answering(SourceFileLoader):
    """Loads a module of jaxtorch, which then answers for the names that it lacks."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        name = _public_path(self.name)
        if name != self.name:
            _publish(module, self.name, name)
        if not inner(name) and not hasattr(type(module), "__getattr__"):  # modules of settings answer themselves
            complete(module, name)
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
