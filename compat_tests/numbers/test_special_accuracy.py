"""Functions of one number are as exact as PyTorch's to a few units in the last place, in the first runs and in compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch

_POINTS = {
    "log1p": (-0.99, 3.0), "atanh": (-0.99, 0.99), "sinh": (-80.0, 80.0), "cosh": (-80.0, 80.0), "erfc": (-3.0, 9.0),
    "erfinv": (-0.99999, 0.99999), "lgamma": (-2.2, 30.0), "digamma": (1.7, 30.0), "special.log_ndtr": (-30.0, 8.0),
    "special.erfcx": (-4.0, 12.0), "expm1": (-5.0, 5.0), "log": (0.01, 9.0), "tan": (-9.0, 9.0),
}  # fmt: skip
_LEAST = {"lgamma": 0.1}
"""Units in the last place are those of at least such a number: near a zero of its own lgamma adds up larger ones."""


def _function(name: str, t: Any) -> Any:
    for part in name.split("."):
        t = getattr(t, part)
    return t


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", _POINTS)
def test_few_units_in_the_last_place(name: str, dtype: Any) -> None:
    torch: Any = jaxtorch
    x = np.random.default_rng(0).uniform(*_POINTS[name], 20_000).astype(dtype)
    wanted = _function(name, reference)(reference.from_numpy(x).double()).numpy().astype(dtype)
    theirs = _function(name, reference)(reference.from_numpy(x)).numpy()
    unit = np.spacing(np.maximum(np.abs(wanted), dtype(_LEAST.get(name, np.finfo(dtype).tiny))))
    for _ in range(6):
        found = _function(name, torch)(torch.from_numpy(x)).numpy()
        assert np.max(np.abs(found - wanted) / unit) <= max(16, 4 * np.max(np.abs(theirs - wanted) / unit))


_SLOPES: dict[str, tuple[Callable[[Any, Any], Any], list[float]]] = {
    "acosh": (lambda t, x: t.acosh(x), [-3.0, -1.0, 0.5, 1.0, 2.0, 1e30]),
    "sinc": (lambda t, x: t.sinc(x), [0.0, 1e-30, -1e-25, 0.5]),
    "elu": (lambda t, x: t.nn.functional.elu(x), [float("nan"), -1.0, 0.0, 1.0]),
    "selu": (lambda t, x: t.nn.functional.selu(x), [float("nan"), -1.0, 0.0, 1.0]),
    "celu": (lambda t, x: t.nn.functional.celu(x), [float("nan"), -1.0, 0.0, 1.0]),
    "hardswish": (lambda t, x: t.nn.functional.hardswish(x), [float("nan"), -4.0, 1.0, 3.0]),
    "hardshrink": (lambda t, x: t.nn.functional.hardshrink(x), [float("nan"), -1.0, 0.5, 1.0]),
    "tanhshrink": (lambda t, x: t.nn.functional.tanhshrink(x), [1e-10, -1e-5, 0.5, 3.0]),
    "polygamma of high order": (lambda t, x: t.polygamma(24, x), [1.5, 3.0]),
    "mvlgamma": (lambda t, x: t.mvlgamma(x, 2), [-0.0, 1.0, 2.5]),
    "log_ndtr": (lambda t, x: t.special.log_ndtr(x), [-3.0, 0.0, 6.0]),
    "erfinv": (lambda t, x: t.erfinv(x), [0.0, 0.9998, -0.99999]),
}


@pytest.mark.parametrize("name", _SLOPES)
def test_slopes_at_odd_places(name: str) -> None:
    function, numbers = _SLOPES[name]

    def slopes(t: Any) -> Any:
        x = t.tensor(numbers * 16, requires_grad=True)  # PyTorch has other ones for few numbers
        function(t, x).sum().backward()
        return x.grad.numpy()

    np.testing.assert_allclose(slopes(jaxtorch), slopes(reference), rtol=5e-6, atol=1e-9)


def test_high_orders_in_double_precision() -> None:
    numbers = [30.0, 300.0, 900.0]
    ours, theirs = (t.polygamma(100, t.tensor(numbers, dtype=t.float64)).tolist() for t in (jaxtorch, reference))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
