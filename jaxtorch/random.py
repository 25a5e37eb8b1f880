"""`torch.random`: the state of the default generators."""

from __future__ import annotations

import contextlib
from collections.abc import Generator as _Iterator
from typing import Any

from ._core.random import generator as _random
from ._core.random.generator import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from ._core.types.device import device as _device

__all__ = [
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]

_ = default_generator  # PyTorch has it here too, without exporting it


def thread_safe_generator() -> _random.Generator | None:
    """The generator of the worker thread of a DataLoader that calls; None elsewhere, and always here: workers are processes."""
    return None


@contextlib.contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> _Iterator[None]:  # fmt: skip
    """On leaving, set the default generators (of the CPU and of the devices in use, or of those named) back to their state
    on entry. Unlike in PyTorch, leaving out `devices` covers every device that has drawn, without a warning."""
    if not enabled:
        yield
        return
    named = (
        _random._others.values()
        if devices is None
        else [
            _random.generator_of(_device(device_type, d).slot if isinstance(d, int) else _device(d).slot)
            for d in devices
        ]
    )
    states = [(g, g.get_state()) for g in (default_generator, *named)]
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)
