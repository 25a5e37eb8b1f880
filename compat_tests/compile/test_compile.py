"""`torch.compile`: whole training steps, and modules, do what they do uncompiled, call by call."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import pytest

import jaxtorch as torch
import jaxtorch.nn.functional as F
from compile_kit import close, compare, network, reasons, training, variants
from jaxtorch import nn
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program
from jaxtorch._core.run.log import Counts

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="nothing is captured in immediate mode")


@pytest.fixture(autouse=True)
def the_plain_loop_is_compiled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """RMSprop's first steps divide gradients by their own size: where NumPy rounds otherwise, they part."""
    monkeypatch.setattr(tiering, "RUNS", 0)


# -- whole training steps

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01, lr_decay=0.1),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_step(name: str):
    """In double precision: dividing by the root of a small mean makes a hundred times as much of a float32's rounding."""

    def build():
        net = network().double()
        return training(net, OPTIMIZERS[name](net.parameters()), clip=name == "Adam")

    def make(i: int):
        return torch.linspace(-1, 1, 32, dtype=torch.float64).reshape(8, 4) * (i + 1), torch.arange(8) % 3

    compare(build, make=make)


def test_dropout_draws_new_masks_and_batchnorm_counts():
    def build():
        net = network(nn.BatchNorm1d(8), nn.Dropout(0.5))
        return training(net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9))

    compare(build)


def test_replaying_compiles_nothing_and_runs_no_python():
    net = network()
    step, _ = training(net, torch.optim.Adam(net.parameters()))
    compiled = torch.compile(step)
    x, y = torch.randn(8, 4), torch.arange(8) % 3
    for _ in range(3):
        compiled(x, y).item()
    before = Counts.structures, Counts.compiled
    entered = []
    sys.setprofile(lambda frame, event, arg: entered.append(frame.f_code.co_name))
    try:
        losses = [compiled(x, y) for _ in range(4)]
    finally:
        sys.setprofile(None)
    assert "step" not in entered and "forward" not in entered and "emit" not in entered
    assert len({t.item() for t in losses}) == 4
    assert (Counts.structures, Counts.compiled) == before


def test_the_learning_rate_may_follow_a_schedule():
    def build():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        step, state = training(net, optimizer)
        rates = iter([0.1, 0.05, 0.2, 0.3, 0.01, 0.02])

        def make(i):
            return torch.linspace(-1, 1, 32).reshape(8, 4), torch.arange(8) % 3

        def outer(i):
            optimizer.param_groups[0]["lr"] = next(rates)
            return make(i)

        build.make = outer  # type: ignore[attr-defined]
        return step, state

    compare(build, make=lambda i: build.make(i))  # type: ignore[attr-defined]


def test_an_option_that_changes_the_program_is_captured_anew():
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    step, _ = training(net, optimizer)
    twin = network()
    twin.load_state_dict(net.state_dict())
    other = torch.optim.SGD(twin.parameters(), lr=0.1)
    plain, _ = training(twin, other)
    compiled = torch.compile(step)
    x, y = torch.randn(8, 4), torch.arange(8) % 3
    for i in range(8):
        if i == 4:
            optimizer.param_groups[0]["weight_decay"] = other.param_groups[0]["weight_decay"] = 0.3
        close(compiled(x, y), plain(x, y))
    close(net.state_dict(), twin.state_dict())


@pytest.mark.parametrize("name", ["StepLR", "OneCycleLR", "SequentialLR", "CosineAnnealingLR"])
def test_the_scheduler_may_be_part_of_the_step(name: str):
    def build():
        net = network()
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
        schedules = torch.optim.lr_scheduler
        scheduler = {
            "StepLR": lambda: schedules.StepLR(optimizer, 2, gamma=0.5),
            "OneCycleLR": lambda: schedules.OneCycleLR(optimizer, 0.3, total_steps=20),
            "CosineAnnealingLR": lambda: schedules.CosineAnnealingLR(optimizer, 5),
            "SequentialLR": lambda: schedules.SequentialLR(
                optimizer, [schedules.ConstantLR(optimizer), schedules.ExponentialLR(optimizer, 0.5)], [3]
            ),
        }[name]()
        return training(net, optimizer, scheduler)

    captures = 1 if name != "OneCycleLR" else None
    compare(build, captures=captures)


