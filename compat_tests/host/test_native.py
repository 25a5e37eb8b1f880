"""The kernels in C++ against XLA's own operations. Skipped where they were not built (no compiler, or another processor)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxtorch._core import native
from jaxtorch._core.compile import convolution
from jaxtorch._core.compile.convolution import Window
from jaxtorch._ops.common.product_primitives import times, times_and_plus, times_transposed
from jaxtorch._ops.nn.activation import _gelu, _gelu_p
from jaxtorch._ops.nn.attention import _heads_p
from jaxtorch._ops.nn.recurrent_loops import gru_scan, lstm_scan, rnn_scan
from jaxtorch._ops.nn.standardize import layer_norm_p

built = pytest.mark.skipif(not native.available(), reason="the kernels in C++ were not built here")


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64" or not shutil.which("g++"),
    reason="they cannot be built here",
)
def test_they_are_built_with_the_package() -> None:
    folder = Path(native.__file__).parent
    assert list(folder.glob("kernels*.so")), "install with a C++ compiler present builds them: pip install -e ."


def test_they_can_be_switched_off() -> None:
    code = "from jaxtorch._core import native; assert not native.available()"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "JAXTORCH_NATIVE": "0"})


def random_convolution(rng: np.random.Generator, least: int) -> tuple[Any, Any, Window, int]:
    """x, w in the order (*kernel, input, output), a window that has a result, and groups of at least so many channels."""
    while True:
        groups = int(rng.choice([1, 1, 1, 2, 3]))
        kernel, stride, dilation = (tuple(int(v) for v in rng.integers(1, n, 2)) for n in (6, 4, 3))
        spread = tuple(int(v) for v in rng.integers(1, 4, 2)) if rng.random() < 0.4 else (1, 1)
        stride = tuple(1 if e > 1 else s for s, e in zip(stride, spread, strict=True))
        pads = tuple((int(a), int(b)) for a, b in rng.integers(-1, 4, (2, 2)))
        window = Window(stride, pads, spread, dilation)
        n, h, w = (int(v) for v in rng.integers(1, [5, 20, 20]))
        channels, outs = (int(v) * groups for v in rng.integers(least, [30 + least, 70]))
        sides = [(s - 1) * e + 1 + a + b for s, e, (a, b) in zip((h, w), spread, pads, strict=True)]
        if min(sides) > 0 and all(window.results((h, w), kernel)):
            x = rng.standard_normal((n, h, w, channels), np.float32)
            return x, rng.standard_normal((*kernel, channels // groups, outs), np.float32), window, groups


def as_xla_does(x: Any, w: Any, window: Window, groups: int) -> Any:
    sides = window.stride, window.pads, window.spread, window.dilation
    return lax.conv_general_dilated(x, w, *sides, ("NHWC", "HWIO", "NHWC"), feature_group_count=groups)


def scattered(w: Any, order: tuple[int, ...], turned: tuple[int, ...]) -> tuple[Any, native.Kernel]:
    """w (y, x, input, output) laid in memory in another order, with some dimensions running backwards."""
    steps, step = [0] * 4, 1
    for d in reversed(order):
        steps[d], step = step, step * w.shape[d]
    offset = sum(steps[d] * (w.shape[d] - 1) for d in turned)
    steps = [-s if d in turned else s for d, s in enumerate(steps)]
    kernel = native.Kernel(w.shape[:2], tuple(steps[:2]), steps[2], steps[3], offset)
    return np.flip(w, turned).transpose(order), kernel


@built
@pytest.mark.parametrize("least", [1, 24])  # 24: on matrix units, where there are any
@pytest.mark.parametrize("seed", range(16))
def test_random_windows(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    x, w, window, groups = random_convolution(rng, least)
    order, turned = tuple(int(d) for d in rng.permutation(4)), ((), (0, 1), (1,))[seed % 3]
    array, kernel = scattered(w, order, turned)
    expected, back = jax.vjp(lambda w: as_xla_does(x, w, window, groups), jnp.asarray(w))
    sizes = expected.shape[1:3]
    out = jax.jit(lambda x, w: native.convolve(x, w, kernel, w_outs, sizes, window, groups))
    w_outs = w.shape[-1]
    np.testing.assert_allclose(out(x, array), expected, rtol=1e-5, atol=1e-5 * float(abs(expected).max()))
    if window.spread == (1, 1):
        g = rng.standard_normal(expected.shape, np.float32)
        got = jax.jit(lambda x, g: native.convolve_of_kernel(x, g, array.shape, kernel, window, groups))(x, g)
        want = scattered(np.asarray(back(g)[0]), order, turned)[0]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * float(abs(want).max()))


@built
@pytest.mark.parametrize("seed", range(16))
def test_channels_with_kernels_of_their_own(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channels = int(rng.choice([1, 3, 16, 37, 64]))
    while True:
        x, w, window, _ = random_convolution(rng, 1)
        if window.results(x.shape[1:3], w.shape[:2])[1] > 1:
            break
    x = rng.standard_normal((*x.shape[:3], channels), np.float32)
    w = rng.standard_normal((*w.shape[:2], 1, channels), np.float32)
    order, turned = tuple(int(d) for d in rng.permutation(4)), ((), (0, 1), (1,))[seed % 3]
    array, kernel = scattered(w, order, turned)
    expected, back = jax.vjp(lambda w: as_xla_does(x, w, window, channels), jnp.asarray(w))
    out = jax.jit(lambda x, w: native.convolve(x, w, kernel, channels, expected.shape[1:3], window, channels))
    np.testing.assert_allclose(out(x, array), expected, rtol=1e-5, atol=1e-5 * float(abs(expected).max()))
    if window.spread == (1, 1):
        g = rng.standard_normal(expected.shape, np.float32)
        run = jax.jit(lambda x, g: native.convolve_of_kernel(x, g, array.shape, kernel, window, channels))
        want = scattered(np.asarray(back(g)[0]), order, turned)[0]
        np.testing.assert_allclose(run(x, g), want, rtol=1e-5, atol=1e-5 * float(abs(want).max()))


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_kernels_of_transposed_convolutions(monkeypatch: pytest.MonkeyPatch, seed: int, kernels: bool) -> None:
    """The gradient of a kernel whose input is spread: by the native kernels, and without them."""
    rng = np.random.default_rng(seed)
    sides, kernel, spread, dilation = (tuple(int(v) for v in rng.integers(1, n, 2)) for n in (9, 5, 4, 3))
    pads = tuple((k * d, k * d) for k, d in zip(kernel, dilation, strict=True))
    window = Window((1, 1), pads, spread, dilation)
    x = rng.standard_normal((3, *sides, 24), np.float32)
    shape = (*kernel, 24, 40)
    expected, back = jax.vjp(lambda w: as_xla_does(x, w, window, 1), jnp.zeros(shape, jnp.float32))
    g = rng.standard_normal(expected.shape, np.float32)
    (want,) = back(g)
    if kernels and native.available():
        array, place = scattered(np.zeros(shape, np.float32), (3, 2, 0, 1), ())
        got = jax.jit(lambda x, g: convolution.natively_for_kernel(x, g, array.shape, place, 1, window))(x, g)
        want = np.asarray(want).transpose(3, 2, 0, 1)
    else:
        monkeypatch.setattr(native, "available", lambda: False)
        got = jax.jit(lambda x, g: convolution.run_for_kernel(x, g, kernel, window))(x, g)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * float(abs(want).max()))


@built
@pytest.mark.parametrize("seed", range(12))
def test_convolutions_with_few_results(seed: int) -> None:
    """Of small images with kernels that lie as PyTorch's do."""
    rng = np.random.default_rng(seed)
    kernel, stride, dilation = (tuple(int(v) for v in rng.integers(1, n, 2)) for n in (4, 3, 3))
    pads = tuple((int(a), int(b)) for a, b in rng.integers(0, 3, (2, 2)))
    window = Window(stride, pads, (1, 1), dilation)
    n, h, w, channels = (int(v) for v in rng.integers([1, 5, 5, 1], [3, 9, 9, 100]))
    x = rng.standard_normal((n, h, w, channels), np.float32)
    kernels = rng.standard_normal((*kernel, channels, 170), np.float32)
    if seed == 0:
        x[0, 1, 2, 0] = np.nan
    expected = np.asarray(as_xla_does(x, kernels, window, 1))
    array, layout = scattered(kernels, (3, 2, 0, 1), ())
    run = jax.jit(lambda x, w: native.convolve(x, w, layout, 170, expected.shape[1:3], window))
    size = float(np.nanmax(abs(expected), initial=1))
    np.testing.assert_allclose(run(x, array), expected, rtol=1e-5, atol=1e-5 * size)


