"""`torch.profiler`: times of named parts of a program, on Python's clock and in JAX's traces.

Operations are recorded when Python calls them and run later, whole programs at a time, so times of single operations do not
exist. What is measured are the parts that `record_function` names, and the steps. `on_trace_ready` can write JAX's trace of
what ran (`tensorboard_trace_handler`), in which the programs and the named parts appear.
"""

from __future__ import annotations

import enum
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

from .._core.types.warn_once import once
from ..autograd.profiler import EventList, FunctionEvent, record_function, recorded, write_trace

__all__ = [
    "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "is_fbcode", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip

_CLEARED = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be reported. To keep "
    "events across cycles, set acc_events=True."
)


class ProfilerActivity(enum.Enum):
    """What is watched. All of them are: JAX's trace shows the host and the devices."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched."""
    return {ProfilerActivity.CPU, ProfilerActivity.CUDA}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What to do in each step: after `skip_first` steps, cycles of waiting, warming up and recording.

    repeat: how many cycles, 0 for any number. skip_first_wait: not 0 to leave out the first cycle's waiting.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            "Invalid profiler schedule arguments. Ensure wait >= 0, warmup >= 0, active > 0, repeat >= 0, skip_first >= 0."
        )
    if warmup == 0:
        import warnings

        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        cycle = wait + warmup + active
        if repeat > 0 and step / cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes what was recorded as a Chrome trace into a folder."""
    os.makedirs(dir_name, exist_ok=True)

    def handle(prof: profile) -> None:
        name = worker_name or f"{os.uname().nodename}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json"))

    return handle


class profile:
    """Context in which the parts named by `record_function`, and the steps, are timed.

    schedule: what to do in each step, as `schedule()` makes it. on_trace_ready: called with this object when a cycle of it is
    complete. acc_events: keep the events of earlier cycles. The other arguments are accepted: there are no times, shapes or memory
    of single operations to record.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self.profiler = None
        self._events: list[FunctionEvent] = []
        self._metadata: dict[str, Any] = {}
        self._step: Any = None
        self._scheduled = schedule is not None
        self.acc_events = acc_events
        self._cycles = 0

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        self.current_action = self.schedule(self.step_num)
        self._begin(ProfilerAction.NONE)

    def stop(self) -> None:
        """End the last step, and hand over what was recorded."""
        self._end()
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE) and self.on_trace_ready:
            self.on_trace_ready(self)
        self.current_action = ProfilerAction.NONE

    def step(self) -> None:
        """End a step and begin the next."""
        self._end()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready:
            self.on_trace_ready(self)
        self._begin(before)

    def _begin(self, before: ProfilerAction) -> None:
        if self.current_action is not ProfilerAction.NONE and before in (
            ProfilerAction.NONE,
            ProfilerAction.RECORD_AND_SAVE,
        ):
            self._cycles += 1
            if not self.acc_events:
                if self._cycles > 1:
                    once(_CLEARED)
                self._events = []
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            recorded.append(self._events)
            if self._scheduled:
                self._step = record_function(f"ProfilerStep#{self.step_num}")
                self._step.__enter__()

    def _end(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None
        recorded[:] = [events for events in recorded if events is not self._events]

    def events(self) -> list[FunctionEvent]:
        """The parts that were timed, in the order they ended."""
        return list(self._events)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **kwargs: Any) -> EventList:
        """The parts, summed by name; `.table()` prints them."""
        return EventList(self._events)

    def export_chrome_trace(self, path: str) -> None:
        """Write the parts as a trace that chrome://tracing and Perfetto show."""
        write_trace(path, self._events, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """NotImplementedError: no stacks are recorded."""
        raise NotImplementedError("torch.profiler.profile.export_stacks: jaxtorch records no stacks")

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a JSON value to the trace."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Add a JSON value to the trace, before it begins."""
        self.add_metadata_json(key, value)


class ExecutionTraceObserver:
    """Traces of execution graphs. NotImplementedError when it is registered."""

    def register_callback(self, output_file_path: str = os.path.join(tempfile.gettempdir(), "trace.json")) -> Any:
        """NotImplementedError."""
        raise NotImplementedError(
            "torch.profiler.ExecutionTraceObserver: jaxtorch writes no execution graphs; see jax.profiler"
        )


def is_fbcode() -> bool:
    """False."""
    return False


def kineto_available() -> bool:
    """False: PyTorch's own tracing library is not there."""
    return False
