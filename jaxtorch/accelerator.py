"""`torch.accelerator`: the device beside the CPU that JAX sees, whichever it is."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ._core.types.device import device, jax_devices
from ._core.types.warn_once import deprecated as _deprecated
from ._namespace import accelerators as _shared

__all__ = [
    "Graph", "current_accelerator", "current_device_idx", "current_device_index", "device_count", "device_index",
    "empty_cache", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "set_device_idx", "set_device_index", "synchronize",
]  # fmt: skip

_KINDS = ("cuda", "xla")


def _kind() -> str | None:
    return next((kind for kind in _KINDS if jax_devices(kind)), None)


def current_accelerator(check_available: bool = False) -> device | None:
    """The kind of accelerator, without an index: 'cuda' for GPUs, 'xla' for TPUs, None where there is none."""
    kind = _kind()
    return None if kind is None else device(kind)


def is_available() -> bool:
    """Is there an accelerator?"""
    return _kind() is not None


def device_count() -> int:
    """How many accelerators there are."""
    kind = _kind()
    return 0 if kind is None else len(jax_devices(kind))


def _required() -> str:
    kind = _kind()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return kind


def current_device_index() -> int:
    """The index of the current accelerator: the first one."""
    _required()
    return 0


def set_device_index(device: Any, /) -> None:
    """Accepts the first accelerator. NotImplementedError for another: name it where a tensor goes instead."""
    kind = _required()
    index = _shared.index_of(device, kind)
    _shared.jax_device(kind, index)
    if index:
        raise NotImplementedError(
            f"torch.accelerator.set_device_index({index}): in jaxtorch the current device is the first"
        )


def synchronize(device: Any = None, /) -> None:
    """Run what is pending on an accelerator, and wait for it."""
    kind = _required()
    _shared.synchronize(kind, _shared.index_of(device, kind))


def memory_stats(device: Any = None, /) -> OrderedDict[str, int]:
    """JAX's memory statistics under PyTorch's names; empty without an accelerator."""
    kind = _kind()
    return OrderedDict() if kind is None else _shared.memory_stats(kind, _shared.index_of(device, kind))


def memory_allocated(device: Any = None, /) -> int:
    """Bytes in use."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None, /) -> int:
    """The most bytes in use so far."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None, /) -> int:
    """Bytes that JAX's allocator holds."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None, /) -> int:
    """The most bytes that JAX's allocator has held."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def get_memory_info(device: Any = None, /) -> tuple[int, int]:
    """Bytes that JAX may still take, and all that it may take."""
    kind = _required()
    return _shared.free_and_total(kind, _shared.index_of(device, kind))


def empty_cache() -> None:
    """Nothing to do: JAX's allocator keeps the memory it has taken from the system."""


class device_index:
    """Context in which an accelerator is the current one: the first, or None to change nothing; see `set_device_index`."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            set_device_index(self.idx)

    def __exit__(self, *exc: Any) -> None:
        pass


class Graph:
    """NotImplementedError with an accelerator (RuntimeError without): `torch.compile` captures and replays work on a device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _required()
        raise NotImplementedError("torch.accelerator.Graph: use torch.compile, which captures whole calls")


current_device_idx = _deprecated("Use `current_device_index` instead.")(current_device_index)
set_device_idx = _deprecated("Use `set_device_index` instead.")(set_device_index)
