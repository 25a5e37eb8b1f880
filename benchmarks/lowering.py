"""Times the ways in which a convolution can run on the CPU, each against XLA's own, at a table of shapes.

    python benchmarks/lowering.py --save MACHINE --plot lowering.png

Other tables have other operations (`lowering_operations.py`), forward and with their gradients: with the kernels in C++ and without
them; linear layers with all, none and the chosen products in the kernels; and what plain JAX has, as it has it and as it runs here.

One process; the ways of one shape take turns, so that whatever else the machine does meets all alike. Times are medians of wall
time. Every way's result is compared with XLA's before it is timed. `chosen` is the way that `jaxtorch/_core/compile/convolution.py`
takes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import lowering_operations as others
import numpy as np
import report

from jaxtorch._core import native
from jaxtorch._core.compile import convolution
from jaxtorch._core.compile.convolution import Window

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


def measure_operations(rounds: int) -> list[list[str]]:
    """Lines of the table of operations with kernels: XLA's time, theirs, and the quotient, forward and of the gradients."""
    lines = []
    for name, (fn, shapes) in others.operations().items():
        arrays = others.operands(shapes)
        both = fn, others.gradients(fn, len(shapes))
        times = [measured(others.with_and_without(f, arrays), arrays, rounds) for f in both]
        found = [x for t in times for x in (t["xla"], t["native"], t["xla"] / t["native"])]
        lines.append([name, *[report.number(x, ".2f") for x in found]])
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def measure_layers(rounds: int) -> list[list[str]]:
    """Lines of the table of linear layers, in microseconds: all products by XLA, all by the kernels, as chosen."""
    lines = []
    for name, (fn, shapes) in others.layers().items():
        arrays = others.operands(shapes)
        both = fn, others.gradients(fn, len(shapes))
        times = [measured(others.layer_ways(f, arrays), arrays, 3 * rounds) for f in both]
        found = [x for t in times for x in (1e3 * t["xla"], 1e3 * t["native"], 1e3 * t["chosen"])]
        lines.append([name, *[report.number(x, ".0f") for x in found]])
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def measure_plain(rounds: int) -> list[list[str]]:
    """Lines of the table of operations that plain JAX has: as it has them, as chosen, and the quotient."""
    lines = []
    for name, (plain, (ours, shapes)) in others.in_plain_jax().items():
        arrays = others.operands(shapes)
        count = len(shapes)
        both = (plain, ours), (others.gradients(plain, count), others.gradients(ours, count))
        times = [measured(others.beside_plain(p, o, arrays), arrays, rounds) for p, o in both]
        found = [x for t in times for x in (t["xla"], t["chosen"], t["xla"] / t["chosen"])]
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
    parser.add_argument("--save", metavar="MACHINE", help="keep the tables in benchmarks/results/MACHINE")
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
    about = report.machine(2)
    made = {"lowering": table}
    plain = ["operation, ms", "plain JAX", "chosen", "gain", "gradients, plain JAX", "chosen", "gain"]
    made["plain"] = plain, measure_plain(options.rounds)
    if native.available():
        kernels = ["operation, ms", "xla", "native", "gain", "gradients, xla", "native", "gain"]
        made["kernels"] = kernels, measure_operations(options.rounds)
        ways = ["rows x inputs x outputs, us", "xla", "native", "chosen", "gradients, xla", "native", "chosen"]
        made["layers"] = ways, measure_layers(options.rounds)
    print("\n".join(report.describe(about)))
    for name, found in made.items():
        print("\n".join(["", *report.aligned(found)]))
        if options.save:
            report.save(options.save, name, about, [], [found])
    if options.plot:
        plot(options.plot, rows)


if __name__ == "__main__":
    main()
