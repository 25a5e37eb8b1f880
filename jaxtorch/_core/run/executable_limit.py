"""How many executables a process may hold.

XLA maps each in three pieces of memory, and Linux allows a process 65,530 (`vm.max_map_count`). Beyond them LLVM ends the
process with a segmentation fault. A program that makes ever new shapes gets there after some 20,000 compilations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax

from ..tuning import EXECUTABLES_COUNTED, MAPS_SHARE

_MAPS, _LIMIT = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")


class _Made:
    """How many programs have been compiled since the pieces were counted."""

    count = 0


def _compiled(event: str, duration_secs: float, **_: Any) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _Made.count += 1


jax.monitoring.register_event_duration_secs_listener(_compiled)


def in_use() -> float:
    """The share of the pieces allowed that the process has; 0 where nobody says."""
    try:
        with _MAPS.open() as maps:
            return sum(1 for _ in maps) / int(_LIMIT.read_text())
    except (OSError, ValueError):
        return 0.0


def made_room() -> bool:
    """Let go of all of JAX's executables if there are nearly too many; those still needed are made again, or read from the cache."""
    if _Made.count < EXECUTABLES_COUNTED:
        return False
    _Made.count = 0
    if in_use() < MAPS_SHARE:
        return False
    jax.clear_caches()
    return True
