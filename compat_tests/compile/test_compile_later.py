"""Compiled calls whose surroundings change after they were captured: what PyTorch does without compiling is what is right."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch
from jaxtorch._core.record import program
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER

Event = Callable[[Any, int], None]


def numbers(t: Any, seed: int, *shape: int) -> Any:
    return t.tensor(np.random.RandomState(seed).randn(*shape))


def layer(t: Any, inputs: int, outputs: int, seed: int = 0) -> Any:
    made = t.nn.Linear(inputs, outputs).double()
    with t.no_grad():
        made.weight.copy_(numbers(t, seed, outputs, inputs))
        made.bias.copy_(numbers(t, seed + 1, outputs))
    return made


def network(t: Any) -> Any:
    return t.nn.Sequential(layer(t, 4, 5), t.nn.Tanh(), layer(t, 5, 3, 7))


def compiled(t: Any, f: Any) -> Any:
    return f if t is reference else t.compile(f)


def agree(body: Callable[[Any], Any]) -> None:
    expected, found = body(reference), body(jaxtorch)
    assert len(expected) == len(found)
    for step, (a, b) in enumerate(zip(expected, found, strict=True)):
        np.testing.assert_allclose(_flat(b), _flat(a), rtol=1e-8, atol=1e-10, err_msg=f"step {step}")


def _flat(x: Any) -> list[float]:
    if isinstance(x, (list, tuple)):
        return [y for item in x for y in _flat(item)]
    return _flat(x.detach().clone().tolist()) if hasattr(x, "tolist") else [float("nan") if x is None else float(x)]


def training(event: Event, make: Any = None, calls: int = 14, inner: int = 1) -> Callable[[Any], Any]:
    """A training step, compiled whole; before call i comes `event(everything, i)`."""

    def body(t: Any) -> Any:
        model = network(t)
        optimizer = (make or (lambda t, p: t.optim.Adam(p, lr=0.1)))(t, model.parameters())
        seen: dict[str, Any] = {"t": t, "model": model, "optimizer": optimizer, "count": 0}

        def step(x: Any) -> Any:
            for _ in range(inner):
                optimizer.zero_grad()
                loss = (model(x) ** 2).mean()
                loss.backward()
                optimizer.step()
            return loss.detach()

        run, found = compiled(t, step), []
        for i in range(calls):
            event(seen, i)
            loss = run(numbers(t, i, 5, 4))
            found.append([_flat(loss), *map(_flat, model.parameters()), seen["count"]])
        return found

    return body


def nothing(_: Any, __: int) -> None:
    """No event."""


@pytest.mark.parametrize("name", ["Adam", "NAdam", "ASGD", "RAdam", "Adafactor", "SGD"])
def test_several_steps_in_one_call(name: str):
    agree(training(nothing, lambda t, p: getattr(t.optim, name)(p, lr=0.05), 6, 3))


@pytest.mark.parametrize("first", [True, False])
def test_a_step_after_its_schedule(first: bool):
    def body(t: Any) -> Any:
        model = network(t)
        optimizer = t.optim.SGD(model.parameters(), lr=0.1)
        schedule = t.optim.lr_scheduler.StepLR(optimizer, 5, 0.1)
        optimizer.step()

        def step(x: Any) -> Any:
            if first:
                schedule.step()
            (model(x) ** 2).mean().backward()
            optimizer.step()
            if not first:
                schedule.step()

        run, found = compiled(t, step), []
        for i in range(12):
            run(numbers(t, i, 5, 4))
            found.append([*map(_flat, model.parameters()), schedule.get_last_lr()])
        return found

    agree(body)


def test_options_set_in_the_call():
    def body(t: Any) -> Any:
        model = network(t)
        optimizer = t.optim.SGD(model.parameters(), lr=0.01)

        def step(x: Any) -> Any:
            for rate in (0.1, 0.01):
                optimizer.param_groups[0]["lr"] = rate
                (model(x) ** 2).mean().backward()
                optimizer.step()

        run, found = compiled(t, step), []
        for i in range(6):
            run(numbers(t, i, 5, 4))
            found.append([*map(_flat, model.parameters())])
        return found

    agree(body)


OPTIONS: dict[str, list[tuple[str, Any]]] = {
    "SGD": [("momentum", 0.9), ("nesterov", True), ("momentum", 0.5), ("nesterov", False), ("dampening", 0.5),
            ("weight_decay", 0.1), ("maximize", True), ("momentum", 0.0), ("momentum", 0.9)],
    "Adam": [("maximize", True), ("weight_decay", 0.1), ("betas", (0.5, 0.9)), ("eps", 0.1), ("betas", (0.9, 0.999)),
             ("decoupled_weight_decay", True), ("weight_decay", 0.0), ("foreach", True)],
    "RMSprop": [("alpha", 0.5), ("weight_decay", 0.1), ("eps", 0.1), ("maximize", True), ("lr", 0.01)],
    "Adagrad": [("lr_decay", 0.5), ("weight_decay", 0.1), ("eps", 0.1), ("maximize", True)],
    "Rprop": [("etas", (0.4, 1.3)), ("step_sizes", (0.01, 0.2)), ("maximize", True)],
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_options_changed_between_calls(name: str):
    changes = OPTIONS[name]

    def event(seen: Any, i: int) -> None:
        if i >= 4 and i % 3 == 1 and i // 3 - 1 < len(changes):
            key, value = changes[i // 3 - 1]
            seen["optimizer"].param_groups[0][key] = value

    agree(training(event, lambda t, p: getattr(t.optim, name)(p, lr=0.05), 34))


@pytest.mark.parametrize("what", ["before", "after", "every"])
def test_hooks_on_a_step_that_was_captured(what: str):
    def event(seen: Any, i: int) -> None:
        def hook(*_: Any) -> None:
            seen["count"] += 1

        if i == 5:
            every = sys.modules[seen["t"].optim.Optimizer.__module__].register_optimizer_step_post_hook
            of = {
                "before": seen["optimizer"].register_step_pre_hook,
                "after": seen["optimizer"].register_step_post_hook,
            }
            seen["handle"] = of.get(what, every)(hook)
        elif i == 9:
            seen["handle"].remove()

    agree(training(event))


@pytest.mark.parametrize("after", [False, True])
def test_hooks_on_a_parameter_of_a_captured_step(after: bool):
    def doubled(p: Any) -> None:
        p.grad.mul_(2)

    def event(seen: Any, i: int) -> None:
        weight = seen["model"][0].weight
        if i == 3 and not after:
            seen["handle"] = weight.register_hook(lambda g: g * 3)
        elif i == 5:
            seen["other"] = weight.register_post_accumulate_grad_hook(doubled) if after else weight.register_hook(abs)
        elif i == 9:
            seen["other"].remove()

    agree(training(event))


def test_modules_in_another_order():
    def event(seen: Any, i: int) -> None:
        modules = seen["model"]._modules
        if i in (5, 9):  # 0 2 1, and as it was
            modules["1" if i == 5 else "2"] = modules.pop("1" if i == 5 else "2")

    agree(training(event))


@pytest.mark.parametrize("what", ["number", "tensor"])
def test_what_only_the_backward_of_a_function_reads(what: str):
    def body(t: Any) -> Any:
        number, tensor = [1], t.ones(1).double()

        class Scaled(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * (number[0] if what == "number" else tensor)

        run, x, found = compiled(t, lambda x: Scaled.apply(x)), numbers(t, 0, 4).requires_grad_(), []
        for i in range(12):
            x.grad = None
            run(x).sum().backward()
            found.append(_flat(x.grad))
            if i % 4 == 3:
                number[0] += 1
                tensor.add_(1)
        return found

    agree(body)


def test_a_zero_that_changes_its_sign():
    def body(t: Any) -> Any:
        class Settings:
            k = 0.0

        settings, array = Settings(), np.zeros(3)
        run = compiled(t, lambda x: 1 / (x * settings.k))
        other = compiled(t, lambda x: 1 / (x * t.tensor(array.tolist())))
        found = []
        for k in (0.0, 0.0, 0.0, -0.0, -0.0, 0.0):
            settings.k = array[1] = k
            found.append(_flat(run(t.ones(3))) + _flat(other(t.ones(3))))
        return found

    agree(body)


@pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs in immediate mode")
def test_a_number_that_is_a_negative_zero_keeps_its_sign_in_every_run():
    bodies = [
        lambda t, x, k: x * k, lambda t, x, k: -t.zeros(3) + k, lambda t, x, k: k / x, lambda t, x, k: t.full((3,), k),
        lambda t, x, k: t.tanh(x * k),
    ]  # fmt: skip
    for body in bodies:
        for _ in range(PROGRAM_WRITTEN_AFTER + 4):
            for k in (0.0, -0.0):
                found = body(jaxtorch, jaxtorch.ones(3), k).tolist()
                assert np.signbit(found).tolist() == np.signbit(body(reference, reference.ones(3), k).tolist()).tolist()


def test_parameters_of_a_dictionary_in_another_order():
    def body(t: Any) -> Any:
        class Steps(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.steps = t.nn.ParameterDict({k: t.nn.Parameter(numbers(t, i, 3)) for i, k in enumerate("abc")})

            def forward(self, x: Any) -> Any:
                for p in self.steps.values():
                    x = x * 2 + p
                return x

        model = Steps()
        run, found = compiled(t, model), []
        for i in range(8):
            if i == 5:
                model.steps["a"] = model.steps.pop("a")
            found.append(_flat(run(numbers(t, i, 3))))
        return found

    agree(body)


@pytest.mark.parametrize("large", [False, True], ids=["apart", "packed"])
def test_a_gradient_that_was_made_to_require_one(large: bool):
    def body(t: Any) -> Any:
        model = network(t) if large else layer(t, 4, 3)
        optimizer = t.optim.SGD(model.parameters(), lr=0.1)

        def step(x: Any) -> None:
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()

        run, found = compiled(t, step), []
        for i in range(8):
            if i == 5:
                for p in model.parameters():
                    p.grad.requires_grad_()
            run(numbers(t, i, 5, 4))
            found.append([p.grad.requires_grad for p in model.parameters()])
        return found

    agree(body)


@pytest.mark.parametrize("what", ["parameter", "tensor"])
@pytest.mark.parametrize("at", [(7, 8), (3, 4, 5, 6, 9)], ids=["none before", "there before"])
def test_gradients_of_what_requires_none(at: tuple[int, ...], what: str):
    """An optimizer steps it as soon as somebody gives it one."""

    def body(t: Any) -> Any:
        model, other = network(t), t.zeros(4).double()
        optimizer = t.optim.SGD([*model.parameters(), other], lr=0.1)
        given = other if what == "tensor" else model[0].weight

        def step(x: Any) -> None:
            (model(x + other) ** 2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()

        run, found = compiled(t, step), []
        for i in range(11):
            if i == 3:
                given.requires_grad_(False)
            if i in at:
                given.grad = t.ones_like(given)
            run(numbers(t, i, 5, 4))
            found.append([*map(_flat, [other, *model.parameters()])])
        return found

    agree(body)
