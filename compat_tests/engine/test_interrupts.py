"""Ctrl-C and full stacks: what was there before is there after, and the program goes on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jaxtorch as torch
from jaxtorch._compile.replaying import Replay
from jaxtorch._core.define import op as _op
from jaxtorch._core.define.op import Array
from jaxtorch._core.record import program
from jaxtorch._core.run import interrupts, log, runner


@pytest.fixture(autouse=True)
def _python_s_own_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _training() -> tuple[torch.nn.Module, Callable[[], Any]]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 4)
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    x, y = torch.randn(128, 16), torch.randint(0, 4, (128,))

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, step


recorded = pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs")


@recorded
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_model_survives_ctrl_c(compiled: bool, late: bool, monkeypatch: pytest.MonkeyPatch):
    model, step = _training()
    step = torch.compile(step) if compiled else step
    losses = [step().item() for _ in range(6)]
    owner, name = (Replay, "_alone") if compiled else (program, "_run")
    run = getattr(owner, name)

    def pressed(*args: Any) -> Any:
        if not late:
            signal.raise_signal(signal.SIGINT)
        result = run(*args)
        if late:
            signal.raise_signal(signal.SIGINT)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, pressed)
        with pytest.raises(KeyboardInterrupt):
            step().item()
    assert all(p.isfinite().all() for p in model.parameters())
    assert step().item() < losses[-1]


def test_ctrl_c_pressed_twice_does_not_wait():
    handler = interrupts.hold()
    try:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.release(handler)
    finally:
        signal.signal(signal.SIGINT, handler)


def test_ctrl_c_has_its_handler_again():
    _, step = _training()
    for _ in range(4):
        step().item()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@recorded
def test_a_program_that_is_broken_off_runs_when_it_is_asked_for_again(monkeypatch: pytest.MonkeyPatch):
    class TooLong(Exception):
        pass

    def stop(*_: Any) -> None:
        raise TooLong

    x = torch.arange(7.0)
    y = x * 2.5 + 1
    z = y.sin()
    with monkeypatch.context() as patch:
        patch.setattr(runner, "run", stop)
        with pytest.raises(TooLong):
            z.sum().item()
    assert z.tolist() == (torch.arange(7.0) * 2.5 + 1).sin().tolist()
    assert y[2].item() == 6.0


@recorded
def test_nothing_else_waits_for_a_program_that_was_broken_off(monkeypatch: pytest.MonkeyPatch):
    """As where a signal's handler ended what took too long: what goes on after it is not held up."""

    class TooLong(Exception):
        pass

    run, long = runner.run, [True]

    def stop(structure: Any, *rest: Any) -> Any:
        if long[0]:
            raise TooLong
        return run(structure, *rest)

    x = torch.arange(300.0)
    x.tolist()
    y = (x * 2.5 + 1).sin()
    with monkeypatch.context() as patch:
        patch.setattr(runner, "run", stop)
        with pytest.raises(TooLong):
            y.sum().item()
        long[0] = False
        before = y._value.program
        assert before.state == "open"
        for _ in range(3):
            z = x * 2  # an input of both
            assert (z + torch.ones(300)).sum().item() == 2 * 44850 + 300
        torch.cpu.synchronize()
        assert y._value.program is before and before.state == "open"
        w = y + 1  # which needs it
        assert before.state == "done"
    assert w.tolist() == ((torch.arange(300.0) * 2.5 + 1).sin() + 1).tolist()


def test_a_function_that_was_broken_off_while_it_was_written_is_written_again(monkeypatch: pytest.MonkeyPatch):
    _op.registry.pop("_never_called", None)

    @_op.op(name="_never_called", method=False, out=False)
    def _never_called(input: Array):
        return input * 2 + 1

    called = _op.functions.pop("_never_called")
    source = called.source  # pyright: ignore[reportFunctionMemberAccess]
    with monkeypatch.context() as patch:
        patch.setattr(source, "_compile", lambda text: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            called(torch.zeros(2))
    assert called(torch.zeros(2)).tolist() == [1.0, 1.0]


def _fill_the_stack(frames: int) -> None:
    torch.nn.Linear(2, 2)
    _fill_the_stack(frames + 1)


@pytest.mark.parametrize("frames", range(8))
def test_a_full_stack_leaves_no_half_of_an_instruction(frames: int):
    def deeper(n: int) -> None:
        _fill_the_stack(0) if n == 0 else deeper(n - 1)

    with pytest.raises(RecursionError):
        deeper(frames)
    torch.manual_seed(0)
    a = torch.randn(4, 4, dtype=torch.float64)
    assert (torch.linalg.cholesky(a @ a.T + torch.eye(4)).sum() + torch.nn.Linear(2, 2).weight.sum()).isfinite()


@pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs")
def test_an_exception_while_a_new_program_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is new the next time too, not half known."""

    class Alarm(Exception):
        pass

    def raising(structure: Any) -> None:
        monkeypatch.undo()
        raise Alarm

    x = torch.linspace(0, 1, 300 * 300).reshape(300, 300)
    x.tolist()

    def run() -> Any:
        return (x * 3 + 0.375).cos().exp().mm(x).sin().sum()

    before = set(runner._structures)
    y = run()
    monkeypatch.setattr(log, "new_structure", raising)
    with pytest.raises(Alarm):
        y.item()
    found = [y.item(), *[run().item() for _ in range(8)]]
    np.testing.assert_allclose(found, [found[0]] * 9, rtol=1e-3)
    assert all(s.record is not None for key, s in runner._structures.items() if key not in before)
