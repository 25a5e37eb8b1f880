"""Streams and events of `torch.cuda`. XLA orders the work of a device by what it needs, so a stream changes nothing;
an event waits for the work recorded before it, and so measures its time."""

from __future__ import annotations

from typing import Any

from .._core.types.device import device as _device
from .._namespace import accelerators as _shared
from .._namespace.streams import Event as _Event
from .._namespace.streams import Stream as _Stream

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]


class Stream(_Stream):
    """A queue of work on a GPU. All streams of a device are one: operations see each other in program order."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        super().__init__(_device("cuda", _shared.index_of(device)), priority=priority)


class Event(_Event):
    """A point in the work of a GPU. Unlike in PyTorch, `record` waits for what was recorded before it."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        super().__init__(_device("cuda", 0), enable_timing=enable_timing)


class StreamContext:
    """Context in which a stream is the current one."""

    __module__ = "jaxtorch.cuda"

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


def stream(stream: Stream | None) -> StreamContext:
    """Context in which a stream is the current one; None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The stream of a device."""
    _shared.jax_device("cuda", 0)
    return Stream(device)


def default_stream(device: Any = None) -> Stream:
    """The stream of a device."""
    _shared.jax_device("cuda", 0)
    return Stream(device)


def set_stream(stream: Stream | None) -> None:
    """Nothing to do: all streams of a device are one."""
