"""`torch.compile`: what changes between calls, or within them, is seen; whatever a call keeps is kept."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import jaxtorch as torch
import jaxtorch.nn.functional as F
from compile_kit import close, compare, flat, network, reasons, training, variants
from jaxtorch import nn
from jaxtorch._core.record import program
from jaxtorch.profiler import profile, record_function
from jaxtorch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="nothing is captured in immediate mode")


def x_of(i: int) -> Any:
    return torch.linspace(-1, 1, 32).reshape(8, 4) * (i + 1) * 0.3


Y = torch.arange(8) % 3


def both(scenario: Callable[[Any], Any], captures: int | None = None) -> list[Any]:
    """The scenario, a function of what compiles, with and without compilation; what was compiled."""
    made: list[Any] = []

    def compiling(f: Any) -> Any:
        made.append(torch.compile(f))
        return made[-1]

    torch.manual_seed(0)
    expected = scenario(lambda f: f)
    torch.manual_seed(0)
    close(expected, scenario(compiling))
    assert captures is None or sum(map(variants, made)) == captures, [reasons(c) for c in made]
    return made


MORE_OPTIMIZERS = {
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "ASGD": lambda p: torch.optim.ASGD(p, lr=0.01, t0=2),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
}


@pytest.mark.parametrize("name", MORE_OPTIMIZERS)
def test_optimizers_that_count_more_than_steps(name: str):
    def build():
        net = network()
        return training(net, MORE_OPTIMIZERS[name](net.parameters()))

    compare(build)


@pytest.mark.parametrize("of", ["weight_norm", "spectral_norm", "orthogonal"])
def test_parametrized_layers(of: str):
    def build():
        net = nn.Sequential(getattr(nn.utils.parametrizations, of)(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 3))
        return training(net, torch.optim.SGD(net.parameters(), lr=0.1))

    compare(build)


def test_checkpoints_draw_their_dropout_once():
    def scenario(compiling: Any) -> Any:
        inner, last = network(nn.Dropout(0.3)), nn.Linear(3, 3)
        optimizer = torch.optim.SGD([*inner.parameters(), *last.parameters()], lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(last(checkpoint(inner, x, use_reentrant=False)), Y)
            loss.backward()
            optimizer.step()
            return loss

        f = compiling(step)
        return [flat(f(x_of(i))) for i in range(6)], flat(inner.state_dict()), flat(torch.rand(3))

    both(scenario, captures=1)


def test_slots_and_tuples_that_a_call_rebinds():
    def scenario(compiling: Any) -> Any:
        class Cell(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.cell, self.state = nn.LSTMCell(4, 4), (torch.zeros(8, 4), torch.zeros(8, 4))
                self.past = [torch.zeros(8, 4), torch.ones(8, 4)]

            def forward(self, x: Any) -> Any:
                h, c = self.cell(x, self.state)
                self.state = (h.detach(), c.detach())
                self.past.append(h.detach() + self.past[-1])
                self.past.pop(0)
                return h + self.past[0]

        cell = Cell()
        f = compiling(cell)
        seen = []
        for i in range(7):
            if i == 4:
                cell.state = (torch.ones(8, 4), torch.ones(8, 4))
            y = f(x_of(i))
            y.sum().backward()
            seen.append([flat(y), flat(list(cell.state)), flat(cell.past), flat(cell.cell.weight_hh.grad)])
        return seen

    both(scenario, captures=1)


def test_a_slot_whose_tensor_stands_elsewhere_too():
    def scenario(compiling: Any) -> Any:
        held = {"first": torch.zeros(4)}
        held["now"] = held["first"]

        def step(x: Any) -> Any:
            held["now"] = torch.tanh(held["now"] + x.sum(0))
            return held["now"] + held["first"]

        f = compiling(step)
        seen = []
        for i in range(8):
            if i in (1, 4):
                held["now"] = held["first"]
            seen.append([flat(f(x_of(i))), flat(held["first"])])
        return seen

    both(scenario)


def test_parameters_frozen_for_a_while_keep_their_own_count():
    def scenario(compiling: Any) -> Any:
        net = network()
        step, state = training(net, torch.optim.Adam(net.parameters(), lr=0.01))
        f = compiling(step)
        seen = []
        for on in (True, False, True):
            net[0].weight.requires_grad_(on)
            seen += [[flat(f(x_of(i), Y)), flat(state())] for i in range(4)]
        return seen

    both(scenario, captures=4)  # frozen with the last gradient, and without one


def test_hooks_on_every_module():
    def scenario(compiling: Any) -> Any:
        f = compiling(network())
        seen = [flat(f(x_of(i))) for i in range(4)]
        handle = nn.modules.module.register_module_forward_hook(lambda m, a, out: out * (1 + isinstance(m, nn.Tanh)))
        seen += [flat(f(x_of(i))) for i in range(4)]
        handle.remove()
        return seen + [flat(f(x_of(i))) for i in range(4)]

    both(scenario, captures=1)


def test_arguments_that_the_call_also_reaches_otherwise():
    def scenario(compiling: Any) -> Any:
        w, v = torch.ones(3), torch.ones(3)

        def step(a: Any) -> Any:
            w.mul_(2)
            return a + w

        f = compiling(step)
        seen = []
        for i in range(8):
            seen.append([flat(f(w if i % 2 else v)), flat([w, v])])
        for i in range(8):
            seen.append([flat(f(w[:] if i % 2 else v.clone()[:])), flat([w, v])])
        return seen

    both(scenario)


def test_arguments_that_share_memory():
    def scenario(compiling: Any) -> Any:
        f = compiling(lambda a, b: a.add_(1) * b)
        seen = []
        for i in range(9):
            x, y = torch.ones(4), torch.full((4,), 2.0)
            seen.append([flat(f(x[:3], (x if i % 2 else y)[1:])), flat([x, y])])
            seen.append([flat(f(x, x if i % 2 else y)), flat([x, y])])
        return seen

    both(scenario)


def test_defaults_and_code_of_a_function():
    def scenario(compiling: Any) -> Any:
        def fn(x: Any, k: Any = [1.0]) -> Any:  # noqa: B006
            return x * k[0]

        def other(x: Any, k: Any = ()) -> Any:
            return x * 7

        f = compiling(fn)
        seen = [flat(f(x_of(1))) for _ in range(4)]
        fn.__defaults__[0][0] = 3.0  # type: ignore[index]
        seen += [flat(f(x_of(1))) for _ in range(4)]
        fn.__defaults__ = ([5.0],)
        seen += [flat(f(x_of(1))) for _ in range(4)]
        fn.__code__ = other.__code__
        return seen + [flat(f(x_of(1))) for _ in range(4)]

    both(scenario)


def test_what_a_replay_would_leave_out():
    """Warnings, calls of a writer and of a logger, ranges of a profile: each call makes them."""

    class Writer:
        def __init__(self) -> None:
            self.events: list[Any] = []

        def add_scalar(self, *event: Any) -> None:
            self.events.append(event)

    writer = Writer()

    def warns(x: Any) -> Any:
        warnings.warn("again", stacklevel=1)
        return x * 2

    def writes(x: Any) -> Any:
        writer.add_scalar("loss", 1.0, 2)
        return x * 2

    def names(x: Any) -> Any:
        with record_function("doubling"):
            return x * 2

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f = torch.compile(warns)
        for i in range(5):
            f(x_of(i))
    assert len([w for w in seen if str(w.message) == "again"]) == 5
    g = torch.compile(writes)
    for i in range(5):
        g(x_of(i))
    assert len(writer.events) == 5 and reasons(g)
    h = torch.compile(names)
    for i in range(4):
        h(x_of(i))
    assert variants(h) == 1
    with profile() as p:
        for i in range(3):
            h(x_of(i))
    assert [e.count for e in p.key_averages() if e.key == "doubling"] == [3]


def test_decorated_methods_and_compiled_functions_inside():
    def scenario(compiling: Any) -> Any:
        class Scaled(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner, self.factor = compiling(network()), 1.0

            @compiling
            def forward(self, x: Any) -> Any:
                return self.inner(x) * self.factor

        both_of = Scaled(), Scaled()
        seen = [flat(m(x_of(i))) for i in range(4) for m in both_of]
        both_of[0].factor = 2.0
        return seen + [flat(m(x_of(i))) for i in range(4) for m in both_of] + [flat(m.inner(x_of(1))) for m in both_of]

    both(scenario)


def test_a_copy_of_a_compiled_module_is_its_own():
    net = network()
    compiled = torch.compile(net)
    expected = [flat(compiled(x_of(i))) for i in range(4)]
    other = copy.deepcopy(compiled)
    with torch.no_grad():
        net[0].weight.zero_()
    close(expected, [flat(other(x_of(i))) for i in range(4)])
    close(flat(compiled(x_of(0))), flat(net(x_of(0))))
    assert variants(other) == 1 and other._orig_mod is not net


def test_manual_updates_through_data():
    def scenario(compiling: Any) -> Any:
        w = torch.ones(4)

        def step(x: Any) -> Any:
            w.data = w.data * 0.5 + x.sum(0)
            return w * 1

        f = compiling(step)
        return [[flat(f(x_of(i))), flat(w)] for i in range(6)]

    both(scenario, captures=1)
