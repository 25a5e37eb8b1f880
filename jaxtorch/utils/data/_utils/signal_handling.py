"""`torch.utils.data._utils.signal_handling`: loaders of other packages are told when one of their worker processes has died."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable
from typing import Any

IS_WINDOWS = os.name == "nt"
_SIGCHLD_handler_set = False
_workers: dict[Any, set[int]] = {}
"""The processes of each loader, by the loader's number."""


def _set_worker_pids(loader: int, pids: Iterable[int]) -> None:
    """Watch these processes of a loader."""
    _workers[loader] = set(pids)


def _remove_worker_pids(loader: int) -> None:
    """Watch the processes of a loader no longer."""
    _workers.pop(loader, None)


def _error_if_any_worker_fails() -> None:
    """RuntimeError where a process that is watched has been killed, or has ended with an error."""
    for pids in _workers.values():
        for pid in list(pids):
            try:
                found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # somebody has waited for it
                continue
            if found is None or (found.si_code == os.CLD_EXITED and found.si_status == 0):
                continue
            pids.clear()
            if found.si_code == os.CLD_EXITED:
                raise RuntimeError(
                    f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {found.si_status}. Details are lost due "
                    "to multiprocessing. Rerunning with num_workers=0 may give better error trace."
                )
            name = signal.strsignal(found.si_status)
            raise RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: {name}. ")


def _set_SIGCHLD_handler() -> None:
    """Look after the processes that are watched whenever a child of this process ends. In the main thread only."""
    global _SIGCHLD_handler_set
    if IS_WINDOWS or _SIGCHLD_handler_set or threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)

    def handler(number: int, frame: Any) -> None:
        _error_if_any_worker_fails()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCHLD, handler)
    _SIGCHLD_handler_set = True


def _set_worker_signal_handlers() -> None:
    """In a worker: nothing to do. A worker that dies is noticed by its loader."""
