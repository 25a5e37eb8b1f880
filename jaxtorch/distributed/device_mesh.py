"""`torch.distributed.device_mesh`: names only."""

from __future__ import annotations

from typing import Any

from .._absent import absent as _absent

_MESH = "jaxtorch has no meshes of processes"
_names = _absent(__name__, "DeviceMesh init_device_mesh", _MESH)
DeviceMesh: Any = _names["DeviceMesh"]
init_device_mesh: Any = _names["init_device_mesh"]
__all__ = ["DeviceMesh", "init_device_mesh"]
