"""`torch.profiler.itt`: marks for Intel's profiler, which jaxtorch does not set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """Always False: jaxtorch sets no such marks."""
    return False


def _missing() -> NoReturn:
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


def range_push(msg: str) -> NoReturn:
    """RuntimeError: see `is_available`."""
    _missing()


def range_pop() -> NoReturn:
    """RuntimeError: see `is_available`."""
    _missing()


def mark(msg: str) -> NoReturn:
    """RuntimeError: see `is_available`."""
    _missing()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """RuntimeError: see `is_available`."""
    range_push(msg.format(*args, **kwargs))
    yield
