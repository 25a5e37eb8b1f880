"""`torch.utils.checkpoint`: the gradients of PyTorch, the function run twice, and less memory."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import jax
import pytest
import torch as reference

import jaxtorch
from jaxtorch._core.compile.context import x64
from jaxtorch._core.record import program
from jaxtorch._core.run import runner
from parity import candidate, differences, outcome


def module(torch: Any) -> Any:
    return importlib.import_module(torch.__name__ + ".utils.checkpoint")


def check(body: Any, scale: float = 4) -> None:
    found = differences(outcome(reference, body), outcome(candidate(), body), scale=scale, strides=False)
    assert not found, "\n".join(found)


def _net(torch: Any) -> Any:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(6, 6), torch.nn.Tanh(), torch.nn.Dropout(0.3), torch.nn.LayerNorm(6)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(6, 6), torch.nn.GELU(), torch.nn.Linear(6, 2))


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("how", ["whole", "sequential", "twice", "nested"])
def test_training(how: str, reentrant: bool):
    def body(torch: Any) -> Any:
        c = module(torch)
        net = _net(torch)
        runs = [0]

        def counted(x: Any) -> Any:
            runs[0] += 1
            return net(x)

        def run(x: Any) -> Any:
            if how == "sequential":
                return c.checkpoint_sequential(net, 3, x, use_reentrant=reentrant)
            if how == "nested":
                return c.checkpoint(
                    lambda y: c.checkpoint(counted, y * 2, use_reentrant=reentrant), x, use_reentrant=reentrant
                )
            return c.checkpoint(counted, x, use_reentrant=reentrant)

        seen = []
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(4):
            x = (torch.linspace(-1, 1, 30).reshape(5, 6) * (i + 1)).requires_grad_()
            optimizer.zero_grad()
            loss = run(x).square().mean()
            if how == "twice":
                loss.backward(retain_graph=True)
            loss.backward()
            optimizer.step()
            seen.append((loss.detach(), x.grad, [p.grad for p in net.parameters()]))
        return seen, runs[0] if how != "nested" else 0

    check(body, 20)


def test_structures_as_arguments_and_results():
    def body(torch: Any) -> Any:
        c = module(torch)
        x, y = torch.linspace(0, 1, 4).requires_grad_(), torch.ones(4)

        def f(a: Any, flag: bool, *, b: Any, name: str) -> dict[str, Any]:
            assert flag and name == "n"
            return {"sum": a.sin() * b, "list": [a.exp(), b], "n": 3}

        out = c.checkpoint(f, x, True, b=y, name="n", use_reentrant=False)
        (out["sum"] * out["list"][0]).sum().backward()
        return x.grad, y.grad, out["n"]

    check(body)


def test_gradients_of_gradients():
    def body(torch: Any) -> Any:
        c = module(torch)
        x = torch.linspace(0.1, 1, 4).requires_grad_()
        y = c.checkpoint(lambda a: (a.sin() * a).exp(), x, use_reentrant=False).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return g.detach(), torch.autograd.grad(g.square().sum(), x)

    want = outcome(reference, body)
    got = outcome(candidate(), body)
    assert not differences(want, got, scale=10, strides=False)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("change", ["fewer", "shapes", "modified", "early"])
def test_refusals(change: str, early: bool):
    def body(torch: Any) -> Any:
        c = module(torch)
        x = torch.linspace(0, 1, 4).requires_grad_()
        y = x * 1
        runs = [0]

        def f(a: Any) -> Any:
            runs[0] += 1
            if runs[0] == 2 and change == "fewer":
                return a * 2
            if runs[0] == 2 and change == "shapes":
                a = a[:2]
            return (a * a).sin().exp()

        out = c.checkpoint(f, y, use_reentrant=False, early_stop=early)
        if change == "modified":
            with torch.no_grad():
                y.add_(1)
        out.sum().backward()
        return x.grad, runs

    check(body)


@pytest.mark.parametrize("case", ["grad", "keywords", "context", "nothing"])
def test_what_reentrant_cannot_do(case: str):
    def body(torch: Any) -> Any:
        c = module(torch)
        x = torch.ones(2).requires_grad_()
        if case == "grad":
            return torch.autograd.grad(c.checkpoint(torch.sin, x, use_reentrant=True).sum(), x)
        if case == "keywords":
            return c.checkpoint(torch.sin, x, use_reentrant=True, other=1)
        if case == "context":
            return c.checkpoint(torch.sin, x, use_reentrant=True, context_fn=lambda: 1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = c.checkpoint(torch.sin, torch.ones(2), use_reentrant=True)
        return out, [str(w.message) for w in caught]

    check(body)


def _peak(wrap: Any) -> int:
    """Bytes that the compiled programs of one training step need at most beside their arguments and results."""
    torch = jaxtorch
    torch.manual_seed(0)
    layers = [
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64), torch.nn.Tanh())
        for _ in range(6)
    ]
    net = torch.nn.Sequential(*layers)
    x = torch.ones(4096, 64)
    runner._structures.clear()
    for _ in range(2):
        for p in net.parameters():
            p.grad = None
        y = x
        for layer in layers:
            y = wrap(layer, y)
        y.square().mean().backward()
        program.flush_all()
    return max(_temporary(s.plan) for s in runner._structures.values())


def _temporary(plan: Any) -> int:
    def step(*arrays: Any) -> Any:
        env: list[Any] = [None] * plan.n_slots
        for slot, array in zip(plan.input_slots, arrays, strict=True):
            env[slot] = array
        return runner.evaluate(plan, env)

    with x64():
        compiled = jax.jit(step).lower(*[a.struct for a in plan.input_avals]).compile()
    return compiled.memory_analysis().temp_size_in_bytes


@pytest.mark.skipif(program.IMMEDIATE, reason="about whole programs")
@pytest.mark.parametrize("reentrant", [False, True])
def test_less_memory(reentrant: bool):
    """Six blocks whose inner activations are four times their input."""
    from jaxtorch.utils.checkpoint import checkpoint

    plain = _peak(lambda layer, y: layer(y))
    if reentrant:
        first = jaxtorch.ones(4096, 64).requires_grad_()
        saved = _peak(lambda layer, y: checkpoint(layer, y if y.requires_grad else first, use_reentrant=True))
    else:
        saved = _peak(lambda layer, y: checkpoint(layer, y, use_reentrant=False))
    assert saved < 0.65 * plain, (saved, plain)


@pytest.mark.parametrize("kind", ["tensor", "parameter", "subclass", "view"])
def test_what_the_second_run_is_given(kind: str):
    """Tensors of the same classes, with their attributes and the order of their dimensions."""
    found = []
    for t in (reference, candidate()):
        seen: list[object] = []

        class Marked(t.Tensor):  # pyright: ignore[reportGeneralTypeIssues]
            pass

        def run(x, seen=seen):
            scale = getattr(x, "scale", 1.0)
            seen.append((type(x).__name__, scale, getattr(x, "later", None), x.requires_grad, x.is_contiguous()))
            return (x * scale).sin() * 2

        leaf = t.nn.Parameter(t.ones(2, 3)) if kind == "parameter" else t.ones(2, 3, requires_grad=True)
        x = {"subclass": lambda: leaf.clone().as_subclass(Marked), "view": leaf.t}.get(kind, lambda: leaf)()  # noqa: B023
        x.scale = 3.0
        y = t.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
        x.later = 1
        y.sum().backward()
        found.append((seen, leaf.grad.tolist()))
    assert found[0][0] == found[1][0]
    assert found[1][1] == [pytest.approx(row, rel=1e-5) for row in found[0][1]]
