"""`torch.backends.cudnn`: switches that programs set. Only `allow_tf32` changes something: XLA chooses the algorithms."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator

from .._core import context as _context
from .._switches import changed as _changed

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32: bool


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


class _Module(types.ModuleType):
    @property
    def allow_tf32(self) -> bool:
        """May GPUs compute float32 convolutions in TF32? True, as in PyTorch."""
        return _context._Precision.convolutions_in_tf32

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        _context.set_convolutions_in_tf32(bool(value))


sys.modules[__name__].__class__ = _Module
