"""`torch.backends.mkldnn`: switches that programs set. They are kept and change nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from .._switches import changed as _changed

__all__ = ["deterministic", "enabled", "flags", "is_available"]

enabled = True
deterministic = False


def is_available() -> bool:
    """Always False: XLA brings its own kernels."""
    return False


@contextlib.contextmanager
def flags(enabled: bool = False, deterministic: bool = False) -> Iterator[None]:
    """Context in which the switches have other values."""
    with _changed(sys.modules[__name__], enabled=enabled, deterministic=deterministic):
        yield
