"""`torch.utils.data._utils.pin_memory`: a batch put where transfers to an accelerator begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _engine
from .collate import _rebuild_mapping, _rebuild_sequence

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """The batch with `pin_memory()` called on the tensors in it, and on objects that are no container and have it.

    Mappings and sequences are rebuilt in their type, or as a dict or list where that cannot be done.
    """
    if isinstance(data, _engine.Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value, device) for value in data))
    if isinstance(data, Sequence):
        return _rebuild_sequence(data, [pin_memory(value, device) for value in data])
    return data
