"""Gradients of gradients, one to five deep, as programs that solve differential equations take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parity import candidate, reference
from transform_kit import differs, plain

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "square": lambda t, x: x**2,
    "cube": lambda t, x: x**3,
    "fourth": lambda t, x: x.pow(4),
    "root": lambda t, x: x**0.5,
    "power": lambda t, x: x**2.5,
    "inverse": lambda t, x: x**-1,
    "quotient": lambda t, x: 1 / x,
    "exponent": lambda t, x: 2**x,
    "own_exponent": lambda t, x: x**x,
    "product": lambda t, x: x * x * x,
    "sine": lambda t, x: x.sin() * x,
    "bell": lambda t, x: (-x * x).exp(),
    "polynomial": lambda t, x: 2 * x**3 - x**2 + 4 * x - 1,
    "horner": lambda t, x: ((2 * x - 1) * x + 4) * x - 1,
    "mean": lambda t, x: (x**2).mean(),
    "dot": lambda t, x: x @ x,
    "norm": lambda t, x: x.norm(),
    "prod": lambda t, x: x.prod(),
    "cumprod": lambda t, x: x.cumprod(0),
    "layers": lambda t, x: t.nn.functional.linear(x.tanh(), t.ones(3, 3, dtype=x.dtype)).tanh(),
    "limited": lambda t, x: x.clamp(0, 1) * x,
}

ENDS = {"square", "cube", "fourth", "polynomial", "mean", "prod", "cumprod"}
"""Their derivatives come to be the same everywhere, and may have no graph then (docs/differences.md)."""


def _derivatives(t: Any, function: str, along: bool) -> list[Any]:
    """Up to the fifth derivative, or the last one that has a graph. along: times the argument before each next one."""
    x = t.tensor([0.5, 1.5, 2.0], dtype=t.float64, requires_grad=True)
    y, found = FUNCTIONS[function](t, x), []
    while len(found) < 5 and y.requires_grad:
        (y,) = t.autograd.grad((y * x if along else y).sum(), x, create_graph=True, materialize_grads=True)
        found.append(plain(t, y))
    return found


@pytest.mark.parametrize("along", [False, True], ids=["plain", "along"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives(function: str, along: bool) -> None:
    ours, theirs = (_derivatives(t, function, along) for t in (candidate(), reference()))
    if function in ENDS and not along:
        assert all(abs(x) < 1e-9 for g in theirs[len(ours) :] for x in g[4])
        theirs = theirs[: len(ours)]
    assert ours
    assert differs(ours[: len(theirs)], theirs) == ""
