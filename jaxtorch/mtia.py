"""`torch.mtia`: devices that jaxtorch does not run on."""

from __future__ import annotations

from ._absent import absent_class as _absent_class
from ._absent_device import AbsentDevice as _AbsentDevice

__all__ = [
    "Event", "Stream", "current_device", "device_count", "empty_cache", "init", "is_available", "is_initialized",
    "manual_seed", "manual_seed_all", "memory_allocated", "seed", "set_device", "synchronize",
]  # fmt: skip

_WHY = "jaxtorch has no MTIA backend"
Event = _absent_class("torch.mtia.Event", _WHY)
Stream = _absent_class("torch.mtia.Stream", _WHY)

_device = _AbsentDevice("MTIA")
current_device = _device.current_device
device_count = _device.device_count
empty_cache = _device.empty_cache
init = _device.init
is_available = _device.is_available
is_initialized = _device.is_initialized
manual_seed = _device.manual_seed
manual_seed_all = _device.manual_seed_all
memory_allocated = _device.memory_allocated
seed = _device.seed
set_device = _device.set_device
synchronize = _device.synchronize
