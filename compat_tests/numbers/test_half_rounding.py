"""Half precision is rounded after every operation, also in programs that XLA compiles whole: results are PyTorch's, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
from jaxtorch._core.host import tiering

CHAINS: dict[str, Callable[..., Any]] = {
    "a product summed": lambda t, a, b, c: (a * b).sum(-1),
    "a sum averaged": lambda t, a, b, c: (a + b).mean(0),
    "a product's view summed": lambda t, a, b, c: (a * b).view(16, -1).t().sum(0),
    "a product's largest": lambda t, a, b, c: (a * b).amax(-1) * c[0],
    "softmax": lambda t, a, b, c: (a * b).softmax(-1),
    "a norm of sums": lambda t, a, b, c: (a + b - c).norm(dim=1),
    "a gate": lambda t, a, b, c: (a * b).sigmoid() * c + a,
    "multiplied and added": lambda t, a, b, c: a * b + c,
    "a quotient's mean": lambda t, a, b, c: (a / (b * b + 1)).mean(),
    "a variance": lambda t, a, b, c: (a * b).var(1),
    "comparison": lambda t, a, b, c: (a * b) > (b * a + c),
    "a tanh in a product": lambda t, a, b, c: t.tanh(a * b) * c - t.sigmoid(c) * a,
}
FUNCTIONS = """acos asin acosh asinh atanh expm1 log1p rsqrt sigmoid tan deg2rad rad2deg logit xlogy special.entr special.ndtr
    special.xlog1py special.expit exp log sin tanh sqrt""".split()


def _called(name: str) -> Callable[..., Any]:
    def call(lib: Any, a: Any, b: Any) -> Any:
        f = lib
        for part in name.split("."):
            f = getattr(f, part)
        x = a.abs() + 1 if name in ("acosh", "log", "sqrt", "rsqrt") else a
        return f(x, b) if "xlog" in name else f(x)

    return call


def _from(lib: Any, dtype: str, arrays: list[Any]) -> list[Any]:
    return [lib.tensor(x).to(getattr(lib, dtype)) for x in arrays]


def _shares(expected: list[Any], found: list[Any], names: Any) -> dict[str, float]:
    """For each name whose results differ, which share of them."""
    shares = {}
    for name, e, f in zip(names, expected, found, strict=True):
        e, f = e.float().numpy(), f.float().numpy()
        assert e.shape == f.shape
        if share := ((e != f) & ~(np.isnan(e) & np.isnan(f))).mean():
            shares[name] = share
    return shares


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("how", ["compiled", "recorded"])
def test_chains(how: str, dtype: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(tiering, "RUNS", 0)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((32, 32)).astype("f4") for _ in range(3)]
    given = _from(jaxtorch, dtype, arrays)
    run = lambda *given: [body(jaxtorch, *given) for body in CHAINS.values()]  # noqa: E731
    run = jaxtorch.compile(run) if how == "compiled" else run
    for _ in range(3):
        found = [x.clone() for x in run(*given)]
        found[-1].tolist()
    expected = [body(torch, *_from(torch, dtype, arrays)) for body in CHAINS.values()]
    assert all(
        share < 0.005 for share in _shares(expected, found, CHAINS).values()
    )  # sums may be added in another order


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("how", ["numpy", "xla"])
def test_functions(how: str, dtype: str, monkeypatch: Any) -> None:
    if how == "xla":
        monkeypatch.setattr(tiering, "RUNS", 0)
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-3, 3, (40, 30)).astype("f4") for _ in range(2)]
    calls = [_called(name) for name in FUNCTIONS]
    run = lambda *given: [call(jaxtorch, *given) for call in calls]  # noqa: E731
    run = jaxtorch.compile(run) if how == "xla" else run
    found = run(*_from(jaxtorch, dtype, arrays))
    expected = [call(torch, *_from(torch, dtype, arrays)) for call in calls]
    shares = _shares(expected, found, FUNCTIONS)
    assert all(share < 0.01 for share in shares.values()), shares  # XLA's own last digits


@pytest.mark.parametrize(
    "name", ["sigmoid", "log1p", "expm1", "asinh", "acosh", "atanh", "tan", "logit", "rsqrt", "asin"]
)
def test_gradients_are_those_of_the_function(name: str) -> None:
    x = np.linspace(1.1, 3, 24).astype("f4") if name == "acosh" else np.linspace(0.05, 0.9, 24).astype("f4")

    def slope(lib: Any, dtype: str) -> Any:
        leaf = lib.tensor(x).to(getattr(lib, dtype)).requires_grad_()
        getattr(lib, name)(leaf).sum().backward()
        return leaf.grad

    expected, found = slope(torch, "float16").float().numpy(), slope(jaxtorch, "float16").float().numpy()
    np.testing.assert_allclose(found, expected, rtol=4e-3)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_round_where_pytorch_does(name: str, kind: str) -> None:
    draws = np.random.default_rng(0).normal(size=(2, 256)) * 3
    for reduction in ("none", "mean", "sum"):
        found: list[Any] = []
        for t in (torch, jaxtorch):
            x, y = t.tensor(draws).to(getattr(t, kind))
            loss = getattr(t.nn.functional, name)
            found += [loss(x, y, reduction=reduction).double().tolist() for _ in range(1 if t is torch else 4)]
        assert found[1:] == found[:1] * 4, reduction
