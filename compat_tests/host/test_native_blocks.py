"""The kernels' products in blocks and by dot products, and convolutions with few outputs, against exact sums."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxtorch
from jaxtorch._core import native
from jaxtorch._core.compile.convolution import Window

pytestmark = pytest.mark.skipif(not native.available(), reason="the kernels are not built here")


def drawn(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(map(sum, shapes)))
    return [rng.standard_normal(s, np.float32) for s in shapes]


def is_near(got: Any, exact: np.ndarray, sizes: np.ndarray, length: int) -> None:
    assert (abs(np.asarray(got) - exact) / sizes).max() < 2e-7 * (1 + length**0.5 / 8)


@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize(
    "m,k,n",
    [
        (1, 1, 1), (1, 130, 3), (2, 7, 5), (3, 64, 4), (32, 257, 1), (32, 1000, 66), (33, 1000, 66), (97, 256, 300),
        (200, 257, 16), (65, 513, 48), (400, 900, 17), (1, 40, 700), (40, 1, 40),
    ],
)  # fmt: skip
def test_products(m: int, k: int, n: int, turned: bool) -> None:
    """Rows, steps and columns that do not fill their blocks, with and without a bias."""
    a, b, row = drawn((m, k), (k, n), (n,))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    sizes = abs(a).astype(np.float64) @ abs(b).astype(np.float64)
    right = np.ascontiguousarray(b.T) if turned else b
    got = jax.jit(lambda a, b: native.product(a, b, b_turned=turned))(a, right)
    is_near(got, exact, sizes, k)
    if turned:
        is_near(jax.jit(native.linear)(a, right, row), exact + row, sizes + abs(row), k)


@pytest.mark.parametrize("m", [5, 50])
def test_numbers_beside_a_product_do_not_reach_it(m: int) -> None:
    """What is read past the end of rows and panels belongs to other results."""
    a, b = drawn((m, 37), (19, 37))
    a[0], b[7] = np.nan, np.inf
    got = np.asarray(jax.jit(lambda a, b: native.product(a, b, b_turned=True))(a, b))
    rows, columns = np.arange(1, m), np.delete(np.arange(19), 7)
    want = a[rows].astype(np.float64) @ b[columns].astype(np.float64).T
    np.testing.assert_allclose(got[np.ix_(rows, columns)], want, rtol=1e-5, atol=1e-5)
    assert np.isnan(got[0]).all() and not np.isfinite(got[:, 7]).any()


def convolution(x: np.ndarray, w: np.ndarray, pads: Any, dilation: tuple[int, int]) -> tuple[Any, Any]:
    """By the kernels and by XLA in double precision; w (out, in, y, x)."""
    outs, channels, height, width = w.shape
    window = Window((1, 1), pads, (1, 1), dilation)
    sizes = window.results(x.shape[1:3], (height, width))
    kernel = native.Kernel((height, width), (width, 1), height * width, channels * height * width, 0)
    got = jax.jit(lambda x, w: native.convolve(x, w, kernel, outs, sizes, window))(x, w)
    with jax.enable_x64(True):
        wide = jnp.asarray(x, jnp.float64), jnp.asarray(w, jnp.float64)
        want = lax.conv_general_dilated(*wide, (1, 1), pads, (1, 1), dilation, ("NHWC", "OIHW", "NHWC"))
        want = np.asarray(want)
    return np.asarray(got), want


@pytest.mark.parametrize("outs", range(1, 13))
@pytest.mark.parametrize(
    "n,h,w,channels,kernel,pads,dilation",
    [
        (3, 12, 20, 3, (5, 5), ((0, 0), (0, 0)), (1, 1)),
        (1, 40, 33, 17, (3, 3), ((1, 1), (1, 1)), (1, 1)),
        (2, 9, 70, 40, (3, 2), ((2, 0), (0, 3)), (2, 3)),
        (1, 30, 24, 130, (4, 1), ((-1, 2), (-2, -1)), (1, 1)),
        (5, 3, 17, 1, (1, 7), ((0, 0), (3, 3)), (1, 1)),
        (2, 5, 16, 8, (9, 9), ((6, 6), (8, 8)), (1, 1)),
    ],
)
def test_convolutions_with_few_outputs(
    outs: int, n: int, h: int, w: int, channels: int, kernel: tuple[int, int], pads: Any, dilation: tuple[int, int]
) -> None:
    x, weight = drawn((n, h, w, channels), (outs, channels, *kernel))
    got, want = convolution(x, weight, pads, dilation)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6 * abs(want).max())


@pytest.mark.parametrize("outs", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("channels", [8, 16, 48, 64, 112])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_kernels_with_few_outputs(outs: int, channels: int, seed: int) -> None:
    rng = np.random.default_rng(100 * outs + channels + seed)
    kernel, stride, dilation = (tuple(int(v) for v in rng.integers(1, n, 2)) for n in (6, 3, 3))
    pads = tuple((int(a), int(b)) for a, b in rng.integers(-1, 4, (2, 2)))
    window, sides = Window(stride, pads, (1, 1), dilation), (int(rng.integers(9, 40)), int(rng.integers(9, 40)))
    sizes = window.results(sides, kernel)
    x, g = drawn((3, *sides, channels), (3, *sizes, outs))
    layout = native.Kernel(kernel, (kernel[1], 1), kernel[0] * kernel[1], channels * kernel[0] * kernel[1], 0)
    got = jax.jit(lambda x, g: native.convolve_of_kernel(x, g, (outs, channels, *kernel), layout, window))(x, g)
    with jax.enable_x64(True):
        wide = jnp.asarray(x, jnp.float64)
        numbers = ("NHWC", "OIHW", "NHWC")
        run = lambda w: lax.conv_general_dilated(wide, w, stride, pads, (1, 1), dilation, numbers)  # noqa: E731
        want = np.asarray(jax.vjp(run, jnp.zeros((outs, channels, *kernel)))[1](jnp.asarray(g, jnp.float64))[0])
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6 * abs(want).max())


def test_a_pixel_that_is_not_finite_spoils_its_neighbours_only() -> None:
    x, weight = drawn((2, 10, 21, 5), (3, 5, 3, 3))
    x[0, 4, 20, 2] = np.nan
    got, want = convolution(x, weight, ((1, 1), (1, 1)), (1, 1))
    assert np.array_equal(np.isnan(got), np.isnan(want)) and 0 < np.isnan(got).sum() < 30
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("channels_first", [True, False])
def test_kernels_of_one_pixel_are_products(monkeypatch: pytest.MonkeyPatch, channels_first: bool) -> None:
    """However the kernel lies; forward and both gradients."""
    monkeypatch.setattr(native, "with_avx2_alone", lambda: True)
    monkeypatch.setattr(native, "matrix_units", lambda: False)
    x, weight = drawn((3, 40, 9, 8), (50, 40, 1, 1))
    g = drawn((3, 50, 9, 8))[0]
    ours, theirs = jaxtorch.from_numpy(x).requires_grad_(), jaxtorch.from_numpy(weight).requires_grad_()
    given = theirs if channels_first else theirs.to(memory_format=jaxtorch.channels_last)
    jaxtorch.nn.functional.conv2d(ours, given).backward(jaxtorch.from_numpy(g))
    got = jaxtorch.nn.functional.conv2d(ours, given).detach().numpy()
    np.testing.assert_allclose(got, np.einsum("nchw,oc->nohw", x, weight[:, :, 0, 0]), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(
        ours.grad.numpy(), np.einsum("nohw,oc->nchw", g, weight[:, :, 0, 0]), rtol=1e-5, atol=1e-4
    )
    wanted = np.einsum("nohw,nchw->oc", g, x)[..., None, None]
    np.testing.assert_allclose(theirs.grad.numpy(), wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("batch", [1, 16, 50])
def test_rows_of_a_recurrent_layer_do_not_wait_for_each_other(batch: int) -> None:
    """Groups of rows go through the steps beside one another: whichever thread is first, the numbers are the same, bit for bit."""
    steps, units = 30, 96
    xw, h, w = drawn((steps, batch, 4 * units), (batch, units), (4 * units, units))
    run = jax.jit(lambda *a: native.lstm(*a, reverse=False))
    rows = [run(xw[:, r : r + 1], h[r : r + 1], h[r : r + 1], w * 0.1) for r in range(batch)]
    first = run(xw, h, h, w * 0.1)
    np.testing.assert_allclose(first[0], np.concatenate([r[0] for r in rows], 1), rtol=1e-5, atol=1e-6)
    for _ in range(40):
        for a, b in zip(run(xw, h, h, w * 0.1), first, strict=True):
            np.testing.assert_array_equal(a, b)
