"""`torch.utils.data._utils.pin_memory`: a batch put where transfers to an accelerator begin."""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from typing import Any

from ...._utils import ExceptionWrapper
from .. import _engine
from .collate import _rebuild_mapping, _rebuild_sequence
from .worker import _PARENT_CHECK_SECONDS

__all__ = ["pin_memory"]


def _pin_memory_loop(in_queue: Any, out_queue: Any, device_id: Any, done_event: Any, device: Any) -> None:
    """Hand on what comes from one queue to another, pinned, until the event is set. For loaders of other packages.

    Items are pairs of a number and data; an ExceptionWrapper is handed on as it is, and an error becomes one.
    """
    while not done_event.is_set():
        try:
            number, data = in_queue.get(timeout=_PARENT_CHECK_SECONDS)
        except queue.Empty:
            continue
        if not isinstance(data, ExceptionWrapper):
            try:
                data = pin_memory(data, device)
            except Exception:
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        while not done_event.is_set():
            try:
                out_queue.put((number, data), timeout=_PARENT_CHECK_SECONDS)
                break
            except queue.Full:
                continue


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
