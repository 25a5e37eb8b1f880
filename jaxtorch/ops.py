"""`torch.ops`: operations by namespace and name. `torch.ops.aten` holds jaxtorch's own; `torch.library` adds others."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ._library.operators import namespace as _namespace
from .library import Library as _Library

loaded_libraries: set[str] = set()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _namespace(name)


_OWN = {
    ("torchvision", "_C"): ("_vision", "torchvision"),
    ("torchvision", "image"): ("_vision", "image"),
    ("torchaudio/lib", "libtorchaudio"): ("_audio", "torchaudio"),
    ("torchaudio/lib", "_torchaudio"): ("_audio", "_torchaudio"),
}
"""Compiled libraries whose operations jaxtorch has itself, by folder and name: where these are, and the namespace that they fill."""


_defined: dict[str, Any] = {}
"""The libraries that have been made so, by namespace."""


def load_library(path: Any) -> None:
    """Define the operations of a compiled library of torchvision or torchaudio, which jaxtorch has itself.

    OSError for any other: a library that is compiled for PyTorch needs PyTorch.
    """
    file = Path(path)
    name = file.name.partition(".")[0]
    own = [found for (folder, stem), found in _OWN.items() if stem == name and file.parent.as_posix().endswith(folder)]
    if not own or not file.exists():
        raise OSError(f"torch.ops.load_library: jaxtorch cannot load {path}, which is compiled for PyTorch")
    package, namespace = own[0]
    if namespace not in _defined:
        operations = importlib.import_module(f".{package}.library", __package__).OPERATIONS[namespace]
        library = _defined[namespace] = _Library(namespace, "DEF")
        for schema, fn in operations.items():
            library.impl(library.define(schema), fn, "CompositeImplicitAutograd")
    loaded_libraries.add(str(path))


def import_module(module: str) -> None:
    """Import a Python module, which registers operations."""
    importlib.import_module(module)
