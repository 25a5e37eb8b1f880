"""`torch.jit.annotations`: names that libraries import for annotations."""

from __future__ import annotations

from .._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = ["BroadcastingList1", "BroadcastingList2", "BroadcastingList3"]
