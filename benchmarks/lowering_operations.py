"""Operations other than convolutions, as `lowering.py` times them: by the kernels in C++ or not, and against plain JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxtorch._core import native
from jaxtorch._core.compile import channels_last
from jaxtorch._ops.common import product_primitives
from jaxtorch._ops.nn import activation, pooling, standardize
from jaxtorch._ops.nn import recurrent_loops as scans
from jaxtorch._ops.nn.attention import _heads_p

Operation = tuple[Callable[..., Any], list[tuple[int, ...]]]


def convolution_of(groups: int, stride: int, spread: int = 1) -> Callable[..., Any]:
    """3x3, channels first as in PyTorch."""
    pads = ((2, 2), (2, 2)) if spread > 1 else ((1, 1), (1, 1))

    def fn(x: Any, w: Any) -> Any:
        sides = (stride, stride), pads, (spread, spread), (1, 1), ("NCHW", "OIHW", "NCHW")
        return lax.conv_general_dilated(x, w, *sides, feature_group_count=groups)

    return fn


def volume_convolution(stride: int) -> Callable[..., Any]:
    """3x3x3, channels first as in PyTorch."""

    def fn(x: Any, w: Any) -> Any:
        ones = (1, 1, 1)
        layout = ("NCDHW", "OIDHW", "NCDHW")
        return lax.conv_general_dilated(x, w, (stride,) * 3, ((1, 1),) * 3, ones, ones, layout)

    return fn


def operations() -> dict[str, Operation]:
    """Name -> a function and the shapes of its arguments."""
    h, t, b = 256, 64, 16
    mask = jnp.asarray(np.where(np.arange(128) < 100, 0, -np.inf).astype(np.float32)[None, None])
    heads, small = [(16, 4, 128, 32)] * 3, (16, 64, 32, 32)
    attention = functools.partial(_heads_p.bind, inner=1)
    valid = jnp.asarray(np.arange(t)[:, None] < 4 * np.arange(1, b + 1), np.float32)
    return {
        "LSTM, 64 steps of 16x256": (
            lambda *a: scans.lstm_scan(*a, None, None, False)[0],
            [(t, b, 4 * h), (b, h), (b, h), (4 * h, h)],
        ),
        "LSTM, packed": (
            lambda *a: scans.lstm_scan(*a, None, valid, False)[0],
            [(t, b, 4 * h), (b, h), (b, h), (4 * h, h)],
        ),
        "GRU, 64 steps of 16x256": (
            lambda *a: scans.gru_scan(*a, None, False),
            [(t, b, 3 * h), (b, h), (3 * h, h), (3 * h,)],
        ),
        "RNN, 64 steps of 16x256": (lambda *a: scans.rnn_scan(*a, None, "tanh", False), [(t, b, h), (b, h), (h, h)]),
        "attention, 64 heads of 128x32": (lambda *a: attention(*a, causal=False), heads),
        "attention, causal": (lambda *a: attention(*a, causal=True), heads),
        "attention, masked": (lambda *a: attention(*a, mask, causal=False), heads),
        "32 products of 128x128x128": (product_primitives.times, [(32, 128, 128)] * 2),
        "64 products of 128x32x128, right one turned": (
            lambda a, b: product_primitives.times(a, jnp.swapaxes(b, 1, 2)),
            [(64, 128, 32)] * 2,
        ),
        "convolution by channel, 16x64x32x32": (convolution_of(64, 1), [small, (64, 1, 3, 3)]),
        "the same, stride 2": (convolution_of(64, 2), [small, (64, 1, 3, 3)]),
        "in 16 groups": (convolution_of(16, 1), [small, (64, 4, 3, 3)]),
        "transposed, 64-32, stride 2": (convolution_of(1, 1, 2), [small, (32, 64, 3, 3)]),
        "in three dimensions, 1-16, 4x24x24x24": (volume_convolution(1), [(4, 1, 24, 24, 24), (16, 1, 3, 3, 3)]),
        "16-32, 4x12x12x12": (volume_convolution(1), [(4, 16, 12, 12, 12), (32, 16, 3, 3, 3)]),
        "32-64, stride 2, 2x16x16x16": (volume_convolution(2), [(2, 32, 16, 16, 16), (64, 32, 3, 3, 3)]),
        "512-512, one image of 4x4": (convolution_of(1, 1), [(1, 512, 4, 4), (512, 512, 3, 3)]),
    }


def layers() -> dict[str, Operation]:
    """Linear layers, of which the smallest are one operation of XLA's anywhere: "rows x inputs x outputs" -> the same."""
    sizes = [
        (16, 256, 1024),
        (64, 32, 64),
        (64, 64, 64),
        (65, 128, 512),
        (128, 512, 128),
        (64, 400, 120),
        (256, 784, 512),
    ]
    sizes += [(1024, 128, 512), (2080, 128, 384), (128, 1024, 1024), (1024, 256, 1024), (1024, 1024, 256)]
    sizes += [(1024, 512, 1024), (4096, 1024, 1024), (1024, 4096, 512), (512, 2048, 2048)]
    return {
        "x".join(map(str, (m, k, n))): (product_primitives.times_and_plus, [(m, k), (n, k), (n,)]) for m, k, n in sizes
    }


