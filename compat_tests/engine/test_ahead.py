"""Programs that come again are started ahead: whatever was expected, the results are those of what is recorded."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program
from jaxtorch._core.record.program import IMMEDIATE
from jaxtorch._core.run import early_start

pytestmark = pytest.mark.skipif(IMMEDIATE, reason="nothing is recorded in immediate mode")


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What became of each program that was started ahead: "used" or "vain"."""
    torch.zeros(1).item()
    told: list[str] = []
    results, in_vain = early_start.EarlyRun.results, early_start.EarlyRun.discard

    def watched(self: Any, *args: Any) -> Any:
        outs = results(self, *args)
        if outs is not None:
            told.append("used")
        return outs

    def dropped(self: Any) -> None:
        told.append("vain")
        in_vain(self)

    monkeypatch.setattr(early_start.EarlyRun, "results", watched)
    monkeypatch.setattr(early_start.EarlyRun, "discard", dropped)
    monkeypatch.setattr(tiering, "RUNS", 0)  # XLA runs what is small as well
    yield told


def nets(width: int = 24) -> tuple[Any, Any]:
    """The same net of both libraries."""
    made = []
    for t in (torch, pytorch):
        n = t.nn
        layers = n.Linear(8, width), n.GELU(), n.LayerNorm(width), n.Linear(width, width), n.Tanh(), n.Linear(width, 3)
        net = n.Sequential(*layers)
        with t.no_grad():
            for k, p in enumerate(net.parameters()):
                p.copy_(t.from_numpy(np.cos(np.arange(p.numel(), dtype=np.float32) * (k + 0.3)).reshape(p.shape)))
        made.append(net.eval())
    return made[0], made[1]


def batch(t: Any, k: int) -> Any:
    return t.from_numpy(np.sin(np.arange(32, dtype=np.float32) * (k + 1)).reshape(4, 8))


def agree(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-4)


def test_predictions(starts: list[str]) -> None:
    ours, theirs = nets(25)
    with torch.no_grad(), pytorch.no_grad():
        for k in range(12):
            agree(ours(batch(torch, k)), theirs(batch(pytorch, k)))
    assert starts.count("used") >= 6 and "vain" not in starts


def test_what_is_new_may_enter_later(starts: list[str]) -> None:
    ours, theirs = nets(26)
    with torch.no_grad(), pytorch.no_grad():
        for k in range(12):
            agree(
                *[
                    n(t.arange(8).sin() + b)
                    for t, n, b in ((torch, ours, batch(torch, k)), (pytorch, theirs, batch(pytorch, k)))
                ]
            )
    assert starts.count("used") >= 6 and "vain" not in starts


def test_parameters_change_in_between(starts: list[str]) -> None:
    ours, theirs = nets(27)
    with torch.no_grad(), pytorch.no_grad():
        for k in range(40):
            if k % 10 == 9:
                for net in (ours, theirs):
                    net[5].bias += k
                    net[0].weight.data.mul_(0.5)
            agree(ours(batch(torch, k)), theirs(batch(pytorch, k)))
    assert starts.count("used") >= 10


def test_parameters_change_while_the_program_runs(starts: list[str]) -> None:
    """A hook writes to a later layer after the program has been started."""
    ours, theirs = nets(28)
    count = [0, 0]

    def hook(which: int, net: Any) -> Any:
        def run(module: Any, args: Any, out: Any) -> None:
            count[which] += 1
            if count[which] % 9 == 0:
                net[5].weight.mul_(-1.5)
                net[3].bias.data = net[3].bias.data + 1

        return run

    ours[1].register_forward_hook(hook(0, ours))
    theirs[1].register_forward_hook(hook(1, theirs))
    with torch.no_grad(), pytorch.no_grad():
        for k in range(30):
            agree(ours(batch(torch, k)), theirs(batch(pytorch, k)))
    assert "used" in starts and "vain" in starts


def test_memory_shared_with_numpy(starts: list[str]) -> None:
    ours, theirs = nets(29)
    views = [net[5].bias.detach().numpy() for net in (ours, theirs)]
    inputs = [np.ones((4, 8), np.float32) for _ in range(2)]
    given = [t.from_numpy(a) for t, a in zip((torch, pytorch), inputs, strict=True)]
    with torch.no_grad(), pytorch.no_grad():
        for k in range(20):
            for view, array in zip(views, inputs, strict=True):
                array[:] = np.cos(k)
                if k % 6 == 5:
                    view += 1
            agree(ours(given[0]), theirs(given[1]))


def test_another_way_is_taken(starts: list[str]) -> None:
    """The program goes on otherwise than expected, in its operations, its numbers and what is kept of it."""
    ours, theirs = nets(30)
    kept: list[Any] = []

    def run(t: Any, net: Any, k: int) -> Any:
        linear = t.nn.functional.linear
        h = linear(batch(t, k), net[0].weight, net[0].bias).cos()
        if k % 7 == 6:
            h = h.abs()
        if k % 5 == 4:
            kept.append(h)
        h = linear(h.sigmoid(), net[3].weight, net[3].bias)
        return linear(h.tanh() * (2.0 if k < 16 else 3.0), net[5].weight, net[5].bias)

    with torch.no_grad(), pytorch.no_grad():
        for k in range(36):
            agree(run(torch, ours, k), run(pytorch, theirs, k))
    for a, b in zip(kept[::2], kept[1::2], strict=True):
        agree(a, b)
    assert "used" in starts and "vain" in starts


