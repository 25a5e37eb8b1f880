"""Resampling and uneven pooling as sums of a few elements: with the kernel and without, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from jaxtorch._core import native
from jaxtorch._core.host import tiering
from jaxtorch._core.run import runner
from jaxtorch._ops.nn import weighted_gather as own

WAYS = [
    "plain",
    pytest.param("kernel", marks=pytest.mark.skipif(not native.available(), reason="the kernels are not built")),
]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The kernel for arrays of any size, or not at all."""
    monkeypatch.setattr(native, "KERNEL_ELEMENTS", 0 if request.param == "kernel" else 1 << 60)
    monkeypatch.setattr(tiering, "RUNS", 0)  # XLA runs what is small as well
    jax.clear_caches()
    runner._structures.clear()
    yield request.param
    jax.clear_caches()
    runner._structures.clear()


def drawn(shape: tuple[int, ...], kind: str) -> np.ndarray[Any, Any]:
    x = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
    if kind == "unusual":
        x.reshape(-1)[::43] = np.resize([np.inf, -0.0, np.nan, -np.inf, 0.0], x.reshape(-1)[::43].shape)
    return x


CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "linear": ((2, 3, 17), {"scale_factor": 2, "mode": "linear"}),
    "nearest": ((2, 3, 5, 6), {"size": (13, 4), "mode": "nearest"}),
    "bilinear": ((3, 2, 7, 9), {"scale_factor": 2, "mode": "bilinear"}),
    "corners": ((3, 2, 7, 9), {"size": (20, 5), "mode": "bilinear", "align_corners": True}),
    "one axis": ((3, 2, 7, 9), {"size": (7, 21), "mode": "bilinear"}),
    "other axis": ((3, 2, 7, 9), {"size": (15, 9), "mode": "bilinear"}),
    "bicubic": ((2, 2, 8, 5), {"scale_factor": 2.5, "mode": "bicubic"}),
    "smooth": ((2, 2, 40, 33), {"size": (3, 50), "mode": "bilinear", "antialias": True}),
    "far": ((1, 2, 3, 2), {"scale_factor": 20, "mode": "bilinear"}),
    "trilinear": ((1, 2, 4, 5, 6), {"size": (7, 3, 13), "mode": "trilinear"}),
    "depth": ((1, 2, 4, 5, 6), {"size": (7, 5, 6), "mode": "trilinear"}),
    "area": ((2, 3, 11, 50), {"size": (4, 2), "mode": "area"}),
    "pooled": ((2, 3, 32, 10), {}),
}


def resampled(t: Any, x: Any, options: dict[str, Any]) -> Any:
    return t.nn.functional.interpolate(x, **options) if options else t.nn.functional.adaptive_avg_pool2d(x, 7)


@pytest.mark.parametrize("kind", ["usual", "unusual"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str, kind: str, way: str) -> None:
    """Values, gradients and second derivatives; infinities and NaN go where PyTorch's go."""
    shape, options = CASES[name]

    def run(t: Any) -> list[Any]:
        x = t.from_numpy(drawn(shape, kind)).requires_grad_()
        out = resampled(t, x, options)
        weight = t.linspace(-1, 1, out.numel()).reshape(out.shape)
        (first,) = t.autograd.grad((out * out * weight).sum(), x, create_graph=True)
        (second,) = t.autograd.grad((first * first).sum(), x)
        return [r.detach().numpy() for r in (out, first, second)]

    for found, expected in zip(run(torch), run(pytorch), strict=True):
        assert found.shape == expected.shape
        if (
            kind == "unusual"
        ):  # of an axis that stays PyTorch adds its neighbour, times 0, and it drops weights of 0 elsewhere
            expected = np.where(np.isfinite(found) | np.isfinite(expected), expected, found)
        size = np.abs(expected[np.isfinite(expected)]).max(initial=1)
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5 * size)
    if name == "nearest" and kind == "unusual":
        out, expected = (resampled(t, t.from_numpy(drawn(shape, kind)), options).numpy() for t in (torch, pytorch))
        np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


