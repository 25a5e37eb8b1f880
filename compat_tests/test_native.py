"""The kernels in C++ against XLA's own operations. Skipped where they were not built (no compiler, or another processor)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxtorch._core import native
from jaxtorch._core.convolution import Window

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


def random_convolution(rng: np.random.Generator) -> tuple[Any, Any, Window, int]:
    """x, w in the order (*kernel, input, output), a window that has a result, and groups."""
    while True:
        groups = int(rng.choice([1, 1, 1, 2, 3]))
        kernel, stride, dilation = (tuple(int(v) for v in rng.integers(1, n, 2)) for n in (6, 4, 3))
        spread = tuple(int(v) for v in rng.integers(1, 4, 2)) if rng.random() < 0.4 else (1, 1)
        stride = tuple(1 if e > 1 else s for s, e in zip(stride, spread, strict=True))
        pads = tuple((int(a), int(b)) for a, b in rng.integers(-1, 4, (2, 2)))
        window = Window(stride, pads, spread, dilation)
        n, h, w = (int(v) for v in rng.integers(1, [5, 20, 20]))
        channels, outs = (int(v) * groups for v in rng.integers(1, [30, 70]))
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
@pytest.mark.parametrize("seed", range(16))
def test_random_windows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, w, window, groups = random_convolution(rng)
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
