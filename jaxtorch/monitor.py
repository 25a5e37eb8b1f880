"""`torch.monitor`: events that programs log, and statistics over windows of time."""

from __future__ import annotations

import contextlib
import datetime
import enum
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "STAT_EVENT",
    "Aggregation",
    "Event",
    "EventHandlerHandle",
    "Stat",
    "TensorboardEventHandler",
    "data_value_t",
    "log_event",
    "register_event_handler",
    "unregister_event_handler",
]  # fmt: skip

STAT_EVENT = "torch.monitor.Stat"
data_value_t = int | float | bool | str


@dataclass
class Event:
    """Something that happened: a name, a time, and values (numbers, truth values, texts) by name."""

    name: str
    timestamp: datetime.datetime
    data: dict[str, Any] = field(default_factory=dict)


class EventHandlerHandle:
    """What `register_event_handler` gives, for `unregister_event_handler`."""

    def __init__(self, callback: Callable[[Event], None]) -> None:
        self._callback = callback


_handlers: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Call `callback(event)` for every event that is logged from now on."""
    handle = EventHandlerHandle(callback)
    _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Undo a registration."""
    with contextlib.suppress(ValueError):
        _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Hand an event to all handlers."""
    for handle in list(_handlers):
        handle._callback(event)


class Aggregation(enum.Enum):
    """What a `Stat` keeps of its values: the last, the mean, how many, the sum, the largest, the smallest."""

    VALUE = 1
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


_COMPUTED: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.VALUE: lambda v: v[-1],
    Aggregation.MEAN: lambda v: sum(v) / len(v),
    Aggregation.COUNT: lambda v: float(len(v)),
    Aggregation.SUM: lambda v: float(sum(v)),
    Aggregation.MAX: max,
    Aggregation.MIN: min,
}


class Stat:
    """Aggregates of the values added in each window of time; a window that ends is logged as an event.

    name: begins the keys of the event's data. window_size: a `timedelta`. max_samples: values of a window beyond so many are left
    out (all count by default). The window is looked at when a value is added, so the last one is not logged by itself.
    """

    def __init__(
        self, name: str, aggregations: Sequence[Aggregation], window_size: datetime.timedelta, max_samples: int = 2**62
    ) -> None:
        self.name = name
        self._aggregations, self._length, self._most = list(aggregations), window_size.total_seconds(), max_samples
        self._values: list[float] = []
        self._last: dict[Aggregation, float] = dict.fromkeys(self._aggregations, 0.0)
        self._window = self._number()

    def _number(self) -> int:
        return int(time.time() // self._length)

    @property
    def count(self) -> int:
        """How many values the open window has."""
        return len(self._values)

    def add(self, v: float) -> None:
        """Count a value; closes the window if its time is over."""
        self._close()
        if len(self._values) < self._most:
            self._values.append(float(v))

    def get(self) -> dict[Aggregation, float]:
        """The aggregates of the last window that has been closed; zeros before."""
        self._close()
        return dict(self._last)

    def _close(self) -> None:
        now = self._number()
        if now == self._window:
            return
        end, self._window = (self._window + 1) * self._length, now
        values, self._values = self._values, []
        if not values:
            return
        self._last = {a: _COMPUTED[a](values) for a in self._aggregations}
        data = {f"{self.name}.{a.name.lower()}": v for a, v in self._last.items()}
        log_event(Event(STAT_EVENT, datetime.datetime.fromtimestamp(end), data))


class TensorboardEventHandler:
    """A handler that writes the values of a `Stat`'s events with a `SummaryWriter`."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for k, v in event.data.items():
                self._writer.add_scalar(k, v, walltime=event.timestamp.timestamp())


class _WaitCounter:
    """Times how long is waited inside `guard()`, which nothing collects here."""

    def __init__(self, key: str) -> None:
        self.key = key

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Context of the waiting."""
        yield
