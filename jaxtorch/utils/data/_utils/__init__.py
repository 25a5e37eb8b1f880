"""The parts of the DataLoader that also run in its workers."""

from __future__ import annotations

from . import collate, fetch, pin_memory, transport, worker

__all__ = ["collate", "fetch", "pin_memory", "transport", "worker"]
