"""The parts of the DataLoader that also run in its workers."""

from __future__ import annotations

from . import collate, fetch, transport, worker

__all__ = ["collate", "fetch", "transport", "worker"]