def test_what_never_stays_is_given_up(starts: list[str]) -> None:
    ours, theirs = nets(31)
    with torch.no_grad(), pytorch.no_grad():
        for k in range(24):
            for net in (ours, theirs):
                for p in net.parameters():
                    p.mul_(0.99)
            agree(ours(batch(torch, k)), theirs(batch(pytorch, k)))
    assert len(starts) <= 2 * early_start.AHEAD_PATIENCE // early_start.AHEAD_IN_VAIN


def test_what_seldom_stays_is_given_up(starts: list[str]) -> None:
    """Two starts in vain for each that is used cost more than they win."""
    ours, theirs = nets(37)

    def run(t: Any, net: Any, k: int) -> Any:
        linear = t.nn.functional.linear
        h = linear(batch(t, k), net[0].weight, net[0].bias).cos()
        h = linear(h.sigmoid(), net[3].weight, net[3].bias)
        return linear(h.abs() if k % 3 == 2 else h, net[5].weight, net[5].bias)

    with torch.no_grad(), pytorch.no_grad():
        for k in range(60):
            agree(run(torch, ours, k), run(pytorch, theirs, k))
    assert 0 < starts.count("vain") <= 10


def test_training_and_validation_in_turns(starts: list[str]) -> None:
    ours, theirs = nets(32)
    steps = []
    for t, net in ((torch, ours), (pytorch, theirs)):
        optimizer, losses = t.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), []
        for epoch in range(3):
            for k in range(4):
                optimizer.zero_grad()
                net(batch(t, k)).square().mean().backward()
                optimizer.step()
            with t.no_grad():
                losses += [net(batch(t, epoch + k)).square().mean().item() for k in range(6)]
        steps.append(losses)
    np.testing.assert_allclose(*steps, rtol=2e-3)


@pytest.mark.usefixtures("few_objects")
def test_models_are_freed(starts: list[str]) -> None:
    net, _ = nets(33)
    with torch.no_grad():
        for k in range(8):
            net(batch(torch, k)).numpy()
    assert "used" in starts
    arrays = [weakref.ref(program.force(p._read())) for p in net.parameters()]
    del net
    gc.collect()
    assert [a() for a in arrays] == [None] * len(arrays)


def test_results_may_be_donated_afterwards(starts: list[str]) -> None:
    """What was started ahead hands out arrays that later programs may take over, as any program does."""
    ours, theirs = nets(34)
    totals = []
    for t, net in ((torch, ours), (pytorch, theirs)):
        total = t.zeros(4, 3)
        with t.no_grad():
            for k in range(15):
                total = total * 0.9 + net(batch(t, k))
                total.sum().item()
        totals.append(total)
    agree(*totals)


def test_two_threads(starts: list[str]) -> None:
    ours, theirs = nets(35)
    with pytorch.no_grad():
        expected = [theirs(batch(pytorch, k)).numpy() for k in range(30)]
    found: dict[int, Any] = {}

    def work(first: int) -> None:
        with torch.no_grad():
            for k in range(first, 30, 2):
                found[k] = ours(batch(torch, k)).numpy()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, array in enumerate(expected):
        np.testing.assert_allclose(found[k], array, rtol=1e-4, atol=1e-4)


def test_an_index_out_of_range(starts: list[str]) -> None:
    table, head = torch.nn.Embedding(5, 16), torch.nn.Linear(16, 4)
    with torch.no_grad():
        for k in range(8):
            head(table(torch.tensor([k % 5]))).tanh().numpy()
        with pytest.raises(IndexError):
            head(table(torch.tensor([7]))).tanh().numpy()
        head(table(torch.tensor([1]))).tanh().numpy()


def test_effects_happen_once(starts: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """A JAX function that prints is not run ahead: that could print what never happens."""
    import jax

    from jaxtorch.interop import jax_function

    def doubled(x: Any) -> Any:
        jax.debug.print("seen")
        return x * 2

    f, net = jax_function(doubled), nets(36)[0]
    with torch.no_grad():
        for k in range(8):
            net(f(batch(torch, k)))[0].sum().item()
    jax.effects_barrier()
    assert capfd.readouterr().out.count("seen") == 8
    assert not starts


def test_training_and_validation_one_step_each(starts: list[str]) -> None:
    """What the training step leaves in packs, the prediction reads out of them."""
    ours, theirs = nets(38)
    steps = []
    for t, net in ((torch, ours), (pytorch, theirs)):
        optimizer, losses = t.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9), []
        for k in range(16):
            optimizer.zero_grad()
            loss = net(batch(t, 0)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if k > 4:
                with t.no_grad():
                    losses.append(net(batch(t, 1)).sum().item())
        steps.append(losses)
    np.testing.assert_allclose(*steps, rtol=2e-3)


def test_an_exception_of_a_signal_handler_is_not_lost(starts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class TooLong(Exception):
        pass

    ours, theirs = nets(39)
    with torch.no_grad(), pytorch.no_grad():
        for k in range(8):
            agree(ours(batch(torch, k)), theirs(batch(pytorch, k)))
        at_top = early_start.at_top

        def stop(*_: Any) -> None:
            monkeypatch.setattr(early_start, "at_top", at_top)
            raise TooLong

        monkeypatch.setattr(early_start, "at_top", stop)
        with pytest.raises(TooLong):
            ours(batch(torch, 9))
        for k in range(8):
            agree(ours(batch(torch, k)), theirs(batch(pytorch, k)))


def test_what_calls_python_is_not_started(starts: list[str]) -> None:
    import jax

    from jaxtorch.interop import jax_function

    seen: list[float] = []

    def look(x: Any) -> Any:
        seen.append(float(x.sum()))
        return x

    f = jax_function(lambda x: jax.pure_callback(look, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    net = nets(40)[0]
    with torch.no_grad():
        for k in range(8):
            net(f(batch(torch, k)))[0].sum().item()
    assert not starts and len(seen) <= 8
