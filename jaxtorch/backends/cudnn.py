"""`torch.backends.cudnn`: switches that programs set. They are kept and change nothing: XLA chooses the algorithms."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from .._switches import changed as _changed

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Always False: programs have no need to know whether XLA uses cuDNN."""
    return False


def version() -> int | None:
    """Always None, see `is_available`."""
    return None


@contextlib.contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int | None = 10, deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:  # fmt: skip
    """Context in which the switches have other values."""
    given = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32}
    with _changed(sys.modules[__name__], benchmark_limit=benchmark_limit, **given):
        yield