def test_what_a_kernel_is_called_for(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways above are two ways."""
    called: list[Any] = []
    plain = native.resample
    monkeypatch.setattr(native, "resample", lambda *a: called.append(a) or plain(*a))
    x = torch.randn(1, 3, 19, 23, requires_grad=True)
    torch.nn.functional.interpolate(x, scale_factor=3, mode="bilinear").sum().backward()
    x.grad.sum().item()
    assert bool(called) == (way == "kernel")


def test_transposes_are_transposes() -> None:
    """Of every kind of taps, as matrices."""
    inside = np.array([[True, False], [True, True], [True, True]])
    some = [
        own.Taps(4, np.array([[0, 1], [1, 2], [3, 3]]), np.array([[0.5, 0.5], [0.25, 0.75], [2, 1]])),
        own.Taps(4, np.array([[0, 0], [1, 2], [2, 3]]), None, inside),
        own.Taps(5, np.array([[4]]), None),
    ]
    for taps in some:
        there, back = ([own.sums(np.eye(t.size, dtype=np.float32), [t])][0] for t in (taps, own._transposed(taps)))
        np.testing.assert_array_equal(np.asarray(there), np.asarray(back).T)
        assert own._transposed(own._transposed(taps)) is taps


def test_batches_and_tangents(way: str) -> None:
    x = torch.randn(5, 2, 3, 6, 7)
    up = lambda v: torch.nn.functional.interpolate(v, scale_factor=2, mode="bilinear")  # noqa: E731
    each = torch.stack([up(v) for v in x])
    torch.testing.assert_close(torch.func.vmap(up)(x), each)
    torch.testing.assert_close(torch.func.vmap(up, in_dims=1)(x.transpose(0, 1)), each)
    _, tangent = torch.func.jvp(up, (x[0],), (x[1],))
    torch.testing.assert_close(tangent, each[1])
    torch.testing.assert_close(
        torch.func.jacrev(lambda v: up(v).sum((2, 3)))(x[0]), torch.func.jacfwd(lambda v: up(v).sum((2, 3)))(x[0])
    )


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("shape", [(2, 3, 7, 9), (1, 5, 4, 30), (3, 1, 12, 5)])
def test_samples_at_places(shape: tuple[int, ...], padding: str, mode: str, way: str) -> None:
    """Values, gradients of images and places, and second derivatives; places outside, far away, and no number at all."""

    def run(t: Any) -> list[Any]:
        rng = np.random.default_rng(1)
        x = t.from_numpy(rng.standard_normal(shape, np.float32)).requires_grad_()
        grid = rng.uniform(-1.3, 1.3, (shape[0], 11, 31, 2)).astype(np.float32)
        far = 40.3 if padding == "reflection" else 1e9  # whose reflections are all rounding
        grid[0, 0, 0], grid[0, 1, 1], grid[0, 2, :3] = far, -far, [[-1, -1], [1, 1], [0, 0]]
        places = t.from_numpy(grid).requires_grad_()
        out = t.nn.functional.grid_sample(x, places, mode=mode, padding_mode=padding, align_corners=False)
        weight = t.linspace(-1, 1, out.numel()).reshape(out.shape)
        first = t.autograd.grad((out * out * weight).sum(), [x, places], create_graph=True)
        results = [out, *first]
        if t is torch and mode == "bilinear":  # PyTorch has no second derivatives here
            assert all(g.requires_grad for g in first)
        return [r.detach().numpy() for r in results]

    for found, expected in zip(run(torch), run(pytorch), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4 * np.abs(expected).max())


def test_second_derivatives_of_samples(way: str) -> None:
    """Against differences of gradients."""
    x = torch.randn(2, 3, 6, 7, requires_grad=True)
    grid = (torch.rand(2, 4, 5, 2) * 1.6 - 0.8).requires_grad_()

    def slope(x: Any, grid: Any) -> Any:
        out = torch.nn.functional.grid_sample(x, grid, align_corners=True)
        (g,) = torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)
        return g.pow(2).sum()

    (found,) = torch.autograd.grad(slope(x, grid), x)
    moved = torch.randn_like(x)
    step = 1e-2
    expected = (slope(x + step * moved, grid) - slope(x - step * moved, grid)) / (2 * step)
    torch.testing.assert_close((found * moved).sum(), expected, rtol=2e-2, atol=0.1)
