"""A flag made a number, times NaN or infinity, is NaN: in the first runs and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch
from jax import lax

import jaxtorch
from jaxtorch.interop import jax_function

FORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "float": lambda t, m, x: m.float() * x,
    "promoted": lambda t, m, x: m * x,
    "compared": lambda t, m, x: (x > 5).float() * x,
    "by integers": lambda t, m, x: m.int().float() * x,
    "divided": lambda t, m, x: m / (x * 0),
    "truncated": lambda t, m, x: t.div(m, x[0] + 0, rounding_mode="trunc"),
    "half": lambda t, m, x: (m.to(t.bfloat16) * x.to(t.bfloat16)).float(),
    "double": lambda t, m, x: (m.double() * x.double()).float(),
    "summed": lambda t, m, x: (m.float() * x).view(-1, 4).sum(0) + 1,
    "in place": lambda t, m, x: x.clone().mul_(m),
    "weighted": lambda t, m, x: t.where(m, x, x * m),
}


@pytest.mark.parametrize("name", FORMS)
def test_nothing_times_nan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.tile(np.array([np.nan, np.inf, -np.inf, 1.0], np.float32), 2000)

    def run(t: Any) -> Any:
        x, m = t.tensor(values), t.zeros(8000, dtype=t.bool)
        return FORMS[name](t, m, x).numpy()

    expected = run(pytorch)
    for _ in range(3):
        np.testing.assert_array_equal(run(jaxtorch), expected)
    compiled = jaxtorch.compile(lambda m, x: FORMS[name](jaxtorch, m, x))
    for _ in range(3):
        x, m = jaxtorch.tensor(values), jaxtorch.zeros(8000, dtype=jaxtorch.bool)
        np.testing.assert_array_equal(compiled(m, x).numpy(), expected)


LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "while": lambda m, x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, m * x), (0, x))[1],
    "scan": lambda m, x: lax.map(lambda pair: pair[0] * pair[1], (m, x)),
    "cond": lambda m, x: lax.cond(x[3] > 0, lambda m, x: m * x, lambda m, x: x, m, x),
    "nested": lambda m, x: lax.map(lambda p: lax.fori_loop(0, 2, lambda i, c: p[0] * p[1], p[1]), (m, x)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_in_loops(name: str) -> None:
    values = np.tile(np.array([np.nan, np.inf, -np.inf, 1.0], np.float32), 2000)
    function = jax_function(LOOPS[name])
    expected = np.tile(np.array([np.nan, np.nan, np.nan, 0.0], np.float32), 2000)
    for _ in range(3):
        x, m = jaxtorch.tensor(values), jaxtorch.zeros(8000, dtype=jaxtorch.bool)
        np.testing.assert_array_equal(function(m, x).numpy(), expected)
