"""`torch.cuda.nvtx`: marks for NVIDIA's profiler, put into JAX's traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..autograd.profiler import record_function

__all__ = ["mark", "range", "range_pop", "range_push"]

_open: list[Any] = []


def range_push(msg: str) -> int:
    """Begin a named part; its depth."""
    part = record_function(msg)
    part.__enter__()
    _open.append(part)
    return len(_open) - 1


def range_pop() -> int:
    """End the part that was begun last; its depth."""
    if not _open:
        return -1
    _open.pop().__exit__(None, None, None)
    return len(_open)


def mark(msg: str) -> None:
    """A point in time."""
    with record_function(msg):
        pass


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Context (and decorator) of a named part. The arguments fill the text in."""
    with record_function(msg.format(*args, **kwargs)):
        yield
