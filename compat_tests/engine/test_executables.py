"""A process that compiles ever more stays below the number of mapped pieces of memory that Linux allows it."""

from __future__ import annotations

import sys
import textwrap

import pytest

from conftest import Run

TEXT = """
    import jax, jaxtorch as torch
    from jaxtorch._core.host import tiering
    from jaxtorch._core.run import executable_limit
    tiering.RUNS, executable_limit.EXECUTABLES_COUNTED = 0, 20
    net = torch.nn.Linear(2, 2)
    step = torch.compile(lambda x: net(x).sum())
    theirs = jax.jit(lambda x: x + 1)
    first = [step(torch.ones(3, 2)).item() for _ in range(4)][-1]
    start = executable_limit.in_use()
    executable_limit.MAPS_SHARE, most = start * 1.1, 0.0
    for n in range(1, 60):
        x = torch.arange(float(n))
        assert (x * 2 + 1).sum().item() == n * n
        most = max(most, executable_limit.in_use())
    assert start < most < start * 1.3, (start, most)
    assert step(torch.ones(3, 2)).item() == first and theirs(1) == 2
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_room_is_made_before_there_are_too_many(run_python: Run):
    run_python("-c", textwrap.dedent(TEXT))