@built
@pytest.mark.parametrize("seed", range(10))
def test_convolutions_in_winograds_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pads = tuple((int(a), int(b)) for a, b in rng.integers(-1, 4, (2, 2)))
    window = Window((1, 1), pads, (1, 1), (1, 1))
    h, w, channels, outs = (int(v) for v in rng.integers([4, 4, 48, 48], [20, 20, 100, 100]))
    sizes = window.results((h, w), (3, 3))
    images = -(-64 // (-(-sizes[0] // 2) * -(-sizes[1] // 2)))
    x = rng.standard_normal((images, h, w, channels), np.float32)
    kernels = rng.standard_normal((3, 3, channels, outs), np.float32)
    order, turned = tuple(int(d) for d in rng.permutation(4)), ((), (0, 1), (1,))[seed % 3]
    array, layout = scattered(kernels, order, turned)
    expected, back = jax.vjp(lambda w: as_xla_does(x, w, window, 1), jnp.asarray(kernels))
    got = jax.jit(lambda x, w: native.convolve(x, w, layout, outs, sizes, window))(x, array)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * float(abs(expected).max()))
    g = rng.standard_normal(got.shape, np.float32)
    got = jax.jit(lambda x, g: native.convolve_of_kernel(x, g, array.shape, layout, window))(x, g)
    want = scattered(np.asarray(back(g)[0]), order, turned)[0]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * float(abs(want).max()))


