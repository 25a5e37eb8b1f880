"""Scratch memory of small programs: used again once nothing needs what lies in it, and bounded for the process."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import torch as pytorch
from test_small_code import RUNS, ran

import jaxtorch as torch
from jaxtorch._core.host import native_code, small_code, small_memory
from jaxtorch._core.host.small_memory import Blocks
from jaxtorch._core.record import program
from jaxtorch._core.run import runner

pytestmark = [
    pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs in immediate mode"),
    pytest.mark.skipif(small_code.made_in_c is None, reason="the recorder was not built"),
]


@pytest.fixture(autouse=True)
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_code, "written", lambda plan, passes_only=False: None)


def drawn_program(seed: int) -> Any:
    """Steps over a pool of 4x6 and 6x4 matrices, of which some are forgotten on the way and the rest are results."""

    def run(t: Any, x: Any) -> list[Any]:
        rng = np.random.default_rng(seed)
        pool = [x * 1, x + 2, x.T * 3]
        for _ in range(40):
            a = pool[rng.integers(len(pool))]
            b = pool[rng.integers(len(pool))]
            b = b if b.shape == a.shape else b.T
            match rng.integers(12):
                case 0:
                    made = a + b
                case 1:
                    made = a * 0.5 - b
                case 2:
                    made = a.T
                case 3:
                    made = t.cat([a[:2], b[2:]])
                case 4:
                    made = a.flip(1) + 1
                case 5:
                    made = a.sort(1)[0]
                case 6:
                    made = (a - b).cumsum(0) * 0.25
                case 7:
                    made = t.where(a > b, a, -b)
                case 8:
                    made = a.reshape(-1)[t.arange(23, -1, -1)].reshape(a.shape)
                case 9:
                    made = a - a.sum(1, keepdim=True) / 6
                case 10:
                    made = (a @ b.T)[:, :1] * 0.1 + b
                case _:
                    made = a.double().round().float() + b
            pool.append(made.tanh() if rng.random() < 0.3 else made.clamp(-4, 4))
            while len(pool) > 5:
                pool.pop(rng.integers(len(pool)))
        return pool

    return run  # fmt: skip


@pytest.mark.parametrize("seed", range(25))
def test_memory_that_is_used_again(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((4, 6)).astype(np.float32)
    f = drawn_program(seed)
    outs, calls = ran(f, x)
    assert any(type(call) is small_code.made_in_c.SmallCall for call in calls)
    for ours, theirs in zip(outs, f(pytorch, pytorch.tensor(x)), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-5, atol=2e-5)


def test_a_recurrence_needs_no_more_memory_the_longer_it_is() -> None:
    def used(length: int) -> int:
        def f(t: Any, x: Any) -> Any:
            h = x * 1
            for _ in range(length):
                h = (h * 0.9 + x).tanh().flip(0)
            return h

        outs, _ = ran(f, np.ones((8, 8), np.float32))
        np.testing.assert_allclose(outs[0].numpy(), f(pytorch, pytorch.ones(8, 8)).numpy(), rtol=1e-5)
        (plan,) = [s.plan for s in runner._structures.values() if s.on_host]
        writer = small_code._Writer(plan)
        writer.call(lambda arrays: [])
        return writer.memory.used

    assert used(60) < 2 * used(6)


@pytest.mark.usefixtures("few_objects")
def test_all_programs_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    before = small_memory._held[0]
    made = small_memory.held_memory(1000)
    assert small_memory._held[0] == before + 1000
    del made
    gc.collect()
    assert small_memory._held[0] <= before
    monkeypatch.setattr(small_memory, "SMALL_SCRATCH_IN_ALL", 0)
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    outs, calls = ran(lambda t, x: (x * 2).cumsum(0).long() + 1, x)
    assert calls and not any(type(call) is small_code.made_in_c.SmallCall for call in calls)
    assert outs[0].tolist() == ((x * 2).cumsum(0).astype(int) + 1).tolist()
    y = torch.tensor(x)
    for _ in range(RUNS):
        assert (y * 2).sum().item() == 132


def test_blocks() -> None:
    blocks = Blocks()
    a, kept = blocks.take(100, False), blocks.take(100, True)
    blocks.hold(a)
    blocks.sweep()
    assert blocks.take(100, False) not in (a, kept)
    blocks.sweep()  # nothing lies in that one
    b = blocks.take(97, False)
    assert b not in (a, kept) and blocks.used == 3 * 112
    blocks.hold(b + 50)
    blocks.release(b + 50)
    blocks.sweep()
    blocks.release(a)
    assert {blocks.take(100, False), blocks.take(100, False)} == {a, b} and blocks.used == 3 * 112
