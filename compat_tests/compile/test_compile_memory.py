"""Captured calls whose tensors come to share memory, or cease to; other threads that compute; hooks that raise."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import jaxtorch

Compile = Callable[[Any], Any]


def double(t: Any, *numbers: float) -> Any:
    return t.tensor(numbers, dtype=t.float64)


def linear(t: Any) -> Any:
    m = t.nn.Linear(2, 1).double()
    with t.no_grad():
        m.weight.copy_(double(t, 0.5, -0.25))
        m.bias.fill_(0.125)
    return m


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x.detach().clone().tolist() if hasattr(x, "detach") else x


def same(f: Callable[[Any, Compile], Any]) -> None:
    expected, found = plain(f(reference, lambda g: g)), plain(f(jaxtorch, jaxtorch.compile))
    assert _close(expected, found), (expected, found)


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_close, a, b))
    return a == b if isinstance(a, str) or a is None else a == pytest.approx(b, rel=1e-7, abs=1e-9)


ALIASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "its own memory": lambda t, p, b: (p.detach(), None),
    "a view of its own memory": lambda t, p, b: (p.detach()[:], None),
    "another's gradient": lambda t, p, b: (g := double(t, 1.0, 1.0).view(1, 2), g[0, :1]),
    "another gradient's memory": lambda t, p, b: (double(t, 1.0, 2.0, 3.0)[1:].view(1, 2), None),
}


@pytest.mark.parametrize("name", ALIASES)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_gradients_that_share_memory_after_the_capture(name: str, optimizer: str):
    def program(t: Any, compiled: Compile) -> Any:
        m = linear(t)
        o, p, x = getattr(t.optim, optimizer)(m.parameters(), lr=0.01), m.weight, double(t, 1, 2, 3, 4).view(2, 2)

        def step(x: Any) -> Any:
            loss = (m(x) ** 2).sum()
            loss.backward()
            o.step()
            return loss.detach()

        step, seen = compiled(step), []
        for i in range(8):
            if i == 4:
                p.grad, other = ALIASES[name](t, p, m.bias)
                m.bias.grad = m.bias.grad if other is None else other
            seen += [step(x), p.detach().clone(), p.grad.clone(), m.bias.grad.clone()]
        return seen

    same(program)


def _argument(t: Any, compiled: Compile) -> Any:
    p: Any = double(t, 1, 2).requires_grad_()
    seen: list[Any] = []
    p.grad = double(t, 1, 1)

    def scale(x: Any) -> Any:
        x.mul_(2)
        return p.grad * 3

    scale = compiled(scale)
    for i in range(10):
        seen += [scale(p.grad if i in (5, 6) else double(t, 3, 4)), p.grad.clone()]
    return seen


def _one_for_two(t: Any, compiled: Compile) -> Any:
    p: Any = double(t, 1, 2).requires_grad_()
    q: Any = double(t, 1, 2).requires_grad_()
    seen: list[Any] = []
    backward = compiled(lambda x: (p * q * x).sum().backward())
    for i in range(10):
        if i == 4:
            p.grad = q.grad
        if i == 7:
            setattr(p, "grad", None)  # noqa: B010  (the type checker remembers)
        backward(double(t, 1, i))
        seen += [p.grad.clone(), q.grad.clone()]
    return seen


def _parts(t: Any, compiled: Compile) -> Any:
    p, q = double(t, 1, 2).requires_grad_(), double(t, 1, 2).requires_grad_()
    flat, o, seen = double(t, 1, 2, 3, 4), t.optim.SGD([p, q], lr=0.1), []
    step = compiled(lambda: o.step() and None)
    for i in range(10):
        flat = double(t, 9, 8, 7, 6) if i == 7 else flat
        begin = 1 if i == 5 else 0
        p.grad, q.grad = (flat[begin : begin + 2], flat[2:]) if i < 6 else (flat[2:], flat[:2])
        step()
        seen += [p.detach().clone(), q.detach().clone()]
        flat.add_(1)
    return seen


def _two_become_one(t: Any, compiled: Compile) -> Any:
    p, q, seen = double(t, 1, 2, 3), double(t, 1, 2, 3), []

    def writes() -> None:
        p.add_(q)
        q.mul_(2)

    writes = compiled(writes)
    for i in range(7):
        if i == 4:
            q.data = p.data
        writes()
        seen += [p.clone(), q.clone()]
    return seen


def _view_elsewhere(t: Any, compiled: Compile) -> Any:
    p, other, seen = double(t, 1, 2, 3), double(t, 7, 8), []
    v = p[1:]
    read = compiled(lambda: v * 2)
    for i in range(8):
        if i == 4:
            v.data = other
        (other if i == 5 else p).add_(1)
        seen.append(read())
    return seen


@pytest.mark.parametrize("program", [_argument, _one_for_two, _parts, _two_become_one, _view_elsewhere])
def test_memory_that_is_another_after_the_capture(program: Any):
    same(program)


@pytest.mark.parametrize("kind", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_hook_that_raises_finds_the_same_gradients(kind: str):
    def program(t: Any, compiled: Compile) -> Any:
        m, seen, raising = linear(t), [], [False]

        def hook(_: Any) -> None:
            if raising[0]:
                raise ZeroDivisionError

        getattr(m.weight, kind)(hook)
        forward = compiled(lambda x: (m(x) ** 2).sum())
        for i in range(7):
            raising[0] = i in (1, 4, 5)
            try:
                forward(double(t, 1, 2)).backward()
            except ZeroDivisionError:
                seen.append("raised")
            seen += [None if p.grad is None else p.grad.clone() for p in m.parameters()]
        return seen

    same(program)


def test_threads_that_compute_are_no_part_of_a_captured_call():
    def program(t: Any, compiled: Compile) -> Any:
        found: dict[int, Any] = {}

        def work(k: int) -> None:
            m = linear(t)
            o = t.optim.SGD(m.parameters(), lr=0.01, momentum=0.5)
            forward, seen = compiled(lambda x: (m(x) ** 2).sum()), []
            for i in range(12):
                o.zero_grad()
                loss = forward(double(t, 1, i % 3 + k))
                loss.backward()
                o.step()
                seen.append(loss.detach())
            found[k] = [*map(float, seen), *[p.tolist() for p in m.parameters()]]

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[k] for k in range(4)]

    same(program)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "NAdam", "RMSprop", "ASGD"])
@pytest.mark.parametrize("shared", ["memory", "named twice", "gradient"])
@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate parameters")
def test_parameters_that_share_memory_are_stepped_in_turn(optimizer: str, shared: str):
    def program(t: Any, compiled: Compile) -> Any:
        p, q, seen = double(t, 1, 2).requires_grad_(), double(t, 3, 4).requires_grad_(), []
        if shared == "memory":
            q.data = p.data
        q = p if shared == "named twice" else q
        o = getattr(t.optim, optimizer)([p, q], lr=0.1)
        step = compiled(lambda: o.step() and None)
        for i in range(5):
            p.grad, q.grad = double(t, 1, i), p.detach() if shared == "gradient" else double(t, 0.5, 0.25)
            step()
            seen += [p.detach().clone(), q.detach().clone()]
        return seen

    same(program)


def test_hardswish_far_out_is_pytorchs():
    numbers = [-float("inf"), float("inf"), 3e38, 1e30, -0.0, 0.0, -3.0, 3.0, -5.0, 2.5, -1e30]

    def program(t: Any, compiled: Compile) -> Any:
        x = t.tensor(numbers, requires_grad=True)
        y = t.nn.functional.hardswish(x)
        y.sum().backward()
        return [repr(y.tolist()), repr(x.grad.tolist())]

    for _ in range(3):
        same(program)
