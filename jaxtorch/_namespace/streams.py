"""`torch.Stream` and `torch.Event`: queues of work and points in them, on an accelerator or (without effect) on the CPU."""

from __future__ import annotations

import time
from typing import Any

from .._core.types.device import default_device, jax_devices
from .._core.types.device import device as _device
from . import accelerators as _shared


def _place(d: Any, what: str) -> _device:
    """The device meant: with None, the accelerator if there is one, otherwise the CPU."""
    if d is None:
        kind = next((k for k in ("cuda", "xla") if jax_devices(k)), default_device().type)
        return _device("cpu") if kind in ("cpu", "meta") else _device(kind, 0)
    found = _device(d)
    if found.type == "cpu":
        return _device("cpu")
    if not jax_devices(found.type):
        raise RuntimeError(f"{what} requires {found.type.upper()} support: JAX sees no device of this kind")
    _shared.jax_device(found.type, found.index or 0)
    return _device(found.type, found.index or 0)


class Stream:
    """A queue of work on a device. All streams of a device are one: operations see each other in program order."""

    __module__ = "jaxtorch"

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _place(device, "Stream")
        self.device_index = -1 if self.device.index is None else self.device.index
        self.priority, self.stream_id = priority, 0

    def synchronize(self) -> None:
        """Wait for the device."""
        _shared.synchronize(self.device.type, max(self.device_index, 0))

    def query(self) -> bool:
        """Has all work been done? Waits for it, so True."""
        self.synchronize()
        return True

    def is_capturing(self) -> bool:
        """Is a graph being captured? None ever is."""
        return False

    def wait_stream(self, stream: Stream) -> None:
        """Nothing to do: operations see each other in program order."""

    def wait_event(self, event: Event) -> None:
        """Nothing to do: operations see each other in program order."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event (a new one unless given)."""
        event = Event(self.device) if event is None else event
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

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id=0"


class Event:
    """A point in the work of a device. Unlike in PyTorch, `record` waits for what was recorded before it."""

    __module__ = "jaxtorch"

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.device = _place(device, "Event")
        self.enable_timing = enable_timing
        self.event_id = 0
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Wait for the device and keep the time. RuntimeError on the CPU, as in PyTorch."""
        where = self.device if stream is None else stream.device
        if where.type == "cpu":
            raise RuntimeError("cpu backend doesn't support events.")
        _shared.synchronize(where.type, where.index or 0)
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

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        flag = int(self.enable_timing)
        return f"torch.Event device_type={self.device.type}, device_index={index}, event_flag={flag}, event_id=0"
