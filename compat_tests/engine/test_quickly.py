"""Programs compiled with little effort first: in processes that are more than one loop, until they have run for long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import jax
import pytest

import jaxtorch as torch
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program
from jaxtorch._core.record.program import IMMEDIATE
from jaxtorch._core.run import runner
from jaxtorch._core.run.log import Counts, explain_recompiles

pytestmark = pytest.mark.skipif(IMMEDIATE, reason="each operation is compiled by itself in immediate mode")


@pytest.fixture
def efforts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """How each program that is compiled whole inside is compiled, in a process that begins here."""
    program.flush_all()
    tiering.forget()
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1.0)
    made: list[str] = []
    whole = runner._xla_call

    def watched(slot: Any, plan: Any, packed: Any, options: Any) -> Any:
        made.append("full" if options is None else "quick")
        return whole(slot, plan, packed, options)

    monkeypatch.setattr(runner, "_xla_call", watched)
    yield made
    tiering.forget()


def chain(size: int, steps: int = 1) -> float:
    y = torch.ones(size)
    for _ in range(steps):
        y = y * 2 + 1
    return y.sum().item()


def trained(steps: int, sizes: Iterable[int], read: Any = lambda step: True) -> list[float]:
    """The losses of steps whose batches have these sizes in turn."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses, sizes = [], list(sizes)
    for step in range(steps):
        n = sizes[step % len(sizes)]
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(torch.ones(n, 6)), torch.arange(n) % 3)
        loss.backward()
        optimizer.step()
        if read(step):
            losses.append(loss.item())
    return losses


def test_one_loop_is_compiled_in_full_by_its_third_step_and_never_again(efforts: list[str]) -> None:
    after: list[int] = []
    trained(60, [31], read=lambda step: after.append(len(efforts)) or True)
    assert efforts and set(efforts) == {"full"}
    assert after[3:] == [len(efforts)] * 57


def test_a_loop_whose_loss_is_read_now_and_then_is_one_loop(efforts: list[str]) -> None:
    trained(20, [32], read=lambda step: step % 4 == 3)
    assert efforts and set(efforts) == {"full"}


def test_shapes_that_vary_are_compiled_quickly(efforts: list[str]) -> None:
    losses = trained(12, [33, 34, 35])
    assert len(efforts) >= 3 and set(efforts) == {"quick"}
    tiering.forget()
    alike = trained(12, [33, 34, 35])
    assert alike == pytest.approx(losses, rel=1e-5)


def test_a_loop_after_another_is_compiled_quickly_until_it_has_run_for_long(
    efforts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {chain(181) for _ in range(3)} == {543.0} and efforts == ["full"]
    assert {chain(182, 2) for _ in range(3)} == {182 * 7.0} and efforts == ["full", "quick"]
    monkeypatch.setattr(tiering, "COMPILE_EQUATION", 0.0)  # it is compiled in full before the quick one has run
    assert {chain(183, 3) for _ in range(3)} == {183 * 15.0} and efforts == ["full", "quick", "full"]


def test_after_so_many_runs_it_is_compiled_in_full(efforts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "quick_runs", lambda line, kernels: 3)
    seen = []
    before = Counts.compiled
    for _ in range(8):
        assert chain(184) == 552.0
        seen.append(len(efforts))
    assert efforts == ["quick", "full"] and Counts.compiled - before == 2
    assert seen == [0, 1, 1, 1, 2, 2, 2, 2]
    assert explain_recompiles()[-1].seconds > 0


def test_donated_state_and_packs_go_on_from_one_effort_to_the_other(
    efforts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trained(14, [36])
    monkeypatch.setattr(tiering, "quick_runs", lambda line, kernels: 4)
    runner._structures.clear()
    efforts.clear()
    assert trained(14, [36]) == pytest.approx(expected, rel=1e-5)
    assert "quick" in efforts and efforts[-1] == "full"


def test_a_program_grows_longer_at_its_line(efforts: list[str]) -> None:
    for steps in (4, 5, 4, 5, 4):
        assert chain(185, steps) == 185 * (2.0 ** (steps + 1) - 1)
    assert set(efforts) == {"quick"}


def test_what_torch_compile_captures_is_compiled_in_full(efforts: list[str]) -> None:
    for size in (186, 187, 186, 187):
        chain(size)
    step = torch.compile(lambda x: (x * 2 + 1).sum())
    efforts.clear()
    for _ in range(4):
        assert step(torch.ones(188)).item() == 564.0
    assert "full" in efforts


def test_numpy_switched_off_switches_this_off(efforts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "RUNS", 0)
    for size in (189, 190, 189, 190):
        assert chain(size) == 3.0 * size
    assert efforts == ["full", "full"]


def test_options_that_xla_does_not_know_are_left_out_and_without_any_it_compiles_in_full(
    efforts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = {"xla_no_such_option": 1}
    for first, options, effort in ((1000, absent, "full"), (1003, {**tiering.QUICK_OPTIONS, **absent}, "quick")):
        monkeypatch.setattr(tiering, "QUICK_OPTIONS", options)
        efforts.clear()
        for size in range(first, first + 3):
            for _ in range(4):
                chain(size, 3)
        assert efforts and {*efforts} == {effort}


def test_loops_of_known_length_count_as_often_as_they_run(efforts: list[str]) -> None:
    """What a run costs where NumPy has no rule: the elements of its results, those of a loop's body at each turn."""
    from jaxtorch._core.host.numpy_program import elements, equations

    def body(x: Any, _: Any) -> Any:
        return x * 2, None

    few, many = [
        jax.make_jaxpr(lambda x, n=n: jax.lax.scan(body, x, None, n)[0])(jax.numpy.ones(5)).jaxpr for n in (2, 8)
    ]
    assert equations(few) == equations(many) == 1
    assert elements(many) == 4 * elements(few) > 0
