"""The state of small training loops lives in packs between steps: nothing that a program can do to it may show that."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxtorch as torch
import jaxtorch.nn as nn
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program
from jaxtorch._core.run import state_packing

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="immediate mode has no programs")

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


class Training:
    """A small net with its optimizer, an average of its parameters and a copy kept by hand."""

    def __init__(self, optimizer: str, compiled: bool, width: int = 64) -> None:
        """`width` is a test's own where it asks for a pack: a program that ran before, in another way, may have none."""
        torch.manual_seed(1)
        last = nn.Linear(width, 3)
        self.net = nn.Sequential(nn.Linear(32, width), nn.Tanh(), nn.Linear(width, width), nn.ReLU(), last)
        self.optimizer = OPTIMIZERS[optimizer](self.net.parameters())
        self.average = [p.detach().clone() for p in self.net.parameters()]
        self.kept: list[Any] = []
        self.x, self.y = torch.randn(64, 32), torch.randint(0, 3, (64,))
        self.once = torch.compile(self.whole) if compiled else self.whole
        self.read: list[Any] = []

    def whole(self) -> Any:
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def step(self) -> None:
        self.read.append(self.once())

    # what a program may do between two steps

    def reads_a_parameter(self) -> None:
        self.read.append(self.net[2].weight.sum().item())

    def reads_a_gradient(self) -> None:
        if self.net[0].bias.grad is not None:
            self.read.append(self.net[0].bias.grad.tolist())

    def evaluates(self) -> None:
        with torch.no_grad():
            self.read.append(self.net(self.x).tolist())

    def averages(self) -> None:
        for a, p in zip(self.average, self.net.parameters(), strict=True):
            a.mul_(0.5).add_(p.detach(), alpha=0.5)

    def keeps_a_view(self) -> None:
        self.kept.append(self.net[4].weight.detach())

    def keeps_a_gradient(self) -> None:
        self.kept.append(self.net[2].weight.grad)

    def writes_a_gradient(self) -> None:
        for p in self.net.parameters():
            if p.grad is not None:
                p.grad.mul_(2.0)

    def writes_data(self) -> None:
        self.net[0].weight.data.mul_(0.9)

    def takes_over(self) -> None:
        self.net[0].bias.data = self.net[2].bias.data.clone()

    def swaps(self) -> None:
        a, b = self.net[0].bias, self.net[2].bias
        a.data, b.data = b.data, a.data

    def shares_with_numpy(self) -> None:
        self.net[4].bias.detach().numpy()[0] += 0.125

    def copies_numpy(self) -> None:
        self.read.append(np.array(self.net[4].bias.detach()).tolist())

    def loads(self) -> None:
        self.net.load_state_dict(copy.deepcopy(self.net.state_dict()))
        self.optimizer.load_state_dict(copy.deepcopy(self.optimizer.state_dict()))

    def copies(self) -> None:
        twin = copy.deepcopy(self.net)
        self.read.append(twin(self.x).sum())

    def keeps_a_jax_array(self) -> None:
        self.kept.append(torch.from_jax(self.net[2].bias.jax()))

    def steps_again(self) -> None:
        self.whole()

    def waits(self) -> None:
        program.flush_all()

    def everything(self) -> list[Any]:
        state = [t.tolist() for s in self.optimizer.state.values() for t in s.values() if isinstance(t, torch.Tensor)]
        seen = [t.tolist() if isinstance(t, torch.Tensor) else t for t in [*self.read, *self.kept, *self.average]]
        grads = [None if p.grad is None else p.grad.tolist() for p in self.net.parameters()]
        return [*state, *seen, *[p.tolist() for p in self.net.parameters()], *grads]


ACTIONS = [
    name for name, item in vars(Training).items()
    if callable(item) and name not in ("__init__", "whole", "step", "everything")
]  # fmt: skip


def run(optimizer: str, compiled: bool, actions: list[list[str]]) -> list[Any]:
    training = Training(optimizer, compiled)
    for these in actions:
        training.step()
        for name in these:
            getattr(training, name)()
    return training.everything()


