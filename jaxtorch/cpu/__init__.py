"""`torch.cpu`: the functions that accelerators have, for the CPU."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .._namespace import accelerators as _shared
from . import amp
from ._capabilities import get_capabilities
from ._capabilities import has as _has

__all__ = [
    "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count", "get_capabilities",
    "is_available", "is_initialized",
    "set_device", "stream", "synchronize",
]  # fmt: skip


class Stream:
    """Stands for the only stream of the CPU."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Nothing to do: there is one stream."""


_current = Stream()


def is_available() -> bool:
    """Always."""
    return True


def is_initialized() -> bool:
    """Always."""
    return True


def synchronize(device: Any = None) -> None:
    """Run what is pending on the CPU, wait for it, and raise what it has flagged."""
    _shared.synchronize("cpu", 0)


def current_stream(device: Any = None) -> Stream:
    """The only stream."""
    return _current


class StreamContext(AbstractContextManager):
    """Does nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __exit__(self, *exc: Any) -> None:
        pass


def stream(stream: Any) -> StreamContext:
    """A context that does nothing."""
    return StreamContext(stream)


def device_count() -> int:
    """1."""
    return 1


def set_device(device: Any) -> None:
    """Nothing to do: there is one CPU."""


def current_device() -> str:
    """'cpu'."""
    return "cpu"


def _is_avx2_supported() -> bool:
    return _has("avx2")


def _is_avx512_supported() -> bool:
    return all(map(_has, ("avx512_f", "avx512_vl", "avx512_bw", "avx512_dq")))


def _is_avx512_bf16_supported() -> bool:
    return _has("avx512_bf16")


def _is_vnni_supported() -> bool:
    return _has("avx512_vnni")


def _is_amx_tile_supported() -> bool:
    return _has("amx_tile")


def _is_amx_fp16_supported() -> bool:
    return _has("amx_fp16")
