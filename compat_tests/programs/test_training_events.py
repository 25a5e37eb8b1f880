"""Training with things that happen between its steps: the same in PyTorch, step by step, and of everything that is still held.

What a program, a replay or a pack has remembered must not outlive what it was true of. Each seed draws a small model, an optimizer,
how much of the step is compiled, and what happens when.
"""

from __future__ import annotations

import contextlib
import copy
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.01}, "Adam": {"lr": 0.01, "eps": 1e-3},
    "AdamW": {"lr": 0.01, "eps": 1e-3}, "RMSprop": {"lr": 0.005, "momentum": 0.5, "eps": 1e-2}, "Adagrad": {"lr": 0.02},
    "NAdam": {"lr": 0.01, "eps": 1e-3}, "RAdam": {"lr": 0.01, "eps": 1e-3}, "Adadelta": {"lr": 0.02},
    "Adamax": {"lr": 0.01, "eps": 1e-3}, "ASGD": {"lr": 0.02}, "Adafactor": {"lr": 0.02},
}  # fmt: skip
MODELS = ["layers", "norm", "dropout", "tied", "recurrent", "lookup"]
COMPILED = ["", "", "model", "loss", "step", "step", "halves"]


class Stop(Exception):
    """What breaks a step off."""


class Training:
    """One program of training, in one of the two libraries; the same seed makes the same program in both."""

    def __init__(self, t: Any, seed: int) -> None:
        self.t, self.draw, self.numbers = t, random.Random(seed), np.random.RandomState(seed)
        self.kind, self.name, self.what = (self.draw.choice(c) for c in (MODELS, sorted(OPTIMIZERS), COMPILED))
        self.sizes = self.draw.choice([[8], [8], [8, 8, 5, 3]])
        t.manual_seed(seed)
        self.model = self.filled(_model(t, self.kind))
        self.optimizer: Any = None
        self.schedule: Any = None
        self.saved: Any = None
        self.set_to_none, self.clip, self.every, self.scale, self.count = True, 0.0, 1, 1.0, 0
        self.held: list[Any] = []
        self.hooks: list[Any] = []
        self.begin()
        self.prepare()

    def filled(self, model: Any) -> Any:
        with self.t.no_grad():
            for p in model.parameters():
                p.copy_(self.t.tensor(self.numbers.randn(*p.shape) * 0.5))
        return model

    def begin(self) -> None:
        self.optimizer = getattr(self.t.optim, self.name)(self.model.parameters(), **OPTIMIZERS[self.name])

    def prepare(self) -> None:
        def compiled(part: str, f: Any) -> Any:
            return self.t.compile(f) if part == self.what and self.t is jaxtorch else f

        F = self.t.nn.functional
        self.forward = compiled("model", self.model)
        self.loss = compiled("loss", lambda y, labels: F.cross_entropy(y, labels) * self.scale)

        def backward(x: Any, labels: Any) -> Any:
            loss = self.loss(self.forward(x), labels)
            loss.backward()
            return loss.detach()

        def update() -> None:
            if self.clip:
                self.t.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()
            if self.schedule is not None:
                self.schedule.step()
            self.optimizer.zero_grad(self.set_to_none)

        def step(x: Any, labels: Any) -> Any:
            loss = backward(x, labels)
            update()
            return loss

        self.backward, self.update, self.step = (
            compiled("halves", backward),
            compiled("halves", update),
            compiled("step", step),
        )

    def batch(self) -> tuple[Any, Any]:
        n = self.draw.choice(self.sizes)
        x = self.t.tensor(self.numbers.randn(n, 4))
        self.x = x
        return x, self.t.tensor(self.numbers.randint(0, 3, n))

    def advance(self) -> Any:
        self.count += 1
        if self.every == 1:
            return self.step(*self.batch())
        loss = self.backward(*self.batch())
        if self.count % self.every == 0:
            self.update()
        return loss

    def parameter(self) -> Any:
        return self.draw.choice(list(self.model.parameters()))

    def everything(self) -> Iterator[tuple[str, Any]]:
        for name, p in self.model.named_parameters():
            yield name, p
            yield name + ".grad", p.grad
            for key, value in sorted(self.optimizer.state.get(p, {}).items()):
                yield f"{name} {key}", value
        yield from self.model.named_buffers()
        yield "rates", [float(g["lr"]) for g in self.optimizer.param_groups]
        for i, x in enumerate(self.held):
            yield f"held {i}", x


