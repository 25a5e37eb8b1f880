"""`torch.ops`: operations by namespace and name. `torch.ops.aten` holds jaxtorch's own; `torch.library` adds others."""

from __future__ import annotations

from typing import Any

from ._library.operators import namespace as _namespace

loaded_libraries: set[str] = set()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _namespace(name)


def load_library(path: Any) -> None:
    """OSError: a compiled library of PyTorch operations needs PyTorch."""
    raise OSError(f"torch.ops.load_library: jaxtorch cannot load {path}, which is compiled for PyTorch")


def import_module(module: str) -> None:
    """Import a Python module, which registers operations."""
    import importlib

    importlib.import_module(module)
