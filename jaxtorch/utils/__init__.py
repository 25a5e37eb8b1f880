"""`torch.utils`: data loading and helpers around training."""

from __future__ import annotations

from . import data as data

__all__ = ["data"]