def in_plain_jax() -> dict[str, tuple[Callable[..., Any], Operation]]:
    """Name -> as one writes it in JAX, and what runs here, with the shapes of its arguments."""
    images = (64, 6, 28, 28)

    def pooled(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def normed(x: Any, axes: tuple[int, ...]) -> Any:
        mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
        return (x - mean) * lax.rsqrt(var + 1e-5)

    def windows(x: Any) -> Any:
        ones = (1, 1)
        return pooling._max_values(x, 2, (2, 2), (2, 2), (0, 0), ones, (x.shape[2] // 2, x.shape[3] // 2))

    index = jnp.asarray(np.random.default_rng(0).integers(0, 256, (8, 128)))
    rows, row = [(2080, 128), (128,), (128,)], functools.partial(standardize.layer_norm_p.bind, eps=1e-5)
    return {
        "maxima of 2x2, 64x6x28x28": (pooled, (windows, [images])),
        "maxima of 2x2, 32x64x32x32": (pooled, (windows, [(32, 64, 32, 32)])),
        "layer normalisation, 2080x128": (lambda x, w, b: normed(x, (1,)) * w + b, (row, rows)),
        "batch normalisation, 32x64x32x32": (
            lambda x: normed(x, (0, 2, 3)),
            (lambda x: standardize.standardised(x, (0, 2, 3), 1e-5), [(32, 64, 32, 32)]),
        ),
        "gelu, 2080x512": (
            functools.partial(jax.nn.gelu, approximate=False),
            (activation._gelu_p.bind, [(2080, 512)]),
        ),
        "softmax, 4096x128": (jax.nn.softmax, (lambda x: activation.softmax_of(x, 1), [(4096, 128)])),
        "a bias, 2080x512": (lambda x, row: x + row, (product_primitives.plus_row, [(2080, 512), (512,)])),
        "convolution 1-1, 3x3, 4x128x128": (
            convolution_of(1, 1),
            (convolution_of(1, 1), [(4, 1, 128, 128), (1, 1, 3, 3)]),
        ),
        "3 channels each with 11x11, 4x64x64": (
            convolution_of(3, 1),
            (convolution_of(3, 1), [(4, 3, 64, 64), (3, 1, 11, 11)]),
        ),
        "embedding, 8x128 of 256x128": (
            lambda w: w[index],
            (lambda w: jnp.take(w, index, axis=0, mode="clip"), [(256, 128)]),
        ),
    }


def operands(shapes: list[tuple[int, ...]]) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return tuple(jax.device_put(rng.standard_normal(s, np.float32) * np.float32(0.05)) for s in shapes)


def gradients(fn: Callable[..., Any], count: int) -> Callable[..., Any]:
    """All gradients of a function of so many arrays."""
    return jax.grad(lambda *a: (fn(*a) ** 2).sum(), tuple(range(count)))


def program(fn: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    return jax.jit(channels_last.rewritten_for_cpu(lambda *a: fn(*a))).lower(*arrays).compile()


def without_kernels(fn: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """The program as it is where they were not built: tracing decides what runs."""
    with mock.patch.multiple(
        native, available=lambda: False, matrix_units=lambda: False, with_avx2_alone=lambda: False
    ):
        return program(fn, arrays)


def with_and_without(fn: Callable[..., Any], arrays: tuple[Any, ...]) -> dict[str, Any]:
    return {"xla": without_kernels(fn, arrays), "native": program(fn, arrays)}


def layer_ways(fn: Callable[..., Any], arrays: tuple[Any, ...]) -> dict[str, Any]:
    """The program with no product in the kernels, with all of them, and as chosen."""
    found = {"xla": without_kernels(fn, arrays)}
    with mock.patch.multiple(product_primitives, _SMALL=1 << 60, _pays=lambda *_: True):
        found["native"] = program(fn, arrays)
    return found | {"chosen": program(fn, arrays)}


def beside_plain(plain: Callable[..., Any], ours: Callable[..., Any], arrays: tuple[Any, ...]) -> dict[str, Any]:
    return {"xla": jax.jit(plain).lower(*arrays).compile(), "chosen": program(ours, arrays)}
