"""Recorded programs of jaxtorch run by NumPy, kernel by kernel: nothing is compiled, so that thousands of short programs with
ever new shapes can be checked. All of the engine but XLA is in use: recording, flushing, liveness, tracing of the kernels.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxtorch._core.record import host_kernels
from jaxtorch._core.run import runner
from jaxtorch._core.types.device import DeviceSlot


def _run_steps(slot: DeviceSlot, plan: runner.Plan, arrays: list[Any], cheap: bool) -> list[Any]:
    held: list[Any] = [None] * plan.n_slots
    for s, array, aval in zip(plan.input_slots, arrays, plan.input_avals, strict=True):
        held[s] = np.asarray(array, aval.dtype.np)
    for kernel, slots, first in plan.steps:
        outs = host_kernels.evaluate(kernel, [held[s] for s in slots])
        for k, (out, aval) in enumerate(zip(outs, kernel.out_avals, strict=True)):
            held[first + k] = np.array(out, aval.dtype.np)
    return [held[s] for s in plan.live]


@contextlib.contextmanager
def on_numpy() -> Iterator[None]:
    """Context in which programs are run by NumPy, however often they come."""
    before = runner._run_steps, runner.WHOLE_AFTER
    runner._run_steps, runner.WHOLE_AFTER = _run_steps, 1 << 60
    try:
        yield
    finally:
        runner._run_steps, runner.WHOLE_AFTER = before
