"""Times the ways in which a convolution can run on the CPU, each against XLA's own, at a table of shapes.

    python benchmarks/lowering.py --markdown docs/performance_cpu.md --plot lowering.png

A second table has other operations, forward and with their gradients, with the kernels in C++ and without them.

One process; the ways of one shape take turns, so that whatever else the machine does meets all alike. Times are medians of wall
time. Every way's result is compared with XLA's before it is timed. `chosen` is the way that `jaxtorch/_core/convolution.py` takes.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
import numpy as np
import report
from jax import lax

from jaxtorch._core import convolution, lowering, native
from jaxtorch._core.convolution import Window
from jaxtorch._ops import _recurrent_scans as scans
from jaxtorch._ops import products
from jaxtorch._ops.attention import _heads_p

SHAPES = {
    "LeNet 3-6, 5x5, 64x32x32": (64, 32, 3, 6, 5, 1, 0),
    "LeNet 6-16, 5x5, 64x14x14": (64, 14, 6, 16, 5, 1, 0),
    "1-32, 3x3, 64x28x28": (64, 28, 1, 32, 3, 1, 0),
    "3-64, 3x3, 32x32x32": (32, 32, 3, 64, 3, 1, 1),
    "64-64, 3x3, 32x32x32": (32, 32, 64, 64, 3, 1, 1),
    "128-128, 3x3, 32x16x16": (32, 16, 128, 128, 3, 1, 1),
    "256-256, 3x3, 32x8x8": (32, 8, 256, 256, 3, 1, 1),
    "512-512, 3x3, 32x4x4": (32, 4, 512, 512, 3, 1, 1),
    "64-64, 3x3, 8x56x56": (8, 56, 64, 64, 3, 1, 1),
    "64-128, 3x3 / 2, 32x32x32": (32, 32, 64, 128, 3, 2, 1),
    "64-128, 1x1 / 2, 32x32x32": (32, 32, 64, 128, 1, 2, 0),
    "3-128, 4x4 / 4, 32x32x32": (32, 32, 3, 128, 4, 4, 0),
}
"""Name -> N, side, C, O, kernel, stride, padding."""


def in_order(shape: tuple[int, ...]) -> native.Kernel:
    """Where a kernel (height, width, input, output) lies in an array of this shape."""
    height, width, channels, outs = shape
    return native.Kernel((height, width), (width * channels * outs, channels * outs), outs, 1, 0)


def forward_ways(window: Window, kernel: int, stride: int) -> dict[str, Callable[..., Any]]:
    ways: dict[str, Callable[..., Any]] = {"xla": lambda x, w: convolution.plain(x, w, window)}
    if kernel == 1:
        ways["dot"] = lambda x, w: convolution._pointwise(x, w, window)
    elif kernel == stride:
        ways["patches"] = convolution._patches_apart
    elif stride == 1:
        ways["folded"] = lambda x, w: convolution.folded(x, w, window.pads)
        if kernel == 3:
            ways["winograd"] = lambda x, w: convolution.winograd(x, w, window.pads)
    plain = {"chosen": lambda x, w: convolution.run(x, w, window)}
    if not native.available() or (kernel == stride == 1):
        return ways | plain
    chosen = lambda x, w: convolution.natively(x, w, in_order(w.shape), w.shape[-1], 1, window)  # noqa: E731
    return ways | {"without native": plain["chosen"], "native": chosen, "chosen": chosen}


def gradient_ways(window: Window, kernel: int, stride: int) -> dict[str, Callable[..., Any]]:
    size = (kernel, kernel)
    ways: dict[str, Callable[..., Any]] = {
        "xla": lambda x, g: convolution.plain_for_kernel(x, g, size, window),
        "gathered": lambda x, g: convolution.gathered_for_kernel(x, g, size, window),
    }
    if stride == 1 and kernel > 1:
        ways["folded"] = lambda x, g: convolution.folded_for_kernel(x, g, size, window.pads)
        if kernel == 3:
            ways["winograd"] = lambda x, g: convolution.winograd_for_kernel(x, g, window.pads)
    plain = {"chosen": lambda x, g: convolution.run_for_kernel(x, g, size, window)}
    if not native.available():
        return ways | plain

    def chosen(x: Any, g: Any) -> Any:
        shape = (*size, x.shape[-1], g.shape[-1])
        return convolution.natively_for_kernel(x, g, shape, in_order(shape), 1, window)

    return ways | {"without native": plain["chosen"], "native": chosen, "chosen": chosen}


def measure(ways: dict[str, Callable[..., Any]], operands: tuple[Any, ...], rounds: int) -> dict[str, float]:
    """Milliseconds of each way; ends with an error where one differs from the first."""
    return measured({name: jax.jit(way) for name, way in ways.items()}, operands, rounds)


def measured(compiled: dict[str, Callable[..., Any]], operands: tuple[Any, ...], rounds: int) -> dict[str, float]:
    """The same, of compiled programs."""
    expected = None
    for name, way in compiled.items():
        got = [np.asarray(x) for x in jax.tree.leaves(way(*operands))]
        expected = got if expected is None else expected
        off = max(abs(g - e).max() / abs(e).max() for g, e in zip(got, expected, strict=True))
        if not off < 1e-4:
            raise SystemExit(f"{name} differs from XLA's own by {off:.1e}")
    times: dict[str, list[float]] = {name: [] for name in compiled}
    for _ in range(rounds):
        for name, way in compiled.items():
            jax.block_until_ready(way(*operands))
            begun = time.perf_counter()
            jax.block_until_ready(way(*operands))
            times[name].append(1e3 * (time.perf_counter() - begun))
    return {name: median(t) for name, t in times.items()}


def convolution_of(groups: int, stride: int, spread: int = 1) -> Callable[..., Any]:
    """3x3, channels first as in PyTorch."""
    pads = ((2, 2), (2, 2)) if spread > 1 else ((1, 1), (1, 1))

    def fn(x: Any, w: Any) -> Any:
        sides = (stride, stride), pads, (spread, spread), (1, 1), ("NCHW", "OIHW", "NCHW")
        return lax.conv_general_dilated(x, w, *sides, feature_group_count=groups)

    return fn


def operations() -> dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]]:
    """Name -> a function and the shapes of its arguments."""
    h, t, b = 256, 64, 16
    mask = jnp.asarray(np.where(np.arange(128) < 100, 0, -np.inf).astype(np.float32)[None, None])
    heads, small = [(64, 128, 32)] * 3, (16, 64, 32, 32)
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
        "32 products of 128x128x128": (products.times, [(32, 128, 128)] * 2),
        "64 products of 128x32x128, right one turned": (
            lambda a, b: products.times(a, jnp.swapaxes(b, 1, 2)),
            [(64, 128, 32)] * 2,
        ),
        "convolution by channel, 16x64x32x32": (convolution_of(64, 1), [small, (64, 1, 3, 3)]),
        "the same, stride 2": (convolution_of(64, 2), [small, (64, 1, 3, 3)]),
        "in 16 groups": (convolution_of(16, 1), [small, (64, 4, 3, 3)]),
        "transposed, 64-32, stride 2": (convolution_of(1, 1, 2), [small, (32, 64, 3, 3)]),
        "512-512, one image of 4x4": (convolution_of(1, 1), [(1, 512, 4, 4), (512, 512, 3, 3)]),
    }


def both_ways(fn: Callable[..., Any], operands: tuple[Any, ...]) -> dict[str, Any]:
    """The program without and with the kernels, traced and compiled for each: both decide what runs."""

    def program() -> Any:
        return jax.jit(lowering.lowered(lambda *a: fn(*a))).lower(*operands).compile()

    with mock.patch.multiple(native, available=lambda: False, matrix_units=lambda: False):
        plain = program()
    return {"xla": plain, "native": program()}


def measure_operations(rounds: int) -> list[list[str]]:
    rng = np.random.default_rng(0)
    lines = []
    for name, (fn, shapes) in operations().items():
        operands = tuple(jax.device_put(rng.standard_normal(s, np.float32) * np.float32(0.05)) for s in shapes)
        back = jax.grad(lambda *a, fn=fn: (fn(*a) ** 2).sum(), tuple(range(len(operands))))
        times = [measured(both_ways(f, operands), operands, rounds) for f in (fn, back)]
        found = [x for t in times for x in (t["xla"], t["native"], t["xla"] / t["native"])]
        lines.append([name, *[report.number(x, ".2f") for x in found]])
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def plot(path: Path, rows: list[tuple[str, dict[str, float]]]) -> None:
    """Bars: how many times as fast as XLA's own the chosen way is."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 0.3 * len(rows) + 1))
    axes.barh([name for name, _ in rows][::-1], [t["xla"] / t["chosen"] for _, t in rows][::-1])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("times as fast as XLA's own convolution")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="how often each way is timed (15)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table between FILE's markers")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the chosen ways against XLA's own; needs matplotlib"
    )
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows: list[tuple[str, dict[str, float]]] = []
    for name, (n, side, channels, outs, kernel, stride, padding) in SHAPES.items():
        window = Window((stride, stride), ((padding, padding),) * 2, (1, 1), (1, 1))
        x = rng.standard_normal((n, side, side, channels), np.float32)
        w = rng.standard_normal((kernel, kernel, channels, outs), np.float32)
        g = rng.standard_normal(convolution.plain(x, w, window).shape, np.float32)
        reach = (g.shape[1] - 1) * stride + kernel - padding - side
        exact = window._replace(pads=((padding, reach),) * 2)
        x, w, g = (jax.device_put(a) for a in (x, w, g))
        rows.append((f"{name}: forward", measure(forward_ways(window, kernel, stride), (x, w), options.rounds)))
        rows.append((f"{name}: of weight", measure(gradient_ways(exact, kernel, stride), (x, g), options.rounds)))
        print(rows[-2:], file=sys.stderr, flush=True)
    ways = ["xla", "dot", "patches", "gathered", "folded", "winograd", "without native", "native", "chosen"]
    lines = [
        [name, *[report.number(t.get(way), ".2f") for way in ways], report.number(t["xla"] / t["chosen"])]
        for name, t in rows
    ]
    table = (["convolution, ms", *ways, "gain"], lines)
    about = report.describe(report.machine(2))
    print("\n".join([*about, "", *report.aligned(table)]))
    columns = ["operation, ms", "xla", "native", "gain", "gradients, xla", "native", "gain"]
    kernels = (columns, measure_operations(options.rounds)) if native.available() else None
    if kernels:
        print("\n".join(["", *report.aligned(kernels)]))
    if options.markdown:
        report.write_markdown(options.markdown, "lowering", [*about, "", *report.markdown(table)])
        if kernels:
            report.write_markdown(options.markdown, "kernels", [*about, "", *report.markdown(kernels)])
    if options.plot:
        plot(options.plot, rows)


if __name__ == "__main__":
    main()
