"""`torch.backends.mkl`: jaxtorch does not use MKL itself."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "verbose"]

VERBOSE_OFF, VERBOSE_ON = 0, 1


class verbose(contextlib.nullcontext[Any]):
    """Context in which MKL would say what it does: nothing does."""

    def __init__(self, enable: int) -> None:
        super().__init__(self)
        self.enable = enable


def is_available() -> bool:
    """Always False: XLA brings its own kernels."""
    return False
