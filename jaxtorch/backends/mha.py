"""`torch.backends.mha`: whether attention layers may take a quicker way in evaluation. Kept; XLA makes the kernels."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` has set; it changes nothing."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Keeps the setting, which changes nothing."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
