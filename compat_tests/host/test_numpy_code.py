"""Small programs that stay on NumPy, as Python functions: the same as kernel by kernel, results that nothing else can change."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from jaxtorch._core import native
from jaxtorch._core.host import small_code, tiering
from jaxtorch._core.record import program
from jaxtorch._core.run import runner
from jaxtorch._core.run.log import Counts
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER
from jaxtorch._core.types.device import cpu

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs in immediate mode")

RUNS = PROGRAM_WRITTEN_AFTER + 3


def a(t: Any, *shape: int) -> Any:
    return t.linspace(-2, 2, int(np.prod(shape))).sin().reshape(shape)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "layers": lambda t: t.nn.functional.linear(a(t, 3, 4), a(t, 5, 4), a(t, 5)).relu().softmax(-1),
    "products": lambda t: (a(t, 2, 3, 4) @ a(t, 4, 2), a(t, 3).dot(a(t, 3)), a(t, 4, 3).t() @ a(t, 4, 2), a(t, 2, 3) @ a(t, 3)),
    "integers": lambda t: (a(t, 4, 3) * 9).int().t() @ t.arange(8).int().reshape(4, 2),
    "halves": lambda t: (a(t, 3, 4).bfloat16() @ a(t, 4, 2).bfloat16() + 1, a(t, 5).half().exp() * 3),
    "one_element": lambda t: (a(t, 6).mean() * 2 + 1, a(t, 6).sum().long(), t.tensor(3.0).sqrt(), a(t, 1)[0] > 0),
    "repeated": lambda t: (t.zeros(3, 2) + 1, t.ones(2, 2).expand(3, 2, 2), t.full((2, 3), 2.0).reshape(6), t.ones(3).sum()),
    "broadcast": lambda t: (a(t, 3, 1) + a(t, 1, 4)).clamp(-0.5, t.inf).where(a(t, 3, 4) > 0, t.tensor(-1.0)),
    "moves": lambda t: (a(t, 2, 3).t().contiguous(), a(t, 2, 3).flip(0), t.cat([a(t, 2, 2), a(t, 2, 1)], 1), a(t, 6)[1:5:2]),
    "order": lambda t: (a(t, 7).sort(), a(t, 3, 4).argmax(1), a(t, 9).topk(3), a(t, 3, 4).max(0)),
    "indices": lambda t: (a(t, 5, 2)[t.tensor([0, 3, 3])], a(t, 3, 4).gather(1, t.tensor([[0], [2], [1]])), a(t, 4).cumsum(0)),
    "norms": lambda t: t.nn.functional.gelu(t.nn.functional.layer_norm(a(t, 3, 8), (8,))).std(1),
    "pseudo_inverse": lambda t: t.linalg.pinv(a(t, 1, 2) * 2),
    "division": lambda t: ((a(t, 5) * 9).long() // 2, (a(t, 5) * 9).long() % 4, a(t, 5) / 0.0),
}  # fmt: skip


def flat(x: Any) -> list[Any]:
    return [y for each in x for y in flat(each)] if isinstance(x, tuple) else [x]


def structures() -> list[Any]:
    return list(runner._structures.values())


@pytest.mark.parametrize("way", ["native", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_function_gives_what_the_kernels_give(name: str, way: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1e9)
    if way == "numpy":
        monkeypatch.setattr(native, "steps", lambda: None)
        monkeypatch.setattr(small_code, "made_in_c", None)
    runner._structures.clear()
    cpu.slot.ran = None
    results = []
    for _ in range(RUNS):
        outs = flat(PROGRAMS[name](torch))
        program.flush_all()
        results.append([o.detach() for o in outs])
    assert any(s.on_host for s in structures())
    first, last = results[0], results[-1]
    rtol, atol = (1e-6, 2e-7) if way == "native" else (3e-7, 0)
    for x, y, z in zip(first, last, flat(PROGRAMS[name](pytorch)), strict=True):
        held = y._array()
        assert type(held) is np.ndarray and held.flags.c_contiguous and held.base is None
        assert x.dtype == y.dtype and x.shape == y.shape and str(z.dtype).split(".")[1] == str(y.dtype).split(".")[1]
        torch.testing.assert_close(x, y, rtol=rtol if x.is_floating_point() else 0, atol=atol, equal_nan=True)
        near = pytorch.tensor(y.to(torch.float64).numpy())
        pytorch.testing.assert_close(
            near, z.double(), rtol=1e-2 if name == "halves" else 1e-5, atol=1e-6, equal_nan=True
        )


def test_what_numpy_and_xla_do_differently_goes_to_xla():
    divided = [(torch.tensor([6, 7]) % torch.tensor([4, n])).tolist() for n in [*range(1, 12), -1, 5]]
    assert divided[:11] == [[2, 7 % n] for n in range(1, 12)] and divided[-2:] == [[2, 0], [2, 2]]
    made = [torch.tensor([1.5, x]).exp().log().int().tolist() for x in [2.5] * 12]
    assert made == [[1, 2]] * 12
    for x in (1e30, -1e30, 7.5):
        kept = torch.tensor([1.5, x]).neg().neg().int().tolist()
        assert kept == pytorch.tensor([1.5, x]).neg().neg().int().tolist()


def test_results_are_used_by_compiled_programs_and_in_place():
    table = [a(torch, 4, 4).exp() * 2 for _ in range(RUNS)][-1]
    w = torch.ones(4, 4, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.5)

    def step() -> Any:
        optimizer.zero_grad()
        loss = (table * w).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step)
    losses = [step().item() for _ in range(4)] + [compiled().item() for _ in range(4)]
    table.add_(1)
    losses.append(step().item())
    p = pytorch.ones(4, 4, requires_grad=True)
    other, again = pytorch.optim.SGD([p], lr=0.1, momentum=0.5), (a(pytorch, 4, 4).exp() * 2)
    for i, loss in enumerate(losses):
        if i == 8:
            again.add_(1)
        other.zero_grad()
        expected = (again * p).pow(2).sum()
        expected.backward()
        other.step()
        assert loss == pytest.approx(expected.item(), rel=1e-4)


def test_nothing_changes_a_result_that_numpy_made():
    """Neither the memory of its inputs nor of other results."""
    for _ in range(RUNS):
        x = torch.from_numpy(np.arange(6.0).reshape(2, 3))
        y, z, w = x.t() * 1, x.reshape(6) * 1, x * 1
        program.flush_all()
    y.numpy()[0] = -1
    z.add_(10)
    x.numpy()[:] = 7
    assert y.tolist() == [[-1, -1], [1, 4], [2, 5]] and z.tolist() == [10, 11, 12, 13, 14, 15]
    assert w.tolist() == [[0, 1, 2], [3, 4, 5]]


class Policy(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        self.hidden = weakref.ref((x * 2)._value)
        return self.linear(x * 2)


def test_what_a_small_evaluation_is_used_for_runs_in_its_program(monkeypatch: pytest.MonkeyPatch):
    policy, ran, run = Policy(), [], program._run
    monkeypatch.setattr(program, "_run", lambda *args: (ran.append(True), run(*args))[1])
    monkeypatch.setattr(program, "run_in_c", None)  # which does not ask `_run`
    with torch.no_grad():
        for i in range(12):
            x = torch.ones(4) * i
            program.flush_all()
            ran.clear()
            choice = policy(x).argmax().item()
            assert choice == (policy.linear.weight.sum(1) * 2 * i + policy.linear.bias).argmax().item()
        assert len(ran) == 2  # the second is the assertion's
        outputs = []
        for _ in range(5):
            before = policy.hidden
            outputs.append(policy(x))
        assert before() is None and cpu.slot.program is not None  # the next call has run what the last one left
    assert all(torch.equal(o, outputs[0]) for o in outputs)


def test_a_small_compiled_call_runs_on_numpy():
    policy = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
    compiled = torch.compile(policy)
    before = Counts.compiled
    with torch.no_grad():
        for i in range(2 + RUNS):
            x = torch.ones(4) * i
            out = compiled(x)
            torch.testing.assert_close(out, policy(x))
    assert type(out._array()) is np.ndarray and Counts.compiled == before
    with torch.no_grad():
        policy[0].weight.mul_(2)
        torch.testing.assert_close(compiled(x), policy(x))
        assert not torch.allclose(compiled(x), out)
