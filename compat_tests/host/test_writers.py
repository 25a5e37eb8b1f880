"""Which way a program runs on the host, and that all of them give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxtorch as torch
from jaxtorch._core import native
from jaxtorch._core.host import small_code, writers
from jaxtorch._core.record import program
from jaxtorch._core.run import runner
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER
from jaxtorch._core.types.device import cpu

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs in immediate mode")
needs_c = pytest.mark.skipif(small_code.made_in_c is None, reason="the recorder was not built")
needs_kernels = pytest.mark.skipif(native.steps() is None, reason="the kernels were not built")

PROGRAMS: dict[str, tuple[str, Callable[[], Any]]] = {
    "tiny": ("SmallCall", lambda: torch.ones(4) * 2 + 1),
    "tiny layer": ("SmallCall", lambda: torch.nn.functional.linear(torch.ones(2, 8), torch.ones(8, 8)).relu()),
    "many numbers": ("HostCall", lambda: torch.tanh(torch.ones(900) * 0.5) + 1),
    "large layer": ("HostCall", lambda: torch.nn.functional.linear(torch.ones(16, 64), torch.ones(32, 64)).relu()),
    "whole numbers": ("SmallCall", lambda: torch.arange(900) * 2 + 1),
    "half precision": ("function", lambda: (torch.ones(4).half() * 2 + 1).exp()),
    "complex": ("function", lambda: torch.ones(4, dtype=torch.complex64) * 2 + 1),
    "few calls": ("SmallCall", lambda: torch.linalg.inv(torch.eye(3).double() * 2 + 1) * 2 - 1),
}


def run(f: Callable[[], Any]) -> tuple[np.ndarray[Any, Any], Any]:
    """The result of the last of many runs, and what has run it."""
    runner._structures.clear()
    cpu.slot.ran = None
    out: Any = None
    for _ in range(PROGRAM_WRITTEN_AFTER + 3):
        out = f()
        program.flush_all()
    return out.numpy(), next(
        s.call for s in runner._structures.values() if s.on_host and s.runs > PROGRAM_WRITTEN_AFTER
    )


@needs_c
@needs_kernels
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_way_that_takes_least_is_taken(name: str) -> None:
    way, f = PROGRAMS[name]
    assert type(run(f)[1]).__name__ == way


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_way_gives_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = PROGRAMS[name][1]
    expected = run(f)[0]
    with monkeypatch.context() as patch:
        patch.setattr(writers, "NATIVE_STEP", 0.0)
        np.testing.assert_allclose(run(f)[0], expected, rtol=1e-6)
        patch.setattr(small_code, "made_in_c", None)
        np.testing.assert_allclose(run(f)[0], expected, rtol=1e-6)
        patch.setattr(native, "steps", lambda: None)
        found, call = run(f)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert type(call).__name__ == "function"