@built
@pytest.mark.parametrize("channels", [32, 64])  # 64: in Winograd's form, which such numbers do not suit
@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38, 1e8, 1e-38])
def test_convolutions_with_unusual_numbers(value: float, pad: int, channels: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 9, 9, channels), np.float32)
    w = rng.standard_normal((3, 3, channels, channels), np.float32) * 1e-3
    x[1, 4 * pad, 5, 6] = value
    window = Window((1, 1), ((pad, pad), (pad, pad)), (1, 1), (1, 1))
    array, kernel = scattered(w, (3, 2, 0, 1), ())
    expected, back = jax.vjp(lambda w: as_xla_does(x, w, window, 1), jnp.asarray(w))
    sizes = expected.shape[1:3]
    got = jax.jit(lambda x, w: native.convolve(x, w, kernel, channels, sizes, window))(x, array)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
    of_w = jax.jit(lambda x, g: native.convolve_of_kernel(x, g, array.shape, kernel, window))(x, np.ones_like(got))
    expected = scattered(np.asarray(back(jnp.ones_like(got))[0]), (3, 2, 0, 1), ())[0]
    np.testing.assert_allclose(of_w, expected, rtol=1e-4, atol=1e-3)


@built
@pytest.mark.parametrize("value", [np.inf, np.nan, 1e8])
def test_gradients_and_kernels_with_unusual_numbers(value: float) -> None:
    """In Winograd's form, if they suited it."""
    rng = np.random.default_rng(0)
    x, g = (rng.standard_normal((6, 9, 9, 64), np.float32) for _ in range(2))
    w = rng.standard_normal((3, 3, 64, 64), np.float32)
    g[2, 8, 8, 3] = w[1, 2, 3, 4] = value
    window = Window((1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1))
    array, kernel = scattered(w, (3, 2, 0, 1), ())
    expected, back = jax.vjp(lambda w: as_xla_does(x, w, window, 1), jnp.asarray(w))
    got = jax.jit(lambda x, w: native.convolve(x, w, kernel, 64, (9, 9), window))(x, array)
    apart = np.delete(np.asarray(got), 4, -1), np.delete(np.asarray(expected), 4, -1)
    np.testing.assert_allclose(*apart, rtol=1e-4, atol=1e-4)
    of_w = jax.jit(lambda x, g: native.convolve_of_kernel(x, g, array.shape, kernel, window))(x, g)
    expected = scattered(np.asarray(back(g)[0]), (3, 2, 0, 1), ())[0]
    apart = np.delete(np.asarray(of_w), 3, 0), np.delete(expected, 3, 0)
    np.testing.assert_allclose(*apart, rtol=1e-4, atol=1e-3)


