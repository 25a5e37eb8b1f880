"""Sorting, running sums and sines in the kernels, against PyTorch and exact results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
from jaxtorch._core import native

pytestmark = pytest.mark.skipif(not native.available(), reason="the kernels are not built here")


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def both(x: np.ndarray, run: Any) -> tuple[Any, Any]:
    return run(jaxtorch, jaxtorch.from_numpy(x.copy())), run(torch, torch.from_numpy(x.copy()))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "shape,dim", [((100, 200), 1), ((60, 300), 1), ((40, 30, 20), 1), ((20000,), 0), ((300, 60), 0)]
)
@pytest.mark.parametrize("kind", ["float", "unusual", "equal", "long", "small"])
def test_sort(kind: str, shape: tuple[int, ...], dim: int, descending: bool) -> None:
    """Stable, NaN largest, both zeros the same; values keep their signs and bits."""
    rng, x = np.random.default_rng(0), drawn(*shape)
    if kind == "unusual":
        x = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, 1.0], np.float32), shape)
    elif kind == "equal":
        x = np.round(x)
    elif kind == "long":
        x = rng.integers(-(2**63), 2**63 - 1, shape)
    elif kind == "small":
        x = rng.integers(-3, 4, shape)
    got, want = both(x, lambda t, x: t.sort(x, dim=dim, descending=descending, stable=True))
    np.testing.assert_array_equal(got[1].numpy(), want[1].numpy())
    np.testing.assert_array_equal(got[0].numpy(), want[0].numpy())
    np.testing.assert_array_equal(np.signbit(got[0].numpy()), np.signbit(want[0].numpy()))


def test_the_gradient_of_a_sort() -> None:
    def run(t: Any, x: Any) -> Any:
        x.requires_grad_()
        values = t.sort(x, dim=0)[0]
        (values * t.arange(len(values))[:, None]).pow(2).sum().backward()
        return x.grad

    got, want = both(drawn(300, 70), run)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
@pytest.mark.parametrize(
    "shape,dim", [((100, 200), 1), ((60, 7, 50), 1), ((300, 65), 0), ((20000,), 0), ((3, 5, 7, 200), 2)]
)
def test_running(name: str, shape: tuple[int, ...], dim: int) -> None:
    """Values, gradients and second derivatives."""

    def run(t: Any, x: Any) -> Any:
        x = (x * 0.1 + 1 if name == "cumprod" else x).requires_grad_()
        out = getattr(t, name)(x, dim)
        (first,) = t.autograd.grad((out.pow(2) * out.detach().cos()).sum(), x, create_graph=True)
        (second,) = t.autograd.grad(first.pow(2).sum(), x) if name != "logcumsumexp" else (first,)
        return out.detach(), first.detach(), second

    for got, want in zip(*both(drawn(*shape), run), strict=True):
        want = want.detach()
        size = float(want.abs().max())
        np.testing.assert_allclose(got.detach().numpy(), want.numpy(), rtol=2e-4, atol=2e-5 * size)


@pytest.mark.parametrize("value", [0.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_running_over_unusual_numbers(name: str, value: float) -> None:
    x = drawn(100, 200)
    x[3, 7] = x[3, 9] = x[5, 0] = value
    if name == "logcumsumexp":
        x[8] = -np.inf
    got, want = both(x, lambda t, x: getattr(t, name)(x, 1))
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 100], ids=["small", "large"])
def test_gradients_of_logarithms_of_sums_with_nothing_among_them(rows: int) -> None:
    """Where neighbours are -inf; before the first other number PyTorch's are NaN."""
    x = drawn(rows, 200)
    x[0, 7:12] = x[0, 150] = -np.inf

    def run(t: Any, x: Any) -> Any:
        x.requires_grad_()
        t.logcumsumexp(x, 1).pow(2).sum().backward()
        return x.grad

    got, want = both(x, run)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
    x[0, :3] = -np.inf
    got, _ = both(x, run)
    assert np.isfinite(got.numpy()[:, 3:]).all()


@pytest.mark.parametrize("zeros", [1, 2])
def test_gradients_of_products_with_zeros(zeros: int) -> None:
    x = drawn(100, 200) * 0.1 + 1
    x[4, [10, 50][:zeros]] = 0

    def run(t: Any, x: Any) -> Any:
        x.requires_grad_()
        t.cumprod(x, 1).sum().backward()
        return x.grad

    got, want = both(x, run)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1, 50, 3e3, 2e4, 1e9, 1e37])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_waves(name: str, scale: float) -> None:
    """Within a unit in the last place and a half of the exact values; derivatives too."""
    x = drawn(130, 131) * np.float32(scale)
    x = jaxtorch.from_numpy(x).requires_grad_()
    out = getattr(x, name)()
    first = jaxtorch.autograd.grad(out.sum(), x, create_graph=True)[0]
    second = jaxtorch.autograd.grad(first.sum(), x)[0]
    wide = x.detach().numpy().astype(np.float64)
    sin, cos = np.sin(wide), np.cos(wide)
    exact = (sin, cos, -sin) if name == "sin" else (cos, -sin, -cos)
    for got, want in zip((out.detach(), first.detach(), second), exact, strict=True):
        assert (abs(got.numpy() - want) / np.maximum(abs(want), 1e-37)).max() < 1.8e-7


def test_waves_of_what_is_no_number() -> None:
    x = np.zeros((200, 100), np.float32)
    x[0, :5] = np.nan, np.inf, -np.inf, -0.0, 1e-42
    got, want = both(x, lambda t, x: t.sin(x))
    np.testing.assert_array_equal(got.numpy(), want.numpy())
    np.testing.assert_array_equal(np.signbit(got.numpy()[0, 3:5]), np.signbit(want.numpy()[0, 3:5]))
