"""The warning that PyTorch gives at the first use of a typed storage."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from .._core.types import warn_once

_T = TypeVar("_T")
_said: list[bool] = []


def warn() -> None:
    """Warn, the first time in the process, whatever `torch.set_warn_always` says."""
    if not _said:
        _said.append(True)
        warn_once.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
            "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
            "tensor.untyped_storage() instead of tensor.storage()"
        )


def warning(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which warns where a program calls it, and not the library itself."""

    @wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not warn_once.inside(sys._getframe(1)):
            warn()
        return method(*args, **kwargs)

    return called


_SILENT = {"to", "filename", "__eq__", "__ne__", "__hash__", "__reduce__"}
_SPECIAL = {"__copy__", "__deepcopy__", "__getitem__", "__setitem__", "__len__", "__iter__", "__repr__"}


def warns(cls: _T) -> _T:
    """The class of typed storages, almost all of whose methods warn."""
    for name in dir(cls):
        found = getattr(cls, name) if name in _SPECIAL or not name.startswith("_") else None
        if name in _SILENT or (
            name in _SPECIAL - {"__copy__", "__deepcopy__"} and found is getattr(object, name, None)
        ):
            continue
        if isinstance(found, property) and found.fget is not None:
            setattr(cls, name, property(warning(found.fget), doc=found.__doc__))
        elif callable(found) and not hasattr(found, "__self__"):
            setattr(cls, name, warning(found))
    return cls
