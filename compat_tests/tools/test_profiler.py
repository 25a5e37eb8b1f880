"""`torch.profiler`: when traces are ready, and what the profiler says of itself then."""

from __future__ import annotations

from typing import Any

import pytest

from parity import parity_test


@pytest.mark.filterwarnings("ignore:.*Profiler.*:UserWarning")
@parity_test
def test_when_traces_are_ready(torch: Any) -> Any:
    profiler = torch.profiler
    seen: list[Any] = []
    for settings in (
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 0, "active": 1, "repeat": 2},
        {"skip_first": 1, "wait": 1, "warmup": 0, "active": 1},
    ):

        def ready(p: Any) -> None:
            seen.append((p.step_num, p.current_action.name, any("mine" in e.key for e in p.key_averages())))

        made = profiler.schedule(**settings)
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU], schedule=made, on_trace_ready=ready) as p:
            for _ in range(6):
                with profiler.record_function("mine"):
                    torch.ones(2) + 1
                p.step()
        seen.append(p.step_num)
    return seen
