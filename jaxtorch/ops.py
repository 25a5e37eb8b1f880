"""`torch.ops`: operations by namespace and name. `torch.ops.aten` holds jaxtorch's own; `torch.library` adds others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._library.operators import namespace as _namespace

loaded_libraries: set[str] = set()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _namespace(name)


def _vision(namespace: str) -> None:
    from ._vision import library

    library.define(namespace)


_OWN = {("torchvision", "_C"): "torchvision", ("torchvision", "image"): "image"}
"""Compiled libraries whose operations jaxtorch has itself, by package and name, and the namespaces that they fill."""


def load_library(path: Any) -> None:
    """Define the operations of a compiled library of torchvision, which jaxtorch has itself.

    OSError for any other: a library that is compiled for PyTorch needs PyTorch.
    """
    file = Path(path)
    namespace = _OWN.get((file.parent.name, file.name.partition(".")[0]))
    if namespace is None or not file.exists():
        raise OSError(f"torch.ops.load_library: jaxtorch cannot load {path}, which is compiled for PyTorch")
    _vision(namespace)
    loaded_libraries.add(str(path))


def import_module(module: str) -> None:
    """Import a Python module, which registers operations."""
    import importlib

    importlib.import_module(module)
