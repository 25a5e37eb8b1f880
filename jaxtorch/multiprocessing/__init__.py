"""`torch.multiprocessing`: Python's `multiprocessing`, and `spawn`.

Tensors that are sent to another process are copied; PyTorch moves them to shared memory.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
import sys as _sys
import threading as _threading
from typing import Any as _Any

from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [  # noqa: PLE0604 - multiprocessing's own names
    *_multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes",
]  # fmt: skip

_STRATEGIES = {"file_descriptor", "file_system"} if _sys.platform not in ("darwin", "win32") else {"file_system"}
_strategy = "file_descriptor" if "file_descriptor" in _STRATEGIES else "file_system"


def __getattr__(name: str) -> _Any:
    return getattr(_multiprocessing, name)


def set_sharing_strategy(new_strategy: str) -> None:
    """Remembers how tensors should be shared. Without effect: they are copied."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"set_sharing_strategy(): expected one of {sorted(_STRATEGIES)}, got {new_strategy!r}")
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """What `set_sharing_strategy` was last told."""
    return _strategy


def get_all_sharing_strategies() -> set[str]:
    """The strategies that PyTorch knows on this system."""
    return set(_STRATEGIES)


def _set_thread_name(name: str) -> None:
    """Name the thread that calls, for debuggers."""
    _threading.current_thread().name = name


def _get_thread_name() -> str:
    """The name of the thread that calls."""
    return _threading.current_thread().name
