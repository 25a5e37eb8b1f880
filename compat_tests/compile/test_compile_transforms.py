"""`torch.compile`: functions of `torch.func` inside a compiled call are replayed, with their guards, random numbers and graphs."""

from __future__ import annotations

from typing import Any

import pytest

import jaxtorch as torch
import jaxtorch.nn.functional as F
from compile_kit import close, compare, flat, network, reasons, variants
from jaxtorch import nn
from jaxtorch._core.record import program
from jaxtorch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="nothing is captured in immediate mode")


def _cases() -> dict[str, Any]:
    net = network()
    params = {k: v.detach().clone() for k, v in net.named_parameters()}
    loss = lambda p, x, y: F.cross_entropy(functional_call(net, p, (x,)), y)  # noqa: E731
    cut = torch.tensor(0.25)

    def of_vjp(x, y):
        out, back = vjp(net, x)
        return out, back(torch.ones_like(out) * cut)

    def of_pending(x, y):
        c = (x * cut).sum(0)
        return vmap(lambda a: a * c + y.sum())(x)

    return {
        "vmap": lambda x, y: vmap(lambda a, b: (net(a), a * b), out_dims=(1, 0))(x, y),
        "vmap in chunks": lambda x, y: vmap(lambda a: net(a) ** 2, chunk_size=3)(x),
        "grad": lambda x, y: grad(lambda a: (net(a) ** 2).sum())(x),
        "grad of grad": lambda x, y: vmap(grad(grad(lambda a: a.sin() * a)))(x[:, 0]),
        "auxiliary": lambda x, y: grad_and_value(lambda a: ((a**2).sum(), a + cut), has_aux=True)(x),
        "of each sample": lambda x, y: vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y),
        "vjp": of_vjp,
        "jvp": lambda x, y: jvp(net, (x,), (x * 2 + cut,)),
        "linearize": lambda x, y: linearize(net, x)[1](x + 1),
        "jacrev": lambda x, y: jacrev(loss)(params, x, y),
        "jacfwd": lambda x, y: jacfwd(net)(x),
        "hessian": lambda x, y: vmap(hessian(lambda a: net(a).sum()))(x),
        "pending, closed over": of_pending,
        "autograd inside": lambda x, y: torch.autograd.functional.jvp(lambda a: net(a), x, x * 2),
    }


@pytest.mark.parametrize("name", list(_cases()))
def test_results(name: str) -> None:
    compare(
        lambda: (_cases()[name], list), captures=0 if name == "linearize" else 1
    )  # that one runs its function at each call


def test_a_training_step() -> None:
    """Parameters in a dictionary, updated in place by the gradients of each sample."""

    def build():
        net = network()
        params = {k: v.detach().clone() for k, v in net.named_parameters()}

        def loss(p, x, y):
            return F.cross_entropy(functional_call(net, p, (x[None],)), y[None])

        def step(x, y):
            grads = vmap(grad_and_value(loss), in_dims=(None, 0, 0))(params, x, y)
            for k, p in params.items():
                p.sub_(0.1 * grads[0][k].mean(0))
            return grads[1]

        return step, lambda: params

    compare(build)


def test_an_ensemble_with_an_optimizer() -> None:
    """Stacked parameters as leaves; the loss goes through vmap, backward to them."""

    def build():
        nets = [network() for _ in range(3)]
        params, buffers = stack_module_state(nets)
        base = network().to("meta")
        optimizer = torch.optim.Adam(params.values(), lr=0.05)

        def one(p, b, x):
            return functional_call(base, (p, b), (x,))

        def step(x, y):
            optimizer.zero_grad()
            out = vmap(one, in_dims=(0, 0, None))(params, buffers, x)
            loss = F.cross_entropy(out.flatten(0, 1), y.repeat(3))
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: params

    compare(build)


def test_parameters_closed_over_get_gradients() -> None:
    def build():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            loss = vmap(lambda a, b: F.cross_entropy(net(a), b))(x, y).mean()
            penalty = grad(lambda a: net(a).sum())(x).pow(2).mean()
            optimizer.zero_grad()
            (loss + penalty).backward()
            optimizer.step()
            return loss, penalty

        return step, lambda: [net.state_dict(), [p.grad for p in net.parameters()]]

    compare(build)