@built
def test_many_at_once() -> None:
    """Programs that run side by side share XLA's threads, and none waits for ever."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal((8, 32, 32, 16), np.float32))
    w = jnp.asarray(rng.standard_normal((3, 3, 16, 16), np.float32))
    window = Window((1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1))
    array, kernel = scattered(np.asarray(w), (3, 2, 0, 1), ())
    one = jax.jit(lambda x, w: native.convolve(x, w, kernel, 16, (32, 32), window))
    many = jax.jit(lambda x, w: [native.convolve(x + i, w, kernel, 16, (32, 32), window) for i in range(6)])
    found = [many(x, array) for _ in range(20)]
    for i, y in enumerate(found[-1]):
        np.testing.assert_allclose(y, one(x + i, array), rtol=1e-6)


@built
def test_one_after_the_other() -> None:
    """Kernels that follow one another soon or late, in programs of several threads: the numbers are always the same."""
    x, *ws = arrays((96, 128), *[(128, 128)] * 4)

    def chain(x: Any) -> Any:
        for w in ws:
            x = native.gelu(native.product(x, w * 0.1, False, True))
        return x

    run = jax.jit(chain)
    expected = np.asarray(run(x))

    def often(pause: float) -> bool:
        same = True
        for _ in range(60):
            time.sleep(pause)
            same = same and np.array_equal(run(x), expected)
        return same

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(often, [0.0, 0.00005, 0.0002, 0.001]))


def same_as_xla(monkeypatch: pytest.MonkeyPatch, fn: Any, *args: Any, rounding: float = 2e-5) -> None:
    """Results and gradients of fn, and a derivative of a gradient, with the kernels and without."""

    def everything(*args: Any) -> Any:
        places = tuple(range(len(args)))
        out, back = jax.vjp(fn, *args)
        cts = jax.tree.map(lambda x: jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape), out)
        grads = jax.grad(lambda *a: sum((y * y).sum() for y in jax.tree.leaves(fn(*a))), places)
        return out, back(cts), jax.jvp(grads, args, args)

    got = jax.jit(lambda *a: everything(*a))(*args)
    monkeypatch.setattr(native, "available", lambda: False)
    monkeypatch.setattr(native, "matrix_units", lambda: False)
    expected = jax.jit(lambda *a: everything(*a))(*args)
    for g, e in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=rounding, atol=rounding * float(abs(e).max() + 1e-6))


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.standard_normal(s, np.float32)) for s in shapes]


WAYS = pytest.mark.parametrize("a_turned,b_turned", [(False, False), (False, True), (True, False)])


def product(a: Any, b: Any, a_turned: bool, b_turned: bool) -> Any:
    """Of a (m, k) and b (k, n), given to the kernel turned or not."""
    a, b = (x.T.copy() if turned else x for x, turned in ((a, a_turned), (b, b_turned)))
    return np.asarray(jax.jit(lambda a, b: native.product(a, b, a_turned, b_turned))(a, b))


@built
@WAYS
@pytest.mark.parametrize(
    "m,k,n", [(1, 1, 1), (13, 300, 40), (200, 64, 32), (33, 700, 7), (150, 1100, 130), (31, 33, 65)]
)
def test_products(m: int, k: int, n: int, a_turned: bool, b_turned: bool) -> None:
    """As near to the exact result as float32 comes."""
    a, b = (np.asarray(x) for x in arrays((m, k), (k, n)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    sizes = abs(a).astype(np.float64) @ abs(b).astype(np.float64)
    assert (abs(product(a, b, a_turned, b_turned) - exact) / sizes).max() < 2e-7 * (1 + k**0.5 / 8)


@built
@WAYS
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3.4e38, 1e-30, 1e-38, -0.0])
def test_products_with_unusual_numbers(value: float, a_turned: bool, b_turned: bool) -> None:
    a, b = (np.asarray(x) for x in arrays((70, 40), (40, 50)))
    b = b * np.float32(1e-3)
    alone = np.full_like(a, value)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(product(alone, b, a_turned, b_turned), alone @ b, rtol=1e-4, atol=2e-38)
        a = a.copy()
        a[3, 5] = value
        np.testing.assert_allclose(product(a, b, a_turned, b_turned), a @ b, rtol=1e-4, atol=1e-5)


@built
@pytest.mark.parametrize("turned", [False, True])
def test_products_of_layers(monkeypatch: pytest.MonkeyPatch, turned: bool) -> None:
    x, w = arrays((300, 60), (240, 60) if turned else (60, 240))
    same_as_xla(monkeypatch, lambda x, w: jnp.tanh((times_transposed if turned else times)(x, w * 0.1)), x, w)


@built
def test_which_products_of_layers_are_in_the_kernels_with_avx2(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but those with the largest weights."""
    monkeypatch.setattr(native, "with_avx2_alone", lambda: True)
    monkeypatch.setattr(native, "matrix_units", lambda: False)
    for rows, inner, columns, taken in [
        (64, 400, 120, True),
        (512, 512, 520, True),
        (8, 1024, 1024, True),
        (8, 1024, 1032, False),
    ]:
        x, w, b = arrays((rows, inner), (columns, inner), (columns,))
        assert ("jaxtorch" in jax.jit(times_and_plus).lower(x, w, b).as_text()) == taken
        got = jax.jit(lambda *a: times_and_plus(*a))(x, w, b)
        np.testing.assert_allclose(got, np.asarray(x) @ np.asarray(w).T + np.asarray(b), rtol=1e-4, atol=1e-4)


