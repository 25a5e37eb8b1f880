"""`torch.xpu`: devices that jaxtorch does not run on."""

from __future__ import annotations

from ._private_names.absent_device import absent_device as _absent_device


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Always False: there is no such device."""
    return False


_held = _absent_device("xpu", "XPU") | {"is_bf16_supported": is_bf16_supported}
__all__ = list(_held)
globals().update(_held)