def test_gradients_accumulate_across_compiled_calls():
    def build():
        net = network()

        def step(x, y):
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        return step, lambda: [p.grad for p in net.parameters()]

    compare(build)


def test_gradients_dropped_between_compiled_calls():
    def build():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def backward(x, y):
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        def make(i):
            if i:
                optimizer.step()
                optimizer.zero_grad()
            return torch.linspace(-1, 1, 32).reshape(8, 4), torch.arange(8) % 3

        build.make = make  # type: ignore[attr-defined]
        return backward, lambda: net.state_dict()

    compare(build, make=lambda i: build.make(i))  # type: ignore[attr-defined]


# -- modules


def test_a_module_with_backward_and_optimizer_outside():
    def run(compile_it: bool) -> Any:
        torch.manual_seed(0)
        net = network(nn.Dropout(0.3), nn.BatchNorm1d(8))
        model = torch.compile(net) if compile_it else net
        optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
        losses = []
        for i in range(7):
            x = torch.linspace(-1, 1, 32).reshape(8, 4) * (i + 1)
            loss = F.cross_entropy(model(x), torch.arange(8) % 3)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            outs = [model(x) for _ in range(4)]
        return losses, outs, net.state_dict(), model

    plain, compiled = run(False), run(True)
    close(plain[0], compiled[0])
    close(plain[1], compiled[1])
    close(plain[2], compiled[2])
    assert variants(compiled[3]) == 2, reasons(compiled[3])


def test_the_gradient_of_the_input_and_of_several_results():
    weight = torch.randn(4, 4, requires_grad=True)

    def f(x):
        h = torch.tanh(x @ weight)
        return h, (h * h).sum(), h.detach() * 1

    compiled = torch.compile(f)
    for use in ("both", "first", "second", "both", "first", "second"):
        x = torch.randn(3, 4, requires_grad=True)
        found = []
        for g in (f, compiled):
            a, b, c = g(x * 2)
            assert not c.requires_grad and a.requires_grad
            total = {"both": a.sum() + b, "first": a.sum(), "second": b}[use]
            found.append(torch.autograd.grad(total, [x, weight]))
        close(*found)
    assert variants(compiled) == 1, reasons(compiled)


def test_backward_twice_and_double_backward_raise():
    w = torch.randn(3, requires_grad=True)
    f = torch.compile(lambda x: (x * w).exp())
    for _ in range(3):
        out = f(torch.ones(3))
    assert type(out.grad_fn).__name__ == "CompiledFunctionBackward"
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    with pytest.raises(RuntimeError, match="double backward"):
        torch.autograd.grad(f(torch.ones(3)).sum(), w, create_graph=True)


@pytest.mark.parametrize("backend", ["eager", lambda graph, example: graph.forward])
def test_backends_without_aot_autograd_allow_double_backward(backend):
    w = torch.ones(2, requires_grad=True)
    said = (
        nullcontext() if backend == "eager" else pytest.warns(UserWarning, match="the backend <lambda> is not called")
    )
    with said:
        f = torch.compile(lambda x: (w * x).sin().sum(), backend=backend, fullgraph=True)
        step = torch.compile(lambda x: x * 2, backend=backend)
    for _ in range(4):
        (g,) = torch.autograd.grad(f(torch.ones(2)), w, create_graph=True)
        close(torch.autograd.grad(g.sum(), w), [-w.detach().sin()])
        step(w.detach())
    assert variants(f) == 0 and variants(step) == 1


def test_a_graph_that_cannot_go_backward_raises_in_backward_only():
    class Refusing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise ValueError("not here")

    w = torch.ones(2, requires_grad=True)

    def overwritten(x):
        out = (w * x).sum()
        x.add_(1)
        return out

    for f, error in ((torch.compile(overwritten), RuntimeError), (torch.compile(Refusing.apply), ValueError)):
        for _ in range(4):
            out = f(torch.ones(2) * w.detach() if error is RuntimeError else w)
            with pytest.raises(error):
                out.sum().backward()


def test_results_made_in_inference_mode_are_marked_in_replays():
    w = torch.ones(2, 2)

    def f(x):
        with torch.inference_mode():
            a = x @ w
            b = a[0]
        return a, b, x * 2

    def g(x):
        with torch.inference_mode(False):
            return x * 2

    f, g = torch.compile(f), torch.compile(g)
    for _ in range(4):
        assert [t.is_inference() for t in f(torch.ones(2, 2))] == [True, True, False]
        with torch.inference_mode():
            assert not g(torch.ones(2)).is_inference()
    assert variants(f) == 1


def test_writing_to_what_a_compiled_call_saved_raises():
    w = torch.randn(3, requires_grad=True)
    f = torch.compile(lambda x: x * w)
    for _ in range(3):
        x = torch.ones(3)
        out = f(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_eval_after_compile():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.9))
    model = torch.compile(net)
    x = torch.ones(2, 4)
    for _ in range(4):
        model(x)
    model.eval()
    for _ in range(4):
        close(model(x), net[0](x))
    model.train()
    assert len({str(model(x).tolist()) for _ in range(4)}) > 1


def test_a_second_shape():
    net = network()
    model = torch.compile(net)
    for n in (8, 8, 8, 5, 5, 5, 8, 3, 5):
        x = torch.randn(n, 4)
        close(model(x), net(x))
    assert variants(model) == 2


@pytest.mark.parametrize(
    "change", ["layer", "parameter", "data", "attribute", "hook", "forward", "load", "requires_grad"]
)
def test_a_module_mutated_after_compile(change: str):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = network()
            self.scale = 2.0

        def forward(self, x):
            return self.body(x) * self.scale

    net = Scaled()
    model = torch.compile(net)
    x = torch.randn(2, 4)
    for _ in range(4):
        model(x)
    fresh = network()
    match change:
        case "layer":
            net.body[0] = fresh[0]
        case "parameter":
            net.body[0].weight = fresh[0].weight
        case "data":
            net.body[0].weight.data = fresh[0].weight.data.clone()
        case "attribute":
            net.scale = 3.0
        case "hook":
            net.body[1].register_forward_hook(lambda m, i, o: o + 1)
        case "forward":
            net.body[1].forward = lambda x: x + 5
        case "load":
            net.body.load_state_dict(fresh.state_dict())
        case "requires_grad":
            net.body[0].weight.requires_grad_(False)
    for _ in range(4):
        a, b = model(x), net(x)
        close(a, b)
        grads = [torch.autograd.grad(t.sum(), [p for p in net.parameters() if p.requires_grad]) for t in (a, b)]
        close(*grads)


def test_autocast_and_inference_mode():
    net = network()
    model = torch.compile(net)
    x = torch.randn(3, 4)
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert model(x).dtype == torch.bfloat16
        assert model(x).dtype == torch.float32
        with torch.inference_mode():
            assert model(x).is_inference()
    assert variants(model) == 3, reasons(model)
    with torch.inference_mode():
        made = x + 1
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        model(made)


def test_a_gan_step_and_a_moving_average_of_weights():
    def build():
        generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
        of_generator = torch.optim.Adam(generator.parameters(), lr=0.01)
        of_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
        average = [p.detach().clone() for p in generator.parameters()]
        entropy = F.binary_cross_entropy_with_logits

        def step(x, y):
            fake = generator(torch.randn(8, 2))
            of_critic.zero_grad()
            real = entropy(critic(x), torch.ones(8, 1)) + entropy(critic(fake.detach()), torch.zeros(8, 1))
            real.backward()
            of_critic.step()
            of_generator.zero_grad()
            fooled = entropy(critic(fake), torch.ones(8, 1))
            fooled.backward()
            of_generator.step()
            with torch.no_grad():
                for a, p in zip(average, generator.parameters(), strict=True):
                    a.mul_(0.9).add_(p, alpha=0.1)
            return real, fooled

        return step, lambda: [average, critic.state_dict()]

    compare(build)
