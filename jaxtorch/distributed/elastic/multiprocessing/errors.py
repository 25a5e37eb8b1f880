"""`torch.distributed.elastic.multiprocessing.errors`: what the launcher says of processes that have failed."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "record"]

T = TypeVar("T")


class ChildFailedError(Exception):
    """Processes of a launcher have failed. failures: (exit status, process id, time) by rank, the first to fail first."""

    def __init__(self, name: str, failures: dict[int, Any]) -> None:
        self.name = name
        self.failures = failures
        super().__init__(self._text())

    def get_first_failure(self) -> tuple[int, Any]:
        """(rank, what is known of it) of the process that failed first."""
        return next(iter(self.failures.items()))

    def _text(self) -> str:
        lines = ["", "=" * 60, f"{self.name} FAILED", "-" * 60]
        for k, (rank, (status, pid, when)) in enumerate(self.failures.items()):
            if k < 2:
                lines.append("Root Cause (first observed failure):" if k == 0 else "Other Failures:")
            said = f" ({signal.Signals(-status).name})" if status < 0 else ""
            lines += [
                f"[{k}]:",
                f"  time      : {when}",
                f"  rank      : {rank}",
                f"  exitcode  : {status}{said} (pid: {pid})",
            ]
        return "\n".join([*lines, "=" * 60])


def record(fn: Callable[..., T], error_handler: Any = None) -> Callable[..., T]:
    """The function as it is: a process's traceback is what the process itself prints."""

    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> T:
        return fn(*args, **kwargs)

    return recorded
