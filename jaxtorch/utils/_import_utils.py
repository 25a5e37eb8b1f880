"""`torch.utils._import_utils`: which other packages there are."""

from __future__ import annotations

import functools
import importlib.util
from types import ModuleType


def _check_module_exists(name: str) -> bool:
    """Can a top-level module be imported? It is not imported for that."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@functools.cache
def dill_available() -> bool:
    """Is the package dill there?"""
    return _check_module_exists("dill")


@functools.cache
def import_dill() -> ModuleType | None:
    """The package dill; None without it."""
    return importlib.import_module("dill") if dill_available() else None
