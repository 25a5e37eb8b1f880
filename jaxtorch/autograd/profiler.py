"""`torch.autograd.profiler`: named parts of a program and their times."""

from __future__ import annotations

import functools
import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax

__all__ = ["EventList", "FunctionEvent", "emit_itt", "emit_nvtx", "profile", "record_function"]

recorded: list[list[FunctionEvent]] = []
"""Where the profilers that are on collect their events."""


@dataclass
class FunctionEvent:
    """A part of a program, and when it ran. Times in microseconds."""

    name: str
    start_us: float
    cpu_time_total: float
    thread: int
    self_cpu_time_total: float = 0.0
    count: int = 1

    @property
    def key(self) -> str:
        """Its name."""
        return self.name

    @property
    def cpu_time(self) -> float:
        """The time of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0


class FunctionEventAvg(FunctionEvent):
    """Parts of one name together."""

    __module__ = "jaxtorch.autograd.profiler_util"

    def __repr__(self) -> str:
        times = f"self_cpu_time={_time(self.self_cpu_time_total)} cpu_time={_time(self.cpu_time)}"
        return (
            f"<FunctionEventAvg key={self.name} {times}  self_cuda_time=0.000us cuda_time=0.000us input_shapes=None "
            "cpu_memory_usage=0 cuda_memory_usage=0>"
        )


class _Stack(threading.local):
    def __init__(self) -> None:
        self.inner: list[float] = []


_stack = _Stack()


class record_function:
    """Context (or decorator) that gives a part of a program a name, in profiles of `torch.profiler` and of `jax.profiler`.

    Measured is the time that Python takes; what is recorded in there may run later.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> record_function:
        self._annotation = jax.profiler.TraceAnnotation(self.name)
        self._annotation.__enter__()
        _stack.inner.append(0.0)
        self._start = time.perf_counter_ns()
        return self

    def __exit__(self, *exc: Any) -> None:
        spent = (time.perf_counter_ns() - self._start) / 1000
        self._annotation.__exit__(None, None, None)
        inner = _stack.inner.pop()
        if _stack.inner:
            _stack.inner[-1] += spent
        for events in recorded:
            events.append(
                FunctionEvent(self.name, self._start / 1000, spent, threading.get_ident(), max(spent - inner, 0.0))
            )

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return fn(*args, **kwargs)

        return named


class EventList(list):
    """Events summed by name. The other arguments are PyTorch's, of devices and what it measures there."""

    __module__ = "jaxtorch.autograd.profiler_util"

    def __init__(
        self, events: Iterable[FunctionEvent] = (), *, use_device: str | None = None, profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:  # fmt: skip
        found: dict[str, FunctionEventAvg] = {}
        for e in events:
            if e.name not in found:
                found[e.name] = FunctionEventAvg(e.name, e.start_us, 0.0, e.thread, 0.0, 0)
            total = found[e.name]
            total.cpu_time_total += e.cpu_time_total
            total.self_cpu_time_total += e.self_cpu_time_total
            total.count += 1
        super().__init__(found.values())

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all parts, each without the parts inside."""
        return sum(e.self_cpu_time_total for e in self)

    def total_average(self) -> FunctionEventAvg:
        """All of them as one event."""
        return FunctionEventAvg(
            "Total", 0.0, sum(e.cpu_time_total for e in self), 0, self.self_cpu_time_total, sum(e.count for e in self)
        )

    def table(self, sort_by: str | None = None, row_limit: int = 100, header: str | None = None, **kwargs: Any) -> str:
        """A table as text, sorted by an attribute of the events such as 'cpu_time_total'; empty without events."""
        if not self:
            return ""
        rows = list(self)
        if sort_by is not None:
            key = sort_by if rows and hasattr(rows[0], sort_by) else "cpu_time_total"
            rows.sort(key=lambda e: getattr(e, key), reverse=True)
        rows = rows[:row_limit]
        width = max([len(e.name) for e in rows] + [4])
        titles = ("Name", "Self CPU", "CPU total", "CPU time avg", "# of Calls")
        line = "  ".join(["-" * width, *["-" * 12] * 4])
        text = [line, "  ".join([titles[0].rjust(width), *[t.rjust(12) for t in titles[1:]]]), line]
        for e in rows:
            cells = [_time(e.self_cpu_time_total), _time(e.cpu_time_total), _time(e.cpu_time), str(e.count)]
            text.append("  ".join([e.name.rjust(width), *[c.rjust(12) for c in cells]]))
        text += [line, f"Self CPU time total: {_time(self.self_cpu_time_total)}", ""]
        return "\n".join(([header] if header else []) + text)

    def __str__(self) -> str:
        return self.table()


def write_trace(path: str, events: Iterable[FunctionEvent], metadata: dict[str, Any]) -> None:
    """Write events as a trace that chrome://tracing and Perfetto show."""
    shown = [
        {"ph": "X", "cat": "user_annotation", "name": e.name, "pid": os.getpid(), "tid": e.thread, "ts": e.start_us,
         "dur": e.cpu_time_total, "args": {}}
        for e in events
    ]  # fmt: skip
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": shown, **metadata}, file)


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class profile:
    """The old profiler: a context in which named parts are timed. See `torch.profiler.profile`."""

    def __init__(self, enabled: bool = True, **kwargs: Any) -> None:
        self.enabled = enabled
        self.function_events: list[FunctionEvent] = []

    def __enter__(self) -> profile:
        if self.enabled:
            recorded.append(self.function_events)
        return self

    def __exit__(self, *exc: Any) -> None:
        recorded[:] = [events for events in recorded if events is not self.function_events]

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """The parts, summed by name."""
        return EventList(self.function_events)

    def export_chrome_trace(self, path: str, metadata: dict[str, Any] | None = None) -> None:
        """Write the parts as a trace that chrome://tracing and Perfetto show."""
        write_trace(path, self.function_events, metadata or {})

    def total_average(self) -> FunctionEventAvg:
        """All parts as one event."""
        return self.key_averages().total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The parts as a table."""
        return self.key_averages().table(*args, **kwargs)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all parts."""
        return self.key_averages().self_cpu_time_total


class emit_itt:
    """Context for Intel's profiler, for which jaxtorch sets no marks."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self) -> emit_itt:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


class emit_nvtx:
    """Context for NVIDIA's profiler; JAX marks its programs by itself."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass
