"""`torch.compile`: a compiled program does what the plain one does, call by call, and is replayed where it can be."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxtorch as torch
import jaxtorch.nn.functional as F
from jaxtorch import nn
from jaxtorch._compile import calling
from jaxtorch._core import program
from jaxtorch._core.log import Counts

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="nothing is captured in immediate mode")


def trials(compiled: Any) -> list[Any]:
    run = compiled.__dict__.get("_run") or compiled._compiled
    return list(run.trials.values())


def variants(compiled: Any) -> int:
    return sum(len(t.variants) for t in trials(compiled))


def reasons(compiled: Any) -> list[str]:
    return [t.reason for t in trials(compiled) if t.reason]


def flat(x: Any) -> list[Any]:
    if isinstance(x, torch.Tensor):
        return [x.detach().tolist()]
    if isinstance(x, dict):
        return [y for v in x.values() for y in flat(v)]
    if isinstance(x, (list, tuple)):
        return [y for v in x for y in flat(v)]
    return [x]


def close(a: Any, b: Any) -> None:
    for x, y in zip(flat(a), flat(b), strict=True):
        np.testing.assert_allclose(np.asarray(x, dtype=float), np.asarray(y, dtype=float), rtol=2e-5, atol=1e-6)


Build = Callable[[], tuple[Callable[..., Any], Callable[[], Any]]]


def compare(build: Build, calls: int = 6, captures: int | None = 1, make: Any = None) -> Any:
    """Run the built step plainly and compiled, from the same seed; all results and the final state must agree."""
    make = make or (lambda i: (torch.linspace(-1, 1, 32).reshape(8, 4) * (i + 1), torch.arange(8) % 3))

    def run(compile_it: bool) -> Any:
        torch.manual_seed(3)
        step, state = build()
        called = torch.compile(step) if compile_it else step
        results = [flat(called(*make(i))) for i in range(calls)]
        return results, flat(state()), called

    plain, compiled = run(False), run(True)
    for a, b in zip(plain[0], compiled[0], strict=True):
        close(a, b)
    close(plain[1], compiled[1])
    assert captures is None or variants(compiled[2]) == captures, reasons(compiled[2])
    return compiled[2]


def network(*extra: Any) -> Any:
    return nn.Sequential(nn.Linear(4, 8), *extra, nn.Tanh(), nn.Linear(8, 3))


def training(net: Any, optimizer: Any, scheduler: Any = None, clip: bool = False) -> Any:
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        return loss

    def state():
        grads = [p.grad for p in net.parameters() if p.grad is not None]
        buffers = [v for s in optimizer.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
        return [net.state_dict(), grads, buffers, [g["lr"] for g in optimizer.param_groups]]

    return step, state


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
    def build():
        net = network()
        return training(net, OPTIMIZERS[name](net.parameters()), clip=name == "Adam")

    compare(build)


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


# -- what Python holds

SCALE = 2.0


def test_a_global_and_a_closure_value_changed():
    global SCALE
    SCALE, shift = 2.0, 1.0
    table = {"k": 1.0, "list": [1.0, 2.0]}

    def f(x):
        return x * SCALE + shift + table["k"] + sum(table["list"])

    compiled = torch.compile(f)
    x = torch.ones(3)
    for i in range(12):
        if i == 4:
            SCALE = 5.0
        if i == 6:
            shift = 7.0
        if i == 8:
            table["k"] = 9.0
        if i == 10:
            table["list"].append(4.0)
        close(compiled(x), f(x))


def test_python_arguments_and_structures():
    def f(x, n, *, mode="a", extra=None):
        out = x
        for _ in range(n):
            out = out + 1
        if mode == "b":
            out = -out
        return {"out": out, "n": n, "pair": (out * 2, extra and extra["z"] * 3), "x": x}

    compiled = torch.compile(f)
    x = torch.ones(2)
    for n, mode in [(1, "a"), (2, "a"), (1, "b"), (2, "a"), (2, "a"), (1, "a"), (1, "a"), (1, "b"), (1, "b")]:
        got = compiled(x, n, mode=mode, extra={"z": x})
        assert got["x"] is x and got["n"] == n
        close(got, f(x, n, mode=mode, extra={"z": x}))
    assert variants(compiled) == 3


def test_state_that_a_call_rebinds():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.h = torch.zeros(2, 4)
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.h = torch.tanh(self.linear(x) + self.h.detach())
            self.count += 1
            return self.h

    def build():
        cell = Cell()
        return (lambda x: cell(x)), lambda: [cell.h, cell.count]

    compare(build, make=lambda i: (torch.ones(2, 4) * i,))


class Config:
    factor = 2.0

    def __init__(self):
        self.inner = {"deep": [1.0, {"er": 3.0}]}


def test_objects_and_class_attributes():
    config = Config()

    def f(x):
        return x * config.factor + config.inner["deep"][1]["er"]

    compiled = torch.compile(f)
    x = torch.ones(2)
    try:
        for i in range(12):
            if i == 4:
                config.inner["deep"][1]["er"] = 8.0
            if i == 6:
                Config.factor = 5.0
            if i == 9:
                config.factor = 11.0  # now the instance's own
            close(compiled(x), f(x))
    finally:
        Config.factor = 2.0


def test_helpers_decorators_and_partials():
    from functools import partial

    def helper(x, k):
        return x * k

    double = partial(helper, k=2.0)

    @torch.no_grad()
    def quiet(x):
        return double(x).relu()

    def f(x):
        return quiet(x) + [helper(x, j) for j in range(3)][-1] + max([1, 2])

    compiled = torch.compile(f)
    for _ in range(4):
        x = torch.randn(3)
        close(compiled(x), f(x))
    assert variants(compiled) == 1, reasons(compiled)


# -- what falls back


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("item", "value is needed|content of a tensor"), ("branch", "value is needed|content of"), ("print", "print"),
        ("random", "random"), ("numpy", "random"), ("counter", "changes at each call"), ("append", "changes at each call"),
        ("generator", "cannot be watched|state"), ("clock", "time"), ("mask", "value is needed|content"),
    ],
)  # fmt: skip
def test_what_cannot_be_captured_runs_as_ever(name: str, reason: str, capsys: pytest.CaptureFixture[str]):
    class State:
        n = 0

    state, log, source = State(), [], iter(range(100))

    def append(x):
        log.append(x + 1)
        return x + len(log)

    def counter(x):
        state.n = state.n + 1
        return x * state.n

    def shout(x):
        print("hello")
        return x + 1

    f = {
        "item": lambda x: x * float(x.sum().item()),
        "branch": lambda x: x + 1 if x.sum() > 0 else x - 1,
        "print": shout,
        "random": lambda x: x * random.random(),
        "numpy": lambda x: x * float(np.random.rand()),
        "counter": counter,
        "append": append,
        "generator": lambda x: x + next(source),
        "clock": lambda x: x + time.time() * 0,
        "mask": lambda x: x[x > 0].sum() + x,
    }[name]
    torch.manual_seed(0)
    compiled = torch.compile(f)
    for i in range(5):
        sign = 1 if i % 2 else -1
        x = torch.tensor([1.0, 2.0]) * sign
        random.seed(0), np.random.seed(0)
        got = compiled(x)
        random.seed(0), np.random.seed(0)
        match name:
            case "counter":
                close(got, x * (i + 1))
            case "append":
                close(got, x + i + 1)
            case "generator":
                close(got, x + i)
            case _:
                close(got, f(x))
    assert variants(compiled) == 0
    assert re.search(reason, reasons(compiled)[0]), reasons(compiled)


def test_fullgraph_raises_the_reason():
    f = torch.compile(lambda x: x * x.sum().item(), fullgraph=True)
    f(torch.ones(2))
    with pytest.raises(calling.Unsupported, match=r"cannot be captured: .* \(.*test_compile.py:\d+\)"):
        f(torch.ones(2))


def test_a_condition_that_changes_at_each_call_is_given_up():
    class Box:
        value = 0.0

    box = Box()
    f = torch.compile(lambda x: x + box.value)
    for i in range(14):
        box.value = float(i)
        close(f(torch.zeros(2)), torch.full((2,), float(i)))
    assert "value changes too often" in reasons(f)[0]


# -- memory that others hold


def test_what_the_user_holds_of_parameters_and_gradients():
    net = nn.Linear(4, 3)
    step, _ = training(net, torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9))
    compiled = torch.compile(step)
    x, y = torch.randn(8, 4), torch.arange(8) % 3
    for i in range(7):
        copy, alias, version = net.weight.detach().clone(), net.weight.detach(), net.weight._version
        old_grad = net.weight.grad
        kept = None if old_grad is None else old_grad.tolist()
        before = copy.tolist()
        compiled(x, y)
        assert copy.tolist() == before, i
        assert alias.tolist() == net.weight.tolist() != before
        assert old_grad is None or old_grad.tolist() == kept
        assert net.weight._version == version + 1
        assert net.weight.grad is not old_grad


def test_a_graph_made_outside_notices_a_compiled_update():
    net = nn.Linear(4, 3)
    step, _ = training(net, torch.optim.SGD(net.parameters(), lr=0.5))
    compiled = torch.compile(step)
    x, y = torch.randn(8, 4, requires_grad=True), torch.arange(8) % 3
    for _ in range(4):
        compiled(x.detach(), y)
    out = net(x)
    compiled(x.detach(), y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_in_place_on_an_argument_and_on_a_view():
    def f(x, i):
        x[1:3] += 1
        x.mul_(2)
        return x

    compiled = torch.compile(f)
    for _ in range(4):
        a, b = torch.arange(5.0), torch.arange(5.0)
        assert compiled(a, 0) is a
        close(a, f(b, 0))
        assert a._version == b._version


def test_views_of_results_keep_their_strides():
    f = torch.compile(lambda x: (x + 1).t())
    for _ in range(4):
        out = f(torch.randn(2, 3))
        assert out.stride() == (1, 3) and not out.is_contiguous()


def test_arguments_shared_with_numpy_and_pending():
    f = torch.compile(lambda x: x * 2 + 1)
    array = np.arange(4, dtype=np.float32)
    shared = torch.from_numpy(array)
    base = torch.arange(8.0)
    for i in range(5):
        array[0] = i
        close(f(shared), shared * 2 + 1)
        close(f(base[4:] * i), base[4:] * i * 2 + 1)


def test_data_errors_are_raised():
    table = torch.randn(4, 2)
    f = torch.compile(lambda i: F.embedding(i, table))
    for _ in range(4):
        f(torch.tensor([1, 2])).sum().item()
    with pytest.raises(IndexError):
        f(torch.tensor([1, 9])).sum().item()


def test_reset_and_switches():
    f = torch.compile(lambda x: x + 1)
    for _ in range(3):
        f(torch.ones(2))
    assert variants(f) == 1
    torch.compiler.reset()
    assert trials(f) == []
    plain = lambda x: x  # noqa: E731
    assert torch.compile(plain, disable=True) is plain


def test_a_module_pickles_and_lists_its_state_as_in_pytorch():
    net = nn.Linear(2, 2)
    model = torch.compile(net)
    assert list(model.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert model.weight is net.weight and model._orig_mod is net
