"""`torch.cuda.profiler`: NVIDIA's profiler, started and stopped by the program. `jax.profiler` is the one for XLA's programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .. import cuda as _cuda

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """AssertionError without a GPU; with one nothing to do, as JAX's own profiler is started by `jax.profiler`."""
    _cuda.init()


def stop() -> None:
    """As `start`."""
    _cuda.init()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Context between `start` and `stop`."""
    start()
    try:
        yield
    finally:
        stop()