@built
@pytest.mark.parametrize("a_turned,b_turned", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("batch,m,k,n", [((7,), 33, 40, 50), ((2, 3), 70, 33, 65), ((1,), 5, 200, 64)])
def test_products_in_batches(
    monkeypatch: pytest.MonkeyPatch, batch: tuple[int, ...], m: int, k: int, n: int, a_turned: bool, b_turned: bool
) -> None:
    """As recorded programs have them: a transposition is an operation before the product."""
    monkeypatch.setattr(native, "KERNEL_ELEMENTS", 0)
    a, b = arrays((*batch, k, m) if a_turned else (*batch, m, k), (*batch, n, k) if b_turned else (*batch, k, n))

    def turned(x: Any, wanted: bool) -> Any:
        return jnp.swapaxes(x, -1, -2) if wanted else x

    product = lambda a, b: times(turned(a, a_turned), turned(b, b_turned))  # noqa: E731
    compiled = jax.jit(product).lower(a, b).compile().as_text()
    assert "jaxtorch_products" in compiled and "transpose" not in compiled
    same_as_xla(monkeypatch, lambda a, b: jnp.tanh(product(a * 0.1, b * 0.1)), a, b)


@built
@pytest.mark.parametrize("rows,columns", [(300, 240), (129, 77)])
def test_products_and_biases(monkeypatch: pytest.MonkeyPatch, rows: int, columns: int) -> None:
    args = arrays((rows, 60), (columns, 60), (columns,), (columns,))
    same_as_xla(monkeypatch, lambda x, w, a, b: jnp.tanh(times_and_plus(x, w * 0.1, a, b)), *args)


def lengths_of(steps: int, batch: int) -> Any:
    """(T, B): 1 inside each sequence and 0 after it, with one of no length."""
    return (jnp.arange(steps)[:, None] < (jnp.arange(batch) * 7 + steps) % (steps + 1)).astype(jnp.float32)


@built
@pytest.mark.parametrize(
    "steps,batch,units,reverse,ragged",
    [
        (1, 1, 1, False, True),
        (5, 3, 20, True, True),
        (7, 16, 64, True, False),
        (4, 13, 100, False, True),
        (9, 40, 72, False, True),
    ],
)
@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh", "relu"])
def test_recurrent_layers(
    monkeypatch: pytest.MonkeyPatch, cell: str, steps: int, batch: int, units: int, reverse: bool, ragged: bool
) -> None:
    monkeypatch.setattr(native, "KERNEL_ELEMENTS", 0)
    gates = {"lstm": 4, "gru": 3}.get(cell, 1)
    state, valid = (batch, units), lengths_of(steps, batch) if ragged else None
    shapes = [(steps, batch, gates * units), state, (gates * units, units)]
    if cell == "lstm":
        fn = lambda xw, h, w, c: lstm_scan(xw, h, c, w * 0.1, None, valid, reverse)  # noqa: E731
        args = arrays(*shapes, state)
    elif cell == "gru":
        fn = lambda xw, h, w, b: gru_scan(xw, h, w * 0.1, b, valid, reverse)  # noqa: E731
        args = arrays(*shapes, (3 * units,))
    else:
        fn = lambda xw, h, w: rnn_scan(xw, h, w * 0.1, valid, cell, reverse)  # noqa: E731
        args = arrays(*shapes)
    same_as_xla(monkeypatch, fn, *args)


@built
@pytest.mark.parametrize("value", [-np.inf, np.nan, 3e38])
@pytest.mark.parametrize("cell", ["lstm", "gru", "relu"])
def test_recurrent_layers_with_unusual_numbers(monkeypatch: pytest.MonkeyPatch, cell: str, value: float) -> None:
    gates = {"lstm": 4, "gru": 3}.get(cell, 1)
    xw, h, w, b = arrays((3, 9, gates * 64), (9, 64), (gates * 64, 64), (192,))
    for xw, h in ((xw.at[1, 2, 3].set(value), h), (xw, h.at[4, 5].set(value))):  # noqa: B020
        if cell == "lstm":
            run = lambda *a: lstm_scan(*a[:2], a[1], a[2] * 0.1, None, None, False)  # noqa: E731
        elif cell == "gru":
            run = lambda *a: gru_scan(*a[:2], a[2] * 0.1, b, None, False)  # noqa: E731
        else:
            run = lambda *a: rnn_scan(*a[:2], a[2] * 0.1, None, cell, False)  # noqa: E731

        def both(*a: Any, run: Any = run) -> Any:
            out, back = jax.vjp(run, *a)
            return out, back(jax.tree.map(jnp.ones_like, out))

        got = jax.jit(both)(xw, h, w)
        with monkeypatch.context() as without:
            without.setattr(native, "available", lambda: False)
            without.setattr(native, "matrix_units", lambda: False)
            expected = jax.jit(lambda *a: both(*a))(xw, h, w)
        for g, e in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-4)


