"""`torch._dynamo.utils`."""

from __future__ import annotations

import functools
import warnings
from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: str) -> bool:
    """Does `torch.compile` work on this kind of device? It does on all that jaxtorch knows."""
    return device_type in ("cpu", "cuda", "xla")


def is_fake(value: Any) -> bool:
    """Is it a tensor without content, of a graph being captured? Never."""
    return False


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn of it, at the caller's line, the first time only."""
    warnings.warn(msg, stacklevel=stacklevel + 1)