def _model(t: Any, kind: str) -> Any:
    nn = t.nn

    class Lookup(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.out, self.gain = nn.Embedding(11, 5), nn.Linear(5, 3), {"k": 1.0}

        def forward(self, x: Any) -> Any:
            return self.out(self.table((x.abs() * 3).long().clamp(max=10)).mean(1)) * self.gain["k"]

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.GRU(2, 4, batch_first=True), nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            return self.out(self.cell(x.reshape(len(x), 2, 2))[0][:, -1])

    layers = {
        "layers": [nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)],
        "norm": [nn.Linear(4, 6, bias=False), nn.BatchNorm1d(6), nn.ReLU(), nn.LayerNorm(6), nn.Linear(6, 3)],
        "dropout": [nn.Linear(4, 6), nn.Dropout(0.3), nn.ReLU(), nn.Linear(6, 3)],
        "tied": [nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 3)],
    }
    model = Lookup() if kind == "lookup" else Recurrent() if kind == "recurrent" else nn.Sequential(*layers[kind])
    if kind == "tied":
        model[2].weight = model[0].weight
    return model.double()


EVENTS: dict[str, Callable[[Training], Any]] = {}


def event(f: Callable[[Training], Any]) -> Callable[[Training], Any]:
    EVENTS[f.__name__] = f
    return f


@event
def holds(w: Training) -> None:
    p = w.parameter()
    w.held += [p.grad, p.detach(), p.detach().clone(), p.detach().flatten()[1:]][w.draw.randrange(4) :][:1]


@event
def holds_memory(w: Training) -> None:
    p = w.parameter()
    w.held.append((p.detach() if p.grad is None else w.draw.choice([p.detach(), p.grad])).numpy())


@event
def holds_state(w: Training) -> None:
    w.held += [v for v in w.optimizer.state.get(w.parameter(), {}).values() if isinstance(v, w.t.Tensor)]


@event
def lets_go(w: Training) -> None:
    w.held.clear()


@event
def writes(w: Training) -> None:
    p, how = w.parameter(), w.draw.randrange(6)
    with w.t.no_grad():
        if how == 0:
            p.mul_(0.9)
        elif how == 1:
            p.data.mul_(0.9)
        elif how == 2:
            p[0] = 0.1
        elif how == 3:
            p.data = p.data.clone() * 0.9
        elif how == 4:
            p.detach().numpy().flat[0] += 0.125
        elif p.grad is not None:
            p.grad.mul_(2)


@event
def writes_held(w: Training) -> None:
    for x in w.held:
        if isinstance(x, w.t.Tensor) and x.is_floating_point() and x.dim() and not x.is_inference():
            x.mul_(0.9)


@event
def gives_gradients(w: Training) -> None:
    p = w.parameter()
    p.grad = w.draw.choice([None, w.t.ones_like(p) * 0.1])
    w.held.append(p.grad)


@event
def options(w: Training) -> None:
    group = w.draw.choice(w.optimizer.param_groups)
    key = w.draw.choice([k for k in ("lr", "weight_decay", "maximize", "momentum", "foreach") if k in group])
    group[key] = {"lr": w.draw.choice([0.01, 0.005]), "weight_decay": w.draw.choice([0.0, 0.01, 0.1]), "momentum": 0.7,
                  "maximize": not group.get("maximize"), "foreach": False}[key]  # fmt: skip


@event
def habits(w: Training) -> None:
    w.set_to_none, w.clip = w.draw.random() < 0.5, w.draw.choice([0.0, 0.5])
    w.every, w.scale = w.draw.choice([1, 1, 2, 3]), w.draw.choice([1.0, 0.5])


@event
def schedules(w: Training) -> None:
    of = w.t.optim.lr_scheduler
    w.schedule = w.draw.choice([lambda o: of.StepLR(o, 4, 0.5), lambda o: of.ExponentialLR(o, 0.95), lambda o: None])(
        w.optimizer
    )


@event
def freezes(w: Training) -> None:
    for p in w.model.parameters():
        p.requires_grad_(w.draw.random() < 0.7)


@event
def evaluates(w: Training) -> None:
    w.model.eval()
    with w.draw.choice([w.t.no_grad, w.t.inference_mode, contextlib.nullcontext])():
        w.held.append(w.forward(w.x).detach())
    if w.draw.random() < 0.8:
        w.model.train()


