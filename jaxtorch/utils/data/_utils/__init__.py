"""The parts of the DataLoader that also run in its workers."""

from __future__ import annotations

import os

from ...._utils import ExceptionWrapper
from . import collate, fetch, pin_memory, signal_handling, transport, worker
from .worker import _PARENT_CHECK_SECONDS as MP_STATUS_CHECK_INTERVAL

__all__ = [
    "HAS_NUMPY", "IS_WINDOWS", "MP_STATUS_CHECK_INTERVAL", "ExceptionWrapper", "collate", "fetch", "pin_memory",
    "python_exit_status", "signal_handling", "transport", "worker",
]  # fmt: skip

HAS_NUMPY = True
IS_WINDOWS = os.name == "nt"
python_exit_status = False
"""Is the interpreter ending? PyTorch's loaders look here; jaxtorch's have no need to."""
