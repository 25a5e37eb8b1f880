"""Small kernels run on NumPy at first: the same results as from XLA, no compilation for shapes that keep changing."""

from __future__ import annotations

import pytest

import jaxtorch as torch
from jaxtorch._core import cold
from jaxtorch._core.program import IMMEDIATE

pytestmark = pytest.mark.skipif(IMMEDIATE, reason="each operation is compiled by itself in immediate mode")


def episode(n: int) -> list[float]:
    rewards = torch.tensor([float(i % 3) for i in range(n)])
    weight = torch.linspace(0.5, 1.5, n).requires_grad_()
    advantage = (rewards - 1) / 3
    picked = (weight * 2)[::2]
    loss = -(picked * advantage[::2])[1] + torch.cat([weight[:2], weight[2:].sqrt()]).clamp(max=2)[n - 1]
    loss.backward()
    return [loss.item(), *weight.grad.tolist()]


def test_results_are_those_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    on_numpy = [episode(n) for n in range(101, 104)]
    monkeypatch.setattr(cold, "outputs", lambda kernel, arguments: None)
    for n, expected in zip(range(101, 104), on_numpy, strict=True):
        assert episode(n) == expected


def test_new_lengths_compile_nothing(caplog: pytest.LogCaptureFixture) -> None:
    import jax

    episode(120)
    with jax.log_compiles(), caplog.at_level("WARNING"):
        for n in range(121, 125):
            episode(n)
    assert not [r for r in caplog.records if "Finished XLA compilation" in r.getMessage()]


def test_a_kernel_that_keeps_running_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold, "RUNS", 2)
    seen = []
    outputs = cold.outputs

    def watched(kernel, arguments):
        outs = outputs(kernel, arguments)
        seen.append((kernel.name, outs is not None))
        return outs

    monkeypatch.setattr(cold, "outputs", watched)
    x = torch.ones(139)
    x.tolist()
    for _ in range(4):  # one operation a program, which is never compiled whole
        assert (x + 0).sum().item() == 139
        assert (x - 2).tolist() == [-1] * 139
    assert [on_numpy for name, on_numpy in seen if name == "sub"] == [True, True, False]


def test_results_own_their_memory() -> None:
    x = torch.ones(137)
    y = x.reshape(137, 1).expand(137, 2)
    z = y.clone()
    total = (x.view(1, 137) * 3).sum()
    x.mul_(5)
    assert z.sum().item() == 274 and total.item() == 411 and x.sum().item() == 685
