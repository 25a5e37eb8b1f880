"""`import torch` means jaxtorch: the aliases in `sys.modules`, and the finder that makes them.

`sys.modules["torch"]` is the jaxtorch package itself, and `torch.nn` is the module object `jaxtorch.nn`, so
classes, `isinstance` and pickles agree whichever name a program used. Classes say then that they are torch's
(`type(x).__module__`), as programs print it and libraries ask.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from multiprocessing import spawn
from opcode import opmap
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from .._core.dispatch import torch_function
from .._core.dispatch.class_attributes import unbind
from . import finder

TORCH_VERSION = "2.13.0"
"""The PyTorch version whose API and behaviour jaxtorch follows; also what `torch.__version__` says."""

_ELSEWHERE = {
    "functorch": "jaxtorch._functorch.functorch",
    "functorch.experimental": "jaxtorch._functorch.experimental",
    "torch._ops": "jaxtorch._library.classes",
}
"""Modules that come with PyTorch and have another place here."""


def install() -> None:
    """Make `import torch`, and every submodule of it, give jaxtorch, in this process and in those it spawns.

    Works with and without PyTorch installed. Raises RuntimeError where PyTorch has been imported already:
    what holds its modules would keep them, and tensors of both kinds would meet.
    """
    if _finder in sys.meta_path:
        return
    if "torch" in sys.modules:
        raise RuntimeError(
            "jaxtorch.install() has to come before the first `import torch`: "
            "PyTorch is already imported in this process"
        )
    for name, module in list(sys.modules.items()):
        alias = _alias(name)
        if alias is not None:
            sys.modules[alias] = module
        if name.partition(".")[0] == "jaxtorch":
            _name_classes(module)
    package = sys.modules["jaxtorch"]
    package.__name__, package.__spec__ = (
        "torch",
        _Spec(package.__spec__),
    )  # what libraries ask of the module they were given
    sys.meta_path.insert(0, _finder)
    finder.loaded.append(_name_classes)
    jax = logging.getLogger("jax")
    if jax.level == logging.NOTSET and not os.environ.get("JAX_LOGGING_LEVEL"):
        jax.setLevel(logging.WARNING)  # programs that give the root logger a level mean to see their own lines
    # Of a program that forks: its child stays away from JAX (`_core/host/forked.py`). Last of all, so that filters of the
    # program's own count.
    warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning, append=True)
    spawn.get_preparation_data = _preparation_data
    builtins.__build_class__ = _build_class


def own_spec(spec: ModuleSpec) -> ModuleSpec:
    """The spec of jaxtorch's module for one of the alias `torch.x`, which has no code of its own; any other as it is."""
    found = importlib.util.find_spec(spec.loader.real) if isinstance(spec.loader, _Loader) else None
    return found or spec


def installed() -> bool:
    """Does `import torch` mean jaxtorch in this process?"""
    return _finder in sys.meta_path


def uninstall() -> None:
    """Undo `install()`: a later `import torch` looks for PyTorch again. Modules keep what they imported."""
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    finder.loaded.remove(_name_classes)
    while _renamed:
        cls, cls.__module__ = _renamed.popitem()
    package = sys.modules["jaxtorch"]
    package.__name__ = "jaxtorch"
    if isinstance(package.__spec__, _Spec):
        package.__spec__ = package.__spec__.own
    spawn.get_preparation_data = _spawn_preparation_data
    if builtins.__build_class__ is _build_class:
        builtins.__build_class__ = _python_build_class
    for name in [name for name in sys.modules if name in ("torch", *_ELSEWHERE) or name.startswith("torch.")]:
        del sys.modules[name]


def _alias(name: str) -> str | None:
    """The PyTorch name of the jaxtorch module `name`; None for what is no part of PyTorch's API."""
    if name != "jaxtorch" and not name.startswith("jaxtorch."):
        return None
    if finder.inner(name):
        return None
    return "torch" + name.removeprefix("jaxtorch")


_NAMED_FUNCTIONS = ("jaxtorch.nn.init",)
"""Modules whose functions say that they are torch's too: modes with a `__torch_function__` ask where such a function is from."""
_renamed: dict[Any, str] = {}
"""Classes and functions that say that they are torch's, and the module names they had."""


