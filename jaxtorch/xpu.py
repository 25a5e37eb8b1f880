"""`torch.xpu`: devices that jaxtorch does not run on."""

from __future__ import annotations

from typing import Any, NoReturn

from ._absent import absent_class as _absent_class

__all__ = [
    "Event", "Stream", "current_device", "device_count", "empty_cache", "init", "is_available", "is_initialized",
    "manual_seed", "manual_seed_all", "memory_allocated", "seed", "set_device", "synchronize",
]  # fmt: skip

_WHY = "jaxtorch has no XPU backend"
Event = _absent_class("torch.xpu.Event", _WHY)
Stream = _absent_class("torch.xpu.Stream", _WHY)


def is_available() -> bool:
    """Always False."""
    return False


def is_initialized() -> bool:
    """Always False."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


def init() -> NoReturn:
    """AssertionError: there is no such device."""
    raise AssertionError("Torch not compiled with XPU enabled")


def synchronize(device: Any = None) -> NoReturn:
    """AssertionError: there is no such device."""
    init()


def current_device() -> NoReturn:
    """AssertionError: there is no such device."""
    init()


def set_device(device: Any) -> NoReturn:
    """AssertionError: there is no such device."""
    init()


def empty_cache() -> None:
    """Nothing to do: there is no such device."""


def memory_allocated(device: Any = None) -> int:
    """Always 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to do: there is no such device."""


def manual_seed_all(seed: int) -> None:
    """Nothing to do: there is no such device."""


def seed() -> None:
    """Nothing to do: there is no such device."""
