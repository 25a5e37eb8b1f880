"""`torch._dynamo.utils`."""

from __future__ import annotations

import collections
import contextlib
import functools
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from . import config

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: str) -> bool:
    """Does `torch.compile` work on this kind of device? It does on all that jaxtorch knows."""
    return device_type in ("cpu", "cuda", "xla")


counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
"""What PyTorch's compiler counts, by kind and name. Nothing is counted here."""


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """Context in which a function may be captured anew as often as it takes."""
    with config.patch(  # pyright: ignore[reportAttributeAccessIssue]
        recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize
    ):
        yield


def is_fake(value: Any) -> bool:
    """Is it a tensor without content, of a graph being captured? Never."""
    return False


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn of it, at the caller's line, the first time only."""
    warnings.warn(msg, stacklevel=stacklevel + 1)