def ours(cls: type) -> bool:
    """Is this a class of jaxtorch, whatever it says?"""
    return cls in _renamed or cls.__module__.partition(".")[0] == "jaxtorch"


def shown(module: str) -> str:
    """How a module of jaxtorch is named in this process: as torch's where `install()` was called."""
    return (_alias(module) if _finder in sys.meta_path else None) or module


def _name_classes(owner: Any) -> None:
    """Have the classes in a module, and those inside them, say that they are torch's; of some modules the functions too."""
    for cls in list(vars(owner).values()):
        if isinstance(cls, type) or (isinstance(cls, FunctionType) and cls.__module__ in _NAMED_FUNCTIONS):
            name = cls.__module__
            alias = _alias(name) if isinstance(name, str) else None
            if alias is not None:
                _renamed[cls] = name
                cls.__module__ = alias
                _name_classes(cls)


class _Finder(DistributionFinder):
    """Finds `torch.x` where there is a `jaxtorch.x`, and stands in for PyTorch's installed metadata."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if fullname in _ELSEWHERE:
            return ModuleSpec(fullname, _Loader(_ELSEWHERE[fullname]))
        if root != "torch":
            return None
        real = f"jaxtorch.{rest}" if rest else "jaxtorch"
        if _alias(real) is None:  # None would leave it to the path of `torch`, which is jaxtorch's own folder
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        if real not in sys.modules and importlib.util.find_spec(real) is None:
            return None
        return ModuleSpec(fullname, _Loader(real))

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008
    ) -> Iterator[Distribution]:
        if context.name is None or context.name.lower() == "torch":
            yield _TorchDistribution()


class _Spec(ModuleSpec):
    """The package's own spec under the name of `torch`."""

    def __init__(self, own: Any) -> None:
        super().__init__("torch", own.loader, origin=own.origin, is_package=True)
        self.submodule_search_locations = own.submodule_search_locations
        self.has_location, self.own = own.has_location, own

    @property
    def parent(self) -> str:
        """As the package's `__package__`, which its relative imports begin at."""
        return self.own.parent


class _Loader(Loader):
    """Gives an import of `torch.x` the module `jaxtorch.x`, and leaves that module as it was."""

    def __init__(self, real: str) -> None:
        self.real = real
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.real)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has just written the alias's spec over it


class _TorchDistribution(Distribution):
    """What `importlib.metadata` says of PyTorch, for programs and libraries that ask for its version."""

    def read_text(self, filename: str) -> str | None:
        return {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH_VERSION}\n",
            "top_level.txt": "torch\n",
        }.get(filename)

    def locate_file(self, path: Any) -> Path:
        return Path(__file__).parents[2] / path


class _InstallInChild:
    """Unpickling it installs: it reaches a spawned process before the main module with its `import torch`."""

    def __reduce__(self) -> tuple[Any, ...]:
        return install, ()


_spawn_preparation_data = spawn.get_preparation_data


def _preparation_data(name: str) -> dict[str, Any]:
    """multiprocessing's own data for a child process, which ignores keys it does not know, and ours."""
    return {"jaxtorch": _InstallInChild(), **_spawn_preparation_data(name)}


_python_build_class = builtins.__build_class__


def _unseen(function: FunctionType) -> FunctionType:
    """Takes a function's frames out of `sys._getframe` and tracebacks, which begin to count them at the instruction RESUME.

    Decorators and metaclasses look for the frame of a class statement a fixed number of frames up (overrides, pydantic, enum).
    """
    code = function.__code__.co_code
    if code[0] == opmap["RESUME"]:
        function.__code__ = function.__code__.replace(co_code=bytes([opmap["NOP"]]) + code[1:])
    return function


@_unseen
def _build_class(*args: Any, **kwargs: Any) -> Any:
    """Makes a class, as the `class` statement does. One that is no tensor and has `__torch_function__` will want to be asked."""
    cls = _python_build_class(*args, **kwargs)
    if "__torch_function__" in getattr(cls, "__dict__", ()):
        torch_function.expect(cls)
    if isinstance(cls, type):
        unbind(cls)
    return cls


_finder = _Finder()