@built
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("examples", [1, 2])
@pytest.mark.parametrize("sizes", [(2, 7, 7, 5, 4), (2, 130, 130, 32, 32), (3, 33, 70, 40, 33), (1, 1, 9, 16, 16)])
def test_attention(monkeypatch: pytest.MonkeyPatch, examples: int, sizes: tuple[int, ...], causal: bool) -> None:
    heads, rows, columns, width, out = sizes
    shapes = (heads, rows, width), (heads, columns, width), (heads, columns, out)
    q, k, v = arrays(*((examples, *shape) for shape in shapes))
    same_as_xla(
        monkeypatch, lambda q, k, v: _heads_p.bind(q * 0.2, k, v, causal=causal, inner=1), q, k, v, rounding=1e-4
    )


@built
@pytest.mark.parametrize(
    "heads,masks,inner,mask_rows,rows,columns", [(6, 1, 6, 7, 7, 9), (6, 3, 2, 1, 33, 70), (4, 2, 1, 70, 70, 130)]
)
def test_attention_with_a_mask(
    monkeypatch: pytest.MonkeyPatch, heads: int, masks: int, inner: int, mask_rows: int, rows: int, columns: int
) -> None:
    monkeypatch.setattr(native, "KERNEL_ELEMENTS", 0)
    examples = (heads // 2, 2)
    shapes = (*examples, rows, 20), (*examples, columns, 20), (*examples, columns, 33), (masks, mask_rows, columns)
    q, k, v, mask = arrays(*shapes)
    mask = jnp.where(mask > 1, -jnp.inf, mask).at[0, 0].set(-jnp.inf)  # one row sees nothing
    fn = lambda q, k, v: _heads_p.bind(q * 0.2, k, v, mask, causal=False, inner=inner)  # noqa: E731
    assert not np.asarray(jax.jit(fn)(q, k, v))[0, 0, 0].any()
    same_as_xla(monkeypatch, fn, q, k, v, rounding=1e-4)


@built
def test_attention_to_what_is_not_finite() -> None:
    q, k, v = arrays((1, 1, 4, 8), (1, 1, 6, 8), (1, 1, 6, 8))
    k = k.at[0, 0, 2].set(jnp.nan)
    got = jax.jit(lambda *a: native.attention(*a, causal=True, inner=1))(q, k, v)
    assert np.isfinite(got[0, 0, :2]).all() and np.isnan(got[0, 0, 2:]).all()


@built
@pytest.mark.parametrize("rows,columns", [(5, 7), (33, 33), (64, 130), (1, 16)])
def test_layer_norm(monkeypatch: pytest.MonkeyPatch, rows: int, columns: int) -> None:
    args = arrays((rows, columns), (columns,), (columns,))
    same_as_xla(monkeypatch, lambda *a: layer_norm_p.bind(*a, eps=1e-5), *args, rounding=1e-4)


@built
@pytest.mark.parametrize(
    "value", [-1e30, -100.0, -20.0, -1.0, -1e-3, -1e-30, 0.0, 1e-6, 0.62, 0.63, 5.0, 90.0, 1e30, np.inf, np.nan]
)
def test_the_gates_of_an_lstm_at_any_size(value: float) -> None:
    xw = jnp.full((1, 1, 4), value, jnp.float32)
    zero, w = jnp.zeros((1, 1), jnp.float32), jnp.zeros((4, 1), jnp.float32)
    gates = np.asarray(jax.jit(lambda *a: native.lstm(*a, reverse=False))(xw, zero, zero, w)[2][0, 0])
    x = np.float64(value)
    with np.errstate(over="ignore"):
        expected = [1 / (1 + np.exp(-x)), np.tanh(x)]
    np.testing.assert_allclose(gates[[0, 2]], expected, rtol=3e-6, atol=1e-37)


@built
def test_products_that_sum_nothing() -> None:
    """No column of the left matrix: the result is the bias, not what the memory held before."""
    fn = jax.jit(native.linear)
    for columns in (20_000, 20_001):
        jax.block_until_ready(jax.jit(lambda: jnp.full((3, 20_001), 7.0))())
        np.testing.assert_array_equal(fn(jnp.zeros((3, 0)), jnp.zeros((columns, 0)), jnp.ones(columns)), 1)


@built
@pytest.mark.parametrize("rows,columns", [(1, 1), (9, 70), (300, 33), (1000, 256), (40, 2050)])
def test_gradient_of_a_bias(rows: int, columns: int) -> None:
    (x,) = arrays((rows, columns))
    np.testing.assert_allclose(jax.jit(native.sums)(x), x.sum(0), rtol=1e-5, atol=1e-4)


@built
def test_gelu(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = jnp.asarray([0.0, -0.0, 1e-30, -1e-4, 5.42, -5.42, 20.0, -20.0, 1e30, -1e30, np.nan], jnp.float32)
    x = jnp.concatenate([jnp.linspace(-8, 8, 20011), ends]).astype(jnp.float32)
    np.testing.assert_allclose(jax.jit(native.gelu)(x), _gelu(x), rtol=2e-6, atol=2e-6)
    same_as_xla(monkeypatch, _gelu_p.bind, x[: -len(ends)])


BLOCKS = """
    import threading

    import jaxtorch
    import jax
    import numpy as np

    jax.config.update("jax_platforms", "cpu")

    sizes = [5, 9_000, 20_000, 33_333, 70_001, 100_000, 180_000, 262_144]

    def work(seed):
        rng = np.random.default_rng(seed)
        held = []
        for n in range(300):
            value = seed * 1000 + n
            held.append((jax.device_put(np.full(sizes[int(rng.integers(len(sizes)))], value, np.int32)) + 0, value))
            if len(held) > 8:
                array, expected = held.pop(int(rng.integers(len(held))))
                assert (np.asarray(array) == expected).all()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    print("done")
"""


@built
def test_memory_of_many_threads() -> None:
    """Blocks taken and freed by several threads at once, split and joined, keep what is written in them."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(BLOCKS)], check=True, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("done", "")


FORKS = """
    import os
    import threading

    import jaxtorch
    import jax
    import numpy as np

    jax.config.update("jax_platforms", "cpu")
    ended = threading.Event()

    def work():
        while not ended.is_set():
            jax.device_put(np.zeros(1 << 16, np.int32)) + 0

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(60):
        array = jax.device_put(np.zeros(1 << 16, np.int32)) + 0
        array.block_until_ready()
        child = os.fork()
        if child == 0:
            del array
            os._exit(0)
        os.waitpid(child, 0)
    ended.set()
    thread.join()
    print("done")
"""


@built
def test_memory_in_forked_processes() -> None:
    """A child frees what it has inherited, whatever other threads were doing when it began."""
    code = textwrap.dedent(FORKS)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "done"
