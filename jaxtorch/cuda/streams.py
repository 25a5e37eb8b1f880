"""Streams and events of `torch.cuda`. XLA orders the work of a device by what it needs, so a stream changes nothing;
an event waits for the work recorded before it, and so measures its time."""

from __future__ import annotations

import time
from typing import Any

from .. import _accelerators as _shared
from .._core.device import device as _device

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]


class Stream:
    """A queue of work on a GPU. All streams of a device are one: operations see each other in program order."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        index = _shared.index_of(device)
        _shared.jax_device("cuda", index)
        self.device, self.device_index, self.priority = _device("cuda", index), index, priority

    def synchronize(self) -> None:
        """Wait for the device."""
        _shared.synchronize("cuda", self.device_index)

    def query(self) -> bool:
        """Has all work been done? Waits for it, so True."""
        self.synchronize()
        return True

    def wait_stream(self, stream: Stream) -> None:
        """Nothing to do: operations see each other in program order."""

    def wait_event(self, event: Event) -> None:
        """Nothing to do: operations see each other in program order."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event (a new one unless given)."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device is self.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


class Event:
    """A point in the work of a GPU. Unlike in PyTorch, `record` waits for what was recorded before it."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        _shared.jax_device("cuda", 0)
        self.enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Wait for the device and keep the time."""
        _shared.synchronize("cuda", 0 if stream is None else stream.device_index)
        self._time = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing to do: `record` has waited."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing to do: `record` has waited."""

    def query(self) -> bool:
        """Has the work before it been done? Yes: `record` has waited."""
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1e3


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
    return Stream(device)


def default_stream(device: Any = None) -> Stream:
    """The stream of a device."""
    return Stream(device)


def set_stream(stream: Stream | None) -> None:
    """Nothing to do: all streams of a device are one."""
