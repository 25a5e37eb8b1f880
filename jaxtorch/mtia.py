"""`torch.mtia`: devices that jaxtorch does not run on."""

from __future__ import annotations

from ._private_names.absent_device import absent_device as _absent_device

_held = _absent_device("mtia", "MTIA", "get_device_name max_memory_reserved mem_get_info memory_reserved")
__all__ = list(_held)
globals().update(_held)