def agree(optimizer: str, compiled: bool, actions: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    packed = run(optimizer, compiled, actions)
    with monkeypatch.context() as patch:
        patch.setattr(state_packing, "PACK_ELEMENTS", 0)
        patch.setattr("jaxtorch._core.run.runner._structures", {})
        plain = run(optimizer, compiled, actions)
    assert len(packed) == len(plain)
    for a, b in zip(packed, plain, strict=True):
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_loop_keeps_its_state_in_one_pack(optimizer: str, compiled: bool):
    training = Training(optimizer, compiled, 56 + compiled)
    for _ in range(6):
        training.step()
    if not compiled:
        training.optimizer.zero_grad()  # a gradient that is still there is one result more
    program.flush_all()
    values = [p._value for p in training.net.parameters()]
    assert len({id(v.pack) for v in values}) == 1
    assert values[0].pack is not None
    assert all(v.array is None for v in values)
    before = training.net[0].weight.tolist()
    assert training.net[0].weight._value.pack is None  # it has been asked for
    training.step()
    assert training.net[0].weight.tolist() != before


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("first", range(2))
def test_what_is_done_between_steps(first: int, compiled: bool, monkeypatch: pytest.MonkeyPatch):
    actions = [step for name in ACTIONS[first::2] for step in ([name], [], [name], [])]
    agree("momentum", compiled, [[], [], [], [], *actions], monkeypatch)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch):
    draw = random.Random(seed)
    actions = [draw.sample(ACTIONS, draw.choice([0, 0, 0, 1, 2])) for _ in range(24)]
    agree(draw.choice(list(OPTIMIZERS)), False, actions, monkeypatch)


def test_what_another_program_reads_at_each_step_stays_apart():
    training = Training("momentum", False, 58)
    for _ in range(6):
        training.step()
        training.averages()
        training.waits()
    assert all(p._value.pack is None for p in training.net.parameters())


def test_a_state_read_now_and_then_compiles_nothing_more():
    from jaxtorch._core.run.log import Counts

    training = Training("momentum", False, 59)

    def steps(reads: list[bool]) -> None:
        for read in reads:
            training.step()
            if read:
                training.net[0].weight.tolist()

    steps([False] * 6 + [True] * 4)  # read there, the program has the gradients among its results
    before = Counts.compiled
    steps([True, False, False, True, False, True, True, False])
    assert Counts.compiled == before


def test_a_program_chooses_its_packs_anew_when_it_is_compiled_in_full(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiering, "quick_runs", lambda line, kernels: 8)

    def packed(steps: int, averages: bool) -> bool:
        training = Training("momentum", False, 60)
        for _ in range(steps):
            training.step()
            if averages:  # another program reads the state
                training.averages()
                training.waits()
        training.optimizer.zero_grad()
        program.flush_all()
        return all(p._value.pack is not None for p in training.net.parameters())

    assert not packed(4, True)
    assert packed(12, False)
    assert packed(4, False)


def test_a_worker_reads_what_is_in_a_pack():
    training = Training("momentum", False, 61)
    for _ in range(6):
        training.step()
    training.optimizer.zero_grad()
    program.flush_all()
    weight = training.net[0].weight
    assert weight._value.pack is not None

    class Rows(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 8

        def __getitem__(self, i: int) -> Any:
            return weight.detach()[i] * 2

    rows = torch.cat(list(torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=1)))
    assert rows.tolist() == (weight[:8] * 2).tolist()


def test_elements_are_assigned_to_what_lies_in_a_pack():
    """Caches of keys and values, which a loop of decoding writes at an index array and reads."""
    torch.manual_seed(0)
    caches, wanted = [torch.zeros(1, 2, 16, 4) for _ in range(4)], np.zeros((1, 2, 16, 4), np.float32)
    with torch.no_grad():
        for i in range(12):
            place = torch.tensor([i])
            total: Any = 0.0
            for cache in caches:
                cache[:, :, place] = torch.full((1, 2, 1, 4), float(i))
                total = total + cache.sum()
            total.item()
            wanted[:, :, i] = i
        caches[0][:, :, torch.arange(3)] = torch.ones(1, 2, 3, 4)
    wanted_first = wanted.copy()
    wanted_first[:, :, :3] = 1
    assert (caches[0].numpy() == wanted_first).all() and all((c.numpy() == wanted).all() for c in caches[1:])


def test_another_thread_may_be_quicker(monkeypatch: pytest.MonkeyPatch):
    """Two threads that ask for a value in a pack at a time both get it."""
    training = Training("momentum", False, 62)
    for _ in range(6):
        training.step()
    training.optimizer.zero_grad()
    program.flush_all()
    weight, unpack = training.net[0].weight, state_packing.unpack
    assert weight._value.pack is not None

    def later(value: Any) -> Any:
        unpack(value)
        return unpack(value)

    monkeypatch.setattr(state_packing, "unpack", later)
    assert weight.isfinite().all() and len(weight.tolist()) == len(weight)