@event
def loads(w: Training) -> None:
    states = w.model.state_dict(), w.optimizer.state_dict()
    if w.saved is None or w.draw.random() < 0.5:
        w.saved = copy.deepcopy(states)
        return
    w.model.load_state_dict(w.saved[0], assign=w.draw.random() < 0.2)
    with contextlib.suppress(ValueError):
        w.optimizer.load_state_dict(copy.deepcopy(w.saved[1]))


@event
def copies(w: Training) -> None:
    twin = copy.deepcopy(w.model)
    w.held += [p.detach() for p in twin.parameters()]
    if w.draw.random() < 0.3:
        w.model, w.schedule = twin, None
        w.begin()
        w.prepare()


@event
def state(w: Training) -> None:
    of, how = w.optimizer.state, w.draw.randrange(3)
    if how == 0:
        of.clear()
    for value in of.get(w.parameter(), {}).values():
        if isinstance(value, w.t.Tensor) and value.dim():
            w.held.append(value.mul_(0.9) if how == 1 else value.clone())


@event
def attributes(w: Training) -> None:
    for m in w.model.modules():
        if isinstance(m, w.t.nn.Dropout):
            m.p = w.draw.choice([0.0, 0.2, 0.5])
        elif isinstance(m, w.t.nn.BatchNorm1d):
            m.momentum = w.draw.choice([0.1, 0.3])
            m.running_mean.mul_(0.5)
        elif hasattr(m, "gain"):
            m.gain["k"] = w.draw.choice([1.0, 2.0])


@event
def parts(w: Training) -> None:
    for m in w.model.modules():
        if isinstance(m, w.t.nn.Linear) and m.out_features == 3:
            m.weight = w.t.nn.Parameter(m.weight.detach() * 0.9)
            w.optimizer.add_param_group({"params": [m.weight]})
    if w.kind == "layers":
        w.model[1] = w.draw.choice([w.t.nn.Tanh, w.t.nn.Sigmoid])()


@event
def hooks(w: Training) -> None:
    for h in w.hooks:
        h.remove()
    p, m = w.parameter(), w.draw.choice(list(w.model.children()))
    of = [lambda: m.register_forward_pre_hook(lambda *_: None),
          lambda: w.optimizer.register_step_post_hook(lambda *_: w.held.append(1.0))]  # fmt: skip
    if p.requires_grad:
        of.append(lambda: p.register_hook(lambda g: g * 0.5))
    w.hooks = [w.draw.choice(of)()]


@event
def breaks(w: Training) -> None:
    def stop(*_: Any) -> None:
        raise Stop

    handle = list(w.model.children())[-1].register_forward_pre_hook(stop)
    with contextlib.suppress(Stop):
        w.step(*w.batch())
    handle.remove()


@event
def graphs(w: Training) -> None:
    loss = w.loss(w.forward(w.batch()[0]), w.t.tensor([0] * len(w.x)))
    if loss.requires_grad:
        loss.backward(retain_graph=True)
        loss.backward()
    w.held.append(loss.detach())


def run(t: Any, seed: int) -> list[tuple[str, Any]]:
    w = Training(t, seed)
    pool, begin, often = w.draw.sample(sorted(EVENTS), 8), w.draw.choice([3, 6, 10]), w.draw.choice([1, 3])
    found: list[tuple[str, Any]] = []
    for i in range(30):
        found.append((f"loss {i}", _plain(w.advance())))
        if i >= begin and w.draw.random() < 0.35:
            name = w.draw.choice(pool)
            EVENTS[name](w)
            found.append((f"event {name}", None))
        if i % often == 0 or i == 29:
            found += [(f"{name} {i}", _plain(x)) for name, x in w.everything()]
    return found


def _plain(x: Any) -> Any:
    return x.detach().clone().tolist() if hasattr(x, "detach") else x.tolist() if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("seed", range(24))
def test_training_with_events(seed: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn of schedules before steps
        expected, found = run(reference, seed), run(jaxtorch, seed)
    assert [name for name, _ in found] == [name for name, _ in expected]
    for (name, a), (_, b) in zip(expected, found, strict=True):
        if a is None or b is None:
            assert a is b, name
        else:
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-7, atol=1e-9, err_msg=name)
