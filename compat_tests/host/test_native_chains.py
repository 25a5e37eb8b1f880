"""Long elementwise programs that prepare data run block by block in the kernels, or on NumPy in the memory of their operands."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from jaxtorch._core import native
from jaxtorch._core.host import native_code, small_code, tiering
from jaxtorch._core.record import program
from jaxtorch._core.run import runner
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER
from jaxtorch._core.types.device import cpu

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs in immediate mode")
needs_kernels = pytest.mark.skipif(native.steps() is None, reason="the kernels were not built")


def image(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(len(shape)).integers(0, 256, shape, dtype=np.uint8)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) + 2


def prepared(f: Callable[..., Any], *arrays: Any) -> tuple[list[Any], list[Any]]:
    """The results of the last of many runs of a program that prepares data, and the plans that have become the host's."""
    runner._structures.clear()
    cpu.slot.ran = None
    inputs, outs = [torch.tensor(a) for a in arrays], []
    for _ in range(PROGRAM_WRITTEN_AFTER + 3):
        outs = f(torch, *inputs)
        with tiering.patience():
            program.flush_all()
    plans = [s.plan for s in runner._structures.values() if s.on_host]
    return [*outs] if isinstance(outs, tuple) else [outs], plans


def same(f: Callable[..., Any], *arrays: Any) -> Any:
    """PyTorch's numbers; returns the plan that the kernels run."""
    outs, plans = prepared(f, *arrays)
    expected = f(pytorch, *map(pytorch.tensor, arrays))
    for x, y in zip(outs, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=2e-6, atol=2e-6)
    return plans[-1] if plans else None


def chains(plan: Any) -> list[int]:
    """How many steps each chain has."""
    writer = native_code._Writer(plan)
    made = writer.program()
    first, words = 6 + made[0] + made[1], native_code._WORDS
    found, step = [], 0
    while step < made[2]:
        found.append(int(made[first + step * words + 1]))
        step += found[-1]
    return found


MEAN, STD = [np.float32([a, b, c]).reshape(3, 1, 1) for a, b, c in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]


@needs_kernels
def test_an_image_is_scaled_and_normalised():
    plan = same(lambda t, x, m, s: (x.float().div(255) - m) / s, image(3, 50, 47), MEAN, STD)
    assert chains(plan) == [4]  # with the result made where it belongs


@needs_kernels
@pytest.mark.parametrize("shape", [(2048,), (3, 1025), (5, 3, 31, 33), (1, 4096), (4096, 1), (2, 1, 3, 1024)])
def test_shapes(shape: tuple[int, ...]):
    row, column = floats(*shape[-1:]), floats(*shape[:-1], 1) if len(shape) > 1 else floats(1)
    plan = same(
        lambda t, x, y, r, c: ((x * 2 + r) / c - y).abs().sqrt() * x, floats(*shape), floats(*shape), row, column
    )
    assert max(chains(plan)) >= 5


@needs_kernels
@pytest.mark.parametrize("shape", [(65536,), (3, 224, 224), (2, 17, 1025), (3, 40000), (70000, 3)])
def test_two_threads_share_long_chains(shape: tuple[int, ...]):
    """The parts of a result meet wherever a thread's share ends, whether the other thread slept before or looked for work."""
    x, column = floats(*shape), floats(*shape[:-1], 1) if len(shape) > 1 else floats(1)

    def several(t: Any, x: Any, c: Any) -> Any:
        a = x * c - 1
        return (a / c + x).abs(), a

    for pause in (0, 0.01):
        time.sleep(pause)
        assert max(chains(same(several, x, column))) > 2


FORKED = """
import os, jaxtorch as torch
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program
x = torch.arange(200000.0)
def run():
    for _ in range(PROGRAM_WRITTEN_AFTER + 3):
        y = (x * 2 + 1) / 3 - x
        with tiering.patience():
            program.flush_all()
    return y.numpy().tobytes()
first = run()
child = os.fork()
if child == 0:
    os._exit(0 if run() == first else 1)
assert os.waitpid(child, 0)[1] == 0
assert run() == first
"""


@needs_kernels
def test_forked_processes_have_one_thread(run_python: Callable[..., Any]):
    run_python("-c", FORKED)


@needs_kernels
def test_bytes_are_read_as_views():
    assert same(lambda t, x: x.permute(2, 0, 1).float().div(255) * 2 - 1, image(40, 52, 3)) is not None
    assert same(lambda t, x: x[:, 3:47, ::2].float() * 0.5 + 1, image(3, 50, 60)) is not None


@needs_kernels
def test_what_others_read_is_made_whole():
    """A result of the program, an operand that is read turned, and one that is read by a later chain."""

    def several(t: Any, x: Any, y: Any) -> Any:
        a = x * 2 + 1
        b = a / y
        return a, b - 3, (b * y).relu()

    plan = same(several, floats(60, 60), floats(60, 60))
    assert max(chains(plan)) > 2
    same(lambda t, x: (x + 1).t() * x + (x + 1), floats(60, 60))
    same(lambda t, x: ((x + 1) * 2)[5:50] - (x * x)[:45], floats(60, 60))
    same(lambda t, x: ((x + 1) * 2).view(50, 72).t().exp().view(72, 50) - 1, floats(60, 60).clip(-2, 2))


@needs_kernels
def test_functions_in_a_chain():
    def f(t: Any, x: Any, y: Any) -> Any:
        z = t.where(x > y, x.exp(), y.tanh()) + (x <= 2).float() * t.maximum(x, y).sigmoid()
        return z.clamp(-1, 3).sin() - t.minimum(x, y).cos()

    plan = same(f, floats(7, 999), floats(7, 999))
    assert plan is None or max(chains(plan)) > 2


@needs_kernels
def test_other_uses_of_bytes_are_left_to_numpy():
    for f in (lambda t, x: (x + 1) * 2, lambda t, x: (x > 100).float() + 1, lambda t, x: (x.float().sum(0) + 1) * 2):
        outs, _ = prepared(f, image(3, 40, 41))
        np.testing.assert_allclose(outs[0].numpy(), f(pytorch, pytorch.tensor(image(3, 40, 41))).numpy(), rtol=1e-6)


def test_numpy_computes_what_there_are_no_steps_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "steps", lambda: None)
    monkeypatch.setattr(small_code, "made_in_c", None)
    monkeypatch.setattr(tiering, "are_small", lambda kernels: True)

    def several(t: Any, x: Any, y: Any) -> Any:
        a = x * 2 + 1
        b = (a / y - 3).exp()
        return a, b, (b + y) * b, b.view(-1)[::2] + 0

    same(several, floats(70, 70), floats(70, 70))
    same(lambda t, x, m, s: (x.float().div(255) - m) / s, image(3, 50, 47), MEAN, STD)
    same(lambda t, x: (x + 1).view(70, 70).t() * (x + 1).view(70, 70) - (x + 1).view(70, 70).t(), floats(4900))


def test_inputs_stay_as_they_are():
    x = torch.tensor(floats(60, 60))
    before = x.clone().numpy()
    for _ in range(PROGRAM_WRITTEN_AFTER + 3):
        y = ((x - 1) * 2).abs()
        with tiering.patience():
            program.flush_all()
    np.testing.assert_array_equal(x.numpy(), before)
    np.testing.assert_allclose(y.numpy(), np.abs((before - 1) * 2), rtol=1e-6)
