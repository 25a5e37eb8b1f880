"""`torch.utils.hooks`: what registering a hook returns."""

from __future__ import annotations

from .._core.types.removable_handle import RemovableHandle

__all__ = ["RemovableHandle"]
