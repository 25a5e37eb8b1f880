"""`torch.func`: backward reaches what transformed functions close over, as it was when they were called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parity import attempt, candidate, parity_test, reference


def _module(t: Any, w: Any) -> Any:
    """A module whose attribute is a computed tensor."""
    made = type("Scale", (t.nn.Module,), {"forward": lambda self, x: x * self.w})()
    made.w = w
    return made


def _maml(t: Any, f: Any, w: Any, xs: Any) -> Any:
    def adapted(x: Any) -> Any:
        inner = f.grad(lambda v: ((v * x) ** 2).sum())(w)
        return (x * (w - 0.1 * inner)).sum()

    return f.vmap(adapted)(xs)


def _no_grad(t: Any, f: Any, w: Any, xs: Any) -> Any:
    def mixed(x: Any) -> Any:
        with t.no_grad():
            scale = w * 3
        return x * w * scale + x * w.detach()

    return f.vmap(mixed)(xs)


def _second(t: Any, f: Any, w: Any, xs: Any) -> Any:
    g = t.autograd.grad(f.vmap(lambda x: (x * w) ** 3)(xs).sum(), w, create_graph=True)[0]
    return g**2


CASES = {
    "vmap": lambda t, f, w, xs: f.vmap(lambda x: x * w)(xs),
    "grad": lambda t, f, w, xs: f.grad(lambda x: ((x * w) ** 2).sum())(xs),
    "vmap of grad": lambda t, f, w, xs: f.vmap(f.grad(lambda x: ((x * w) ** 2).sum()))(xs),
    "grad of vmap": lambda t, f, w, xs: f.grad(lambda x: (f.vmap(lambda a: a * w)(x) ** 2).sum())(xs),
    "a view": lambda t, f, w, xs: f.vmap(lambda x: x[:2] * w[1:])(xs),
    "a view from outside": lambda t, f, w, xs: (lambda v: f.vmap(lambda x: x[:2] * v)(xs))(w[1:]),
    "computed inside": lambda t, f, w, xs: f.vmap(lambda x: f.grad(lambda a: ((a * (w * x)) ** 2).sum())(x))(xs),
    "between two": lambda t, f, w, xs: f.vmap(lambda x: (lambda v: f.grad(lambda a: (a * v).sin().sum())(x))(w * x))(
        xs
    ),
    "jacrev": lambda t, f, w, xs: f.jacrev(lambda x: (x * w) ** 2)(xs[0]),
    "jacfwd": lambda t, f, w, xs: f.jacfwd(lambda x: (x * w) ** 2)(xs[0]),
    "hessian": lambda t, f, w, xs: f.hessian(lambda x: ((x * w) ** 3).sum())(xs[0]),
    "vjp": lambda t, f, w, xs: f.vjp(lambda x: (x * w) ** 2, xs)[1](xs)[0],
    "jvp": lambda t, f, w, xs: f.jvp(lambda x: (x * w) ** 2, (xs,), (xs,))[1],
    "used twice": lambda t, f, w, xs: f.vmap(lambda x: x * w)(xs) + f.vmap(lambda x: x * w.sin())(xs) * w,
    "an argument too": lambda t, f, w, xs: f.vmap(lambda x, v: x * w * v, in_dims=(0, None))(xs, w),
    "MAML": _maml,
    "a module's attribute": lambda t, f, w, xs: f.vmap(_module(t, w))(xs),
    "no_grad and detach": _no_grad,
    "the result": lambda t, f, w, xs: (
        f.vmap(lambda x: (w * 2, x * w)[0], out_dims=0)(xs) + f.vmap(lambda x: w.detach())(xs)
    ),
    "both in one": lambda t, f, w, xs: f.vmap(lambda x: t.addcmul(x, w, w.detach()))(xs),
    "second derivative": _second,
    "not used": lambda t, f, w, xs: f.vmap(lambda x: (x * w, x * 2)[1])(xs) + w,
}


def _gradient(t: Any, name: str, computed: bool) -> Any:
    f = importlib.import_module(f"{t.__name__}.func")
    p = t.tensor([0.5, 1.0, 1.5], requires_grad=True)
    xs = t.arange(6.0).reshape(2, 3) / 3
    CASES[name](t, f, p * 2 if computed else p, xs).sum().backward()
    return p.grad.detach().numpy()


@pytest.mark.parametrize("computed", [False, True], ids=["leaf", "computed"])
@pytest.mark.parametrize("name", list(CASES))
def test_gradients(name: str, computed: bool) -> None:
    np.testing.assert_allclose(
        _gradient(candidate(), name, computed), _gradient(reference(), name, computed), rtol=1e-4
    )


SCALE = 1.0


def _loop(t: Any) -> Any:
    """Each function reads variables that have changed when backward comes."""
    global SCALE
    f = importlib.import_module(f"{t.__name__}.func")
    p = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    xs, total = t.arange(6.0).reshape(2, 3), 0
    settings = {"power": 1}
    for i in range(3):
        shift, SCALE, settings["power"] = float(i), float(i + 1), i + 1
        w = p * (i + 1)
        total = total + f.vmap(lambda x: (x * w * SCALE + shift * p) ** settings["power"])(xs).sum()  # noqa: B023
    total.backward()
    return p.grad.detach().numpy()


def test_backward_sees_what_the_call_saw() -> None:
    np.testing.assert_allclose(_loop(candidate()), _loop(reference()), rtol=1e-4)


def test_backward_does_not_call_the_function() -> None:
    t = candidate()
    p = t.ones(3, requires_grad=True)
    calls = []
    out = t.func.vmap(lambda x: (calls.append(1), x * p)[1])(t.ones(2, 3)).sum()
    before = len(calls)
    out.backward()
    assert len(calls) == before


def test_the_same_random_numbers_in_backward() -> None:
    for randomness in ("same", "different"):
        t = candidate()
        t.manual_seed(1)
        p = t.ones(3, requires_grad=True)
        w = p * 1
        out = t.func.vmap(lambda x: t.nn.functional.dropout(x * w), randomness=randomness)(t.ones(4, 3))  # noqa: B023
        after = t.rand(2)
        out.sum().backward()
        assert p.grad.tolist() == out.sum(0).tolist()
        t.manual_seed(0)
        t.func.vmap(lambda x: t.nn.functional.dropout(x * w), randomness=randomness)(t.ones(4, 3))  # noqa: B023
        expected = t.rand(2)
        t.manual_seed(0)
        with t.no_grad():
            t.func.vmap(lambda x: t.nn.functional.dropout(x * w), randomness=randomness)(t.ones(4, 3))  # noqa: B023
        assert t.equal(t.rand(2), expected)
        assert not t.equal(after, expected)


def test_what_cannot_be_traced_says_so() -> None:
    """Where JAX transforms a function that reads a number, it is run again in backward, and cannot close over a computed tensor."""
    t = candidate()
    p = t.ones(3, requires_grad=True)
    one = t.ones(3)
    f = lambda w: t.func.jvp(lambda x: (x * w).sum() * (2 if x.sum().item() > 0 else 3), (one,), (one,))[1]  # noqa: E731
    hooks = t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    with hooks:
        made = f(p)
    made.sum().backward()
    assert p.grad.tolist() == [2, 2, 2]
    with hooks:
        made = f(p * 2)
    with pytest.raises(NotImplementedError, match="pass that tensor"):
        made.sum().backward()
    f(p * 2).sum().backward()
    assert p.grad.tolist() == [6, 6, 6]


def test_a_tensor_that_was_written_over_is_an_error() -> None:
    for t in (reference(), candidate()):
        p = t.ones(3, requires_grad=True)
        w = p * 2
        out = t.func.vmap(lambda x: x * w)(t.ones(2, 3, requires_grad=True))  # noqa: B023
        with t.no_grad():
            w.mul_(3)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


TRANSFORMED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda t, f, x: t.func.grad(lambda x: ((x * 1).sum(), f(x)), has_aux=True)(x)[1],
    "vjp": lambda t, f, x: t.func.vjp(f, x)[0],
    "jvp": lambda t, f, x: t.func.jvp(f, (x,), (x.detach().clone(),))[0],
    "jacrev": lambda t, f, x: t.func.jacrev(lambda x: (x * 1, f(x)), has_aux=True)(x)[1],
    "jacfwd": lambda t, f, x: t.func.jacfwd(lambda x: (x * 1, f(x)), has_aux=True)(x)[1],
    "vmap": lambda t, f, x: t.vmap(f)(x),
    "vmap of columns": lambda t, f, x: t.vmap(f, in_dims=1, out_dims=1)(x),
    "vmap moved": lambda t, f, x: t.vmap(f, in_dims=1)(x),
    "vmap twice": lambda t, f, x: t.vmap(t.vmap(f))(x),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", TRANSFORMED)
@parity_test
def test_an_argument_handed_back(torch: Any, name: str, requires_grad: bool) -> Any:
    x = torch.arange(6.0).view(2, 3).clone().requires_grad_(requires_grad)
    y = TRANSFORMED[name](torch, lambda x: x, x)
    told = y is x, y._is_view(), y.requires_grad, y.is_leaf, y.stride()
    with torch.no_grad():
        y.mul_(2)
    return told, x.detach(), y.detach()


@pytest.mark.parametrize("name", ["jvp", "jacfwd", "vmap", "vmap of columns", "vmap moved"])
@parity_test
def test_an_argument_written_to_and_handed_back(torch: Any, name: str) -> Any:
    x = torch.arange(6.0).view(2, 3).clone()
    y = TRANSFORMED[name](torch, lambda x: x.mul_(2), x)
    y.add_(1)
    return y is x, x, y


@parity_test
def test_what_is_the_same_for_all_examples_is_expanded(torch: Any) -> Any:
    x, same = torch.arange(6.0).view(3, 2), torch.ones(2, requires_grad=True)
    y = torch.vmap(lambda x: same * 2)(x)
    z = torch.vmap(lambda x: torch.zeros(2))(x)
    written = attempt(lambda: z.add_(1))
    return y.stride(), z.stride(), z._is_view(), written, torch.autograd.grad(y.sum(), same)


@pytest.mark.parametrize("name", ["jvp", "jacfwd", "vmap"])
@parity_test
def test_writes_before_an_error(torch: Any, name: str) -> Any:
    x = torch.ones(3)

    def f(x: Any) -> Any:
        x.mul_(3)
        raise ValueError("no")

    return attempt(lambda: TRANSFORMED[name](torch, f, x)), x