def test_a_graph_that_is_handed_out() -> None:
    """The results of a compiled call with a transformation carry a graph, through which backward goes outside."""
    torch.manual_seed(0)
    net = network()
    x = torch.linspace(-1, 1, 32).reshape(8, 4).requires_grad_()

    def f(x):
        return vmap(net)(x) * 2, jacrev(lambda a: net(a).sum(0))(x)

    compiled = torch.compile(f)
    for _ in range(4):
        found = []
        for fn in (f, compiled):
            a, b = fn(x)
            (a.sum() + (b**2).sum()).backward()
            found.append(flat([x.grad, [p.grad for p in net.parameters()]]))
            x.grad = None
            net.zero_grad()
        close(*found)
    assert variants(compiled) == 1, reasons(compiled)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers(randomness: str) -> None:
    """Each replay draws anew, what recording draws; backward through the result uses the same numbers again."""

    def build():
        net = network(nn.Dropout(0.5))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            noisy = vmap(lambda a: net(a) + torch.randn(3), randomness=randomness)(x)
            along = grad(lambda a: (F.dropout(a) * net(a).sum()).sum())(x)
            optimizer.zero_grad()
            (F.cross_entropy(noisy, y) + along.tanh().mean()).backward()
            optimizer.step()
            return noisy, along, torch.rand(2) * 2

        return step, lambda: net.state_dict()

    compare(build, make=lambda i: (torch.linspace(-1, 1, 32).reshape(8, 4), torch.arange(8) % 3))


def test_vjp_with_dropout_uses_one_mask() -> None:
    def build():
        def step(x, y):
            out, back = vjp(F.dropout, x)
            return out, back(torch.ones_like(out))

        return step, list

    compiled = compare(build)
    out, (g,) = compiled(torch.ones(8, 4), torch.arange(8) % 3)
    assert torch.equal(out, g)


def test_guards() -> None:
    """What the mapped function closes over is guarded as in any other function."""
    net = network(nn.Dropout(0.5))
    scale = 2.0
    w = torch.ones(4)

    def f(x):
        return vmap(lambda a: net(a * w).sum() * scale, randomness="different")(x)

    compiled = torch.compile(f)
    x = torch.linspace(-1, 1, 32).reshape(8, 4)

    def same() -> None:
        for _ in range(4):
            torch.manual_seed(1)
            expected = f(x)
            torch.manual_seed(1)
            close(compiled(x), expected)

    same()
    scale = 3.0
    same()
    net.eval()
    same()
    w.mul_(2)
    same()
    w = torch.zeros(4)
    same()
    x = x[:5]
    same()
    with torch.no_grad():
        same()
    net[0].weight.data.add_(1)
    same()
    assert not reasons(compiled)


def test_a_function_that_reads_a_number_is_run() -> None:
    """What cannot be traced is run as without torch.compile, and the reason is kept."""

    def step(x, y):
        return grad(lambda a: (a * 2).sum() if a.sum() > 0 else (a**2).sum())(x)

    compiled = torch.compile(step)
    x = torch.ones(3)
    for _ in range(4):
        assert compiled(x, 0).tolist() == [2, 2, 2]
        assert compiled(-x, 0).tolist() == [-2, -2, -2]
    assert "cannot be traced: it needs the content of a tensor" in reasons(compiled)[0]


def test_errors_are_those_of_the_function() -> None:
    def step(x):
        return vmap(lambda a: a @ torch.ones(7))(x)

    compiled = torch.compile(step)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="inconsistent tensor size"):
            compiled(torch.ones(2, 3))


def test_a_swallowed_error_does_not_hide_that_a_number_was_read() -> None:
    """`except Exception` in the function does not catch what ends the tracing."""

    def careful(a):
        try:
            return a * 2 if a.sum().item() > 0 else a * 3
        except Exception:
            return a * 0

    compiled = torch.compile(lambda x: grad(lambda a: careful(a).sum())(x))
    for _ in range(4):
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert reasons(compiled)


def test_a_function_that_cannot_be_traced_draws_once() -> None:
    """What it drew before the tracing ended is drawn again, not skipped."""

    def step(x):
        return grad(lambda a: (F.dropout(a) * (2 if a.sum().item() > 0 else 3)).sum())(x), torch.rand(2)

    results = []
    for fn in (step, torch.compile(step)):
        torch.manual_seed(0)
        results.append([flat(fn(torch.ones(8))) for _ in range(4)])
    close(*results)
