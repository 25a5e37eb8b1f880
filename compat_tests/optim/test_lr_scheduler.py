"""`torch.optim.lr_scheduler` and `swa_utils`: PyTorch's sequences, states, errors and warnings, and no compilations."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import jaxtorch
from jaxtorch._core.record import program
from jaxtorch._core.run.log import Counts
from parity import attempt, candidate, differences, outcome


class Halved:
    """A function with state."""

    def __init__(self) -> None:
        self.base = 0.5

    def __call__(self, epoch: int) -> float:
        return self.base ** (epoch / 10)


Make = Callable[[Any, Any], Any]
SCHEDULERS: dict[str, Make] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda e: 0.95**e),
    "LambdaLR objects": lambda s, o: s.LambdaLR(o, [Halved(), lambda e: 1.0]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 if e % 2 else 1.05),
    "StepLR": lambda s, o: s.StepLR(o, 7, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [4, 4, 20], gamma=0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 9),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.9, 30),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.93),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 40, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 12, 0.001),
    "WarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.01),
    "WarmRestarts same": lambda s, o: s.CosineAnnealingWarmRestarts(o, 6),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 5, 8, mode="triangular2"),
    "CyclicLR exp": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, mode="exp_range", gamma=0.97),
    "CyclicLR function": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, scale_fn=Halved(), scale_mode="iterations"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.3, 0.5], total_steps=60),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, 0.3, epochs=6, steps_per_epoch=10, anneal_strategy="linear", three_phase=True
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=5), s.CosineAnnealingLR(o, 20), s.ExponentialLR(o, 0.9)], [5, 30]
    ),
    "SequentialLR restarts": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 4), s.CosineAnnealingWarmRestarts(o, 7)], [4]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, patience=2, cooldown=3, factor=0.5),
    "ReduceLROnPlateau max": lambda s, o: s.ReduceLROnPlateau(
        o, "max", patience=1, threshold=0.1, threshold_mode="abs", min_lr=[0.001, 0.01]
    ),
    "SWALR": lambda s, o: importlib.import_module(s.__name__.replace("lr_scheduler", "swa_utils")).SWALR(o, 0.5, 12),
    "SWALR at once": lambda s, o: importlib.import_module(s.__name__.replace("lr_scheduler", "swa_utils")).SWALR(
        o, [0.5, 0.1], 0, "linear"
    ),
}


def module(torch: Any) -> Any:
    return importlib.import_module(torch.__name__ + ".optim.lr_scheduler")


def optimizer(torch: Any, kind: str = "SGD") -> Any:
    groups = [{"params": [torch.ones(2).requires_grad_()], "lr": lr} for lr in (0.1, 0.2)]
    options = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(torch.optim, kind)(groups, **options)


def advance(scheduler: Any, opt: Any, steps: int, start: int = 0) -> list[Any]:
    seen = []
    for i in range(start, start + steps):
        opt.step()
        plateau = type(scheduler).__name__ == "ReduceLROnPlateau"
        scheduler.step(1.0 / (1 + i % 9)) if plateau else scheduler.step()
        momenta = [g.get("momentum", g.get("betas")) for g in opt.param_groups]
        seen.append((list(scheduler.get_last_lr()), [g["lr"] for g in opt.param_groups], momenta))
    return seen


def check(body: Callable[[Any], Any]) -> None:
    found = differences(outcome(reference, body), outcome(candidate(), body), scale=1)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_fifty_steps(name: str, kind: str):
    def body(torch: Any) -> Any:
        opt = optimizer(torch, kind)
        scheduler = SCHEDULERS[name](module(torch), opt)
        first = [g["lr"] for g in opt.param_groups]
        return first, advance(scheduler, opt, 50), str(scheduler.state_dict()), repr(opt)

    check(body)


@pytest.mark.parametrize("way", ["to jaxtorch", "to PyTorch"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_state_of_the_other(name: str, way: str):
    first, second = (reference, jaxtorch) if way == "to jaxtorch" else (jaxtorch, reference)
    opts = [optimizer(t) for t in (first, second)]
    one, other = (SCHEDULERS[name](module(t), o) for t, o in zip((first, second), opts, strict=True))
    advance(one, opts[0], 17)
    other.load_state_dict(one.state_dict())
    opts[1].load_state_dict(opts[0].state_dict())
    want, got = advance(one, opts[0], 20, 17), advance(other, opts[1], 20, 17)
    assert not differences(want, got)


CLOSED = [n for n in SCHEDULERS if n.split()[0] not in ("ReduceLROnPlateau", "SequentialLR", "ChainedScheduler")]


@pytest.mark.parametrize("name", CLOSED)
def test_given_epochs_and_warnings(name: str):
    def body(torch: Any) -> Any:
        opt = optimizer(torch)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler = SCHEDULERS[name](module(torch), opt)
            seen = []
            for epoch in (None, 3, None, 11, 0, 30):
                scheduler.step(epoch)
                seen.append(scheduler.get_last_lr())
            attempt(scheduler.get_lr)
        return seen, [(w.category.__name__, str(w.message)[:40]) for w in caught]

    check(body)


@pytest.mark.parametrize("name", [n for n in CLOSED if not n.startswith(("LambdaLR", "SWALR"))])
def test_resumed_without_a_state(name: str):
    """last_epoch given, after the groups have an initial_lr."""

    def body(torch: Any) -> Any:
        opt = optimizer(torch)
        scheduler = SCHEDULERS[name](module(torch), opt)
        advance(scheduler, opt, 5)
        kind, options = type(scheduler), {"StepLR": (7,), "MultiStepLR": ([4],), "ExponentialLR": (0.9,)}
        given = options.get(kind.__name__, {"CosineAnnealingLR": (12,)}.get(kind.__name__, ()))
        if kind.__name__ in ("MultiplicativeLR", "CyclicLR", "OneCycleLR", "CosineAnnealingWarmRestarts"):
            return None
        again = kind(opt, *given, last_epoch=5)
        return advance(again, opt, 10)

    check(body)


@pytest.mark.skipif(program.IMMEDIATE, reason="about recording")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_schedule_compiles_nothing(name: str):
    opt = optimizer(jaxtorch)
    scheduler = SCHEDULERS[name](jaxtorch.optim.lr_scheduler, opt)
    params = [g["params"][0] for g in opt.param_groups]

    def step(i: int) -> None:
        opt.zero_grad()
        sum((p * 2).sum() for p in params).backward()
        opt.step()
        scheduler.step(1.0 / (1 + i % 9)) if name.startswith("Reduce") else scheduler.step()
        params[0].sum().item()

    for i in range(5):
        step(i)
    before = Counts.structures, Counts.compiled
    for i in range(5, 35):
        step(i)
    assert (Counts.structures, Counts.compiled) == before


def _model(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))


@pytest.mark.parametrize("name", ["default", "ema", "multi ema", "multi swa", "swa"])
@pytest.mark.parametrize("buffers", [False, True])
def test_averaged_model(name: str, buffers: bool):
    if name == "multi swa" and buffers:
        pytest.skip("PyTorch cannot average integers that way")

    def body(torch: Any) -> Any:
        utils = importlib.import_module(torch.__name__ + ".optim.swa_utils")
        kind = {
            "default": {}, "ema": {"avg_fn": utils.get_ema_avg_fn(0.9)}, "swa": {"avg_fn": utils.get_swa_avg_fn()},
            "multi ema": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
            "multi swa": {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
        }[name]  # fmt: skip
        model = _model(torch)
        mean = utils.AveragedModel(model, use_buffers=buffers, **kind)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.linspace(-1, 1, 24).reshape(8, 3)
        for i in range(5):
            opt.zero_grad()
            (model(x * (i + 1)) ** 2).mean().backward()
            opt.step()
            mean.update_parameters(model)
        before = {k: v.clone() for k, v in mean.state_dict().items()}
        utils.update_bn([[x], [x * 2]], mean)
        return before, dict(mean.state_dict()), mean.training, mean(x)

    found = differences(outcome(reference, body), outcome(candidate(), body), scale=10)
    assert not found, "\n".join(found)
