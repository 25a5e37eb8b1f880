"""How a convolution runs on the CPU, where XLA's own is often not the fastest way.

Everything here is channels last: x (N, *spatial, C), w (*kernel, C, O), result (N, *spatial, O). The functions are chosen by the
shapes alone, for each convolution by itself: the gradients of a convolution are convolutions too, and come here as such
(`channels_last.py`). Each choice is backed by `benchmarks/lowering.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import native
from ..tuning import (
    CONV_DOT_CHANNELS,
    CONV_FEW,
    CONV_PHASES,
    CONV_TERMS,
    CONV_WORKSPACE,
    FOLDED_CHANNELS,
    KERNEL_WEIGHT,
    WINOGRAD_CHANNELS,
    WINOGRAD_TILES,
)

# The rules' constants.

Pads = tuple[tuple[int, int], ...]


class Window(NamedTuple):
    """How a kernel moves: for each spatial dimension its step, padding (low, high), and spacing of input and kernel."""

    stride: tuple[int, ...]
    pads: Pads
    spread: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def dense(self) -> bool:
        return all(n == 1 for n in (*self.spread, *self.dilation))

    def results(self, sizes: Any, kernel: Any) -> list[int]:
        """The sizes of the result."""
        full = [(n - 1) * e + 1 + low + high for n, e, (low, high) in zip(sizes, self.spread, self.pads, strict=True)]
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilation, strict=True)]
        return [max(0, (f - r) // s + 1) for f, r, s in zip(full, reach, self.stride, strict=True)]

    def without_first(self) -> Window:
        """The window in the dimensions but the first."""
        return Window(self.stride[1:], self.pads[1:], self.spread[1:], self.dilation[1:])

    @property
    def plain(self) -> bool:
        """Steps of one, nothing spaced out, no negative padding."""
        return self.dense and all(n == 1 for n in self.stride) and min(n for p in self.pads for n in p) >= 0


def run(x: Any, w: Any, window: Window, precision: Any = None) -> Any:
    """The convolution of x with w, as XLA would give it within rounding."""
    kernel, (channels, outs) = w.shape[:-2], w.shape[-2:]
    small = max(channels, outs)
    if x.dtype in (jnp.float32, jnp.float64) and x.size and w.size and window.dense:
        if math.prod(kernel) == 1:
            return _pointwise(x, w, window)
        if kernel == window.stride and not any(n for p in window.pads for n in p):
            return _patches_apart(x, w)
        if window.plain and len(kernel) == 2:
            if _winograd_pays(x.shape, w.shape, window, x.dtype.itemsize):
                return winograd(x, w, window.pads)
            if kernel[1] > 2 and min(channels, outs) <= FOLDED_CHANNELS and small <= 2 * FOLDED_CHANNELS:
                return folded(x, w, window.pads)
    if _by_phases_pays(x, w, window):
        return by_phases(x, w, window, precision)
    if _by_slices_pays(x, w, window) and min(window.results(x.shape[1:-1], kernel)) > 0:
        return by_slices(x, w, window, precision)
    return plain(x, w, window, precision)


def run_for_kernel(x: Any, g: Any, kernel: tuple[int, ...], window: Window, precision: Any = None) -> Any:
    """The gradient of w where g is that of `run(x, w, window)`; `kernel` is the size of w's spatial dimensions. The padding of the
    window ends where the last step of the kernel does."""
    channels, outs = x.shape[-1], g.shape[-1]
    if any(n != 1 for n in window.spread) and all(n == 1 for n in window.stride):
        out = run_for_kernel(g, x, kernel, _exchanged(kernel, x.shape[1:-1], g.shape[1:-1], window), precision)
        return jnp.swapaxes(lax.rev(out, range(len(kernel))), -1, -2)
    if _by_slices_pays(x, g, window):
        return by_slices_for_kernel(x, g, kernel, window, precision)
    if x.dtype in (jnp.float32, jnp.float64) and x.size and g.size and all(n == 1 for n in window.spread):
        shape = (*kernel, channels, outs)
        if window.plain and len(kernel) == 2:
            if _winograd_pays(x.shape, shape, window, x.dtype.itemsize):
                return winograd_for_kernel(x, g, window.pads)
            if kernel[1] > 2 and min(channels, outs) <= FOLDED_CHANNELS and max(channels, outs) <= 2 * FOLDED_CHANNELS:
                return folded_for_kernel(x, g, kernel, window.pads)
        taken = g.size // outs * math.prod(kernel) * channels * x.dtype.itemsize
        if taken <= CONV_WORKSPACE and (outs >= CONV_DOT_CHANNELS or channels >= CONV_DOT_CHANNELS):
            return gathered_for_kernel(x, g, kernel, window)
    return plain_for_kernel(x, g, kernel, window, precision)


# -- the native kernels ------------------------------------------------------------------------------------


def natively(x: Any, w: Any, kernel: native.Kernel, outs: int, groups: int, window: Window) -> Any:
    """The convolution of x with the kernel in `w` by the native kernels, or None where they are absent or no better."""
    sizes = window.results(x.shape[1:-1], kernel.sizes)
    if not (_fits(x, w, window) and all(sizes)):
        return None
    if groups == 1 and window.plain and math.prod(kernel.sizes) == 1 and not any(n for p in window.pads for n in p):
        return _natively_by_pixel(x, w, kernel, outs)
    return native.convolve(x, w, kernel, outs, sizes, window, groups)


def _natively_by_pixel(x: Any, w: Any, kernel: native.Kernel, outs: int) -> Any:
    """A product of matrices, pixels times channels; None where XLA's is the faster one."""
    channels = x.shape[-1]
    turned = kernel.along_in == 1 and kernel.along_out == channels
    lies = turned or (kernel.along_out == 1 and kernel.along_in == outs)
    if kernel.offset or not lies or not native.with_avx2_alone() or channels * outs > KERNEL_WEIGHT:
        return None
    matrix = w.reshape((outs, channels) if turned else (channels, outs))
    return native.product(x.reshape(-1, channels), matrix, b_turned=turned).reshape(*x.shape[:-1], outs)


def natively_for_kernel(x: Any, g: Any, shape: Any, kernel: native.Kernel, groups: int, window: Window) -> Any:
    """The gradient of a kernel, an array of this `shape` that holds it as `kernel` says; None as in `natively`."""
    if groups == 1 and any(n != 1 for n in window.spread) and all(n == 1 for n in window.stride):
        # g has the wider steps: it changes places with x, and the kernel is turned round
        ends = [step * (size - 1) for step, size in zip(kernel.steps, kernel.sizes, strict=True)]
        steps = tuple(-step for step in kernel.steps)
        turned = native.Kernel(kernel.sizes, steps, kernel.along_out, kernel.along_in, kernel.offset + sum(ends))
        return natively_for_kernel(
            g, x, shape, turned, 1, _exchanged(kernel.sizes, x.shape[1:-1], g.shape[1:-1], window)
        )
    if any(n != 1 for n in window.spread) or not _fits(x, g, window):
        return None
    return native.convolve_of_kernel(x, g, shape, kernel, window, groups)


def _exchanged(kernel: Any, of_x: Any, of_g: Any, window: Window) -> Window:
    """The window in which g meets x, where x met g in steps of one."""
    pads = []
    for k, n, m, (low, _), spread, d in zip(
        kernel, of_x, of_g, window.pads, window.spread, window.dilation, strict=True
    ):
        before = (k - 1) * d - low
        pads.append((before, (n - 1) * spread + (k - 1) * d + 1 - before - m))
    return Window(window.spread, tuple(pads), window.stride, window.dilation)


def _fits(x: Any, other: Any, window: Window) -> bool:
    if not (x.dtype == other.dtype == jnp.float32 and x.size and other.size and x.ndim in (3, 4)):
        return False
    one = all(s == 1 or e == 1 for s, e in zip(window.stride, window.spread, strict=True))
    return one and native.available()


# -- a spaced-out input (transposed convolutions, and the gradients of those in steps) ----------------------


def _by_phases_pays(x: Any, w: Any, window: Window) -> bool:
    """In three dimensions XLA goes through the zeros between the input's elements, and there are no native kernels."""
    fine = x.ndim == 5 and x.dtype in (jnp.float32, jnp.float64) and x.size > 0 and w.size > 0
    if not fine or any(n != 1 for n in (*window.stride, *window.dilation)):
        return False
    return 1 < math.prod(window.spread) <= CONV_PHASES and min(window.results(x.shape[1:-1], w.shape[:-2])) > 0


def by_phases(x: Any, w: Any, window: Window, precision: Any = None) -> Any:
    """Each result's place modulo the spacing says which of the kernel's elements meet the input: a small dense convolution for
    every such phase, and their results side by side."""
    spread, n = window.spread, len(window.spread)
    sizes = window.results(x.shape[1:-1], w.shape[:-2])
    steps = [-(-size // s) for size, s in zip(sizes, spread, strict=True)]
    ones = (1,) * n
    parts = []
    for phase in np.ndindex(*spread):
        firsts = [(low - r) % s for (low, _), r, s in zip(window.pads, phase, spread, strict=True)]
        taps = w[tuple([slice(first, None, s) for first, s in zip(firsts, spread, strict=True)])]
        lows = [(low - r - f) // s for (low, _), r, f, s in zip(window.pads, phase, firsts, spread, strict=True)]
        highs = [q + t - 1 - low - m for q, t, low, m in zip(steps, taps.shape, lows, x.shape[1:], strict=False)]
        left = [m + min(a, 0) + min(b, 0) for m, a, b in zip(x.shape[1:], lows, highs, strict=False)]
        if not taps.size or min(left) <= 0:  # nothing meets
            parts.append(jnp.zeros((x.shape[0], *steps, w.shape[-1]), x.dtype))
            continue
        cut = [(0, 0, 0), *[(min(a, 0), min(b, 0), 0) for a, b in zip(lows, highs, strict=True)], (0, 0, 0)]
        pads = tuple([(max(a, 0), max(b, 0)) for a, b in zip(lows, highs, strict=True)])
        parts.append(run(lax.pad(x, jnp.zeros((), x.dtype), cut), taps, Window(ones, pads, ones, ones), precision))
    whole = jnp.stack(parts, -2).reshape(x.shape[0], *steps, *spread, w.shape[-1])
    order = [i for d in range(n) for i in (1 + d, 1 + n + d)]
    whole = whole.transpose(0, *order, 2 * n + 1)
    whole = whole.reshape(x.shape[0], *[q * s for q, s in zip(steps, spread, strict=True)], w.shape[-1])
    return whole[(slice(None), *[slice(size) for size in sizes])]


# -- three dimensions: two, for which there are native kernels ------------------------------------------------


def _by_slices_pays(x: Any, other: Any, window: Window) -> bool:
    """XLA's own take 2 to 10 times as long; without the native kernels they are the quicker ones."""
    whole = x.ndim == 5 and x.dtype == other.dtype == jnp.float32 and x.size > 0 and other.size > 0
    return whole and all(n == 1 for n in window.spread) and native.available()


def _slices(x: Any, depth: int, window: Window, count: int) -> list[Any]:
    """What each place in the kernel's depth meets: (N * count, H, W, C)."""
    x = _padded(x, (window.pads[0], (0, 0), (0, 0)))
    step, apart = window.stride[0], window.dilation[0]
    ends = [d * apart + (count - 1) * step + 1 for d in range(depth)]
    found = [lax.slice_in_dim(x, d * apart, end, step, 1) for d, end in enumerate(ends)]
    return [part.reshape(-1, *part.shape[2:]) for part in found]


def _parts(slices: list[Any]) -> list[Any]:
    """The slices side by side, as channels of one image, where there is room for it."""
    return [jnp.concatenate(slices, -1)] if len(slices) * slices[0].nbytes <= CONV_WORKSPACE else slices


def _standing(shape: tuple[int, ...]) -> native.Kernel:
    """A kernel (H, W, C, O) as it stands."""
    _, width, channels, outs = shape
    return native.Kernel(shape[:2], (width * channels * outs, channels * outs), outs, 1, 0)


def by_slices(x: Any, w: Any, window: Window, precision: Any = None) -> Any:
    """The slices of x that one slice of the result meets are channels of one image: a convolution in two dimensions."""
    rest = window.without_first()
    count = window.results(x.shape[1:-1], w.shape[:-2])[0]
    parts = _parts(_slices(x, w.shape[0], window, count))
    rows = w.transpose(1, 2, 0, 3, 4).reshape(*w.shape[1:3], -1, w.shape[-1])
    total = None
    for part, kernel in zip(parts, jnp.split(rows, len(parts), 2), strict=True):
        out = natively(part, kernel, _standing(kernel.shape), kernel.shape[-1], 1, rest)
        out = run(part, kernel, rest, precision) if out is None else out
        total = out if total is None else total + out
    assert total is not None
    return total.reshape(x.shape[0], count, *total.shape[1:])


def by_slices_for_kernel(x: Any, g: Any, kernel: tuple[int, ...], window: Window, precision: Any = None) -> Any:
    """The gradient of w in `by_slices`."""
    rest = window.without_first()
    parts = _parts(_slices(x, kernel[0], window, g.shape[1]))
    g = g.reshape(-1, *g.shape[2:])
    outs = []
    for part in parts:
        shape = (*kernel[1:], part.shape[-1], g.shape[-1])
        out = natively_for_kernel(part, g, shape, _standing(shape), 1, rest)
        outs.append(run_for_kernel(part, g, kernel[1:], rest, precision) if out is None else out)
    whole = jnp.concatenate(outs, 2) if len(outs) > 1 else outs[0]
    return whole.reshape(*kernel[1:], kernel[0], x.shape[-1], g.shape[-1]).transpose(2, 0, 1, 3, 4)


# -- XLA's own ---------------------------------------------------------------------------------------------


def _last(n: int) -> lax.ConvDimensionNumbers:
    data, kernel = (0, n - 1, *range(1, n - 1)), (n - 1, n - 2, *range(n - 2))
    return lax.ConvDimensionNumbers(data, kernel, data)


def plain(x: Any, w: Any, window: Window, precision: Any = None) -> Any:
    return lax.conv_general_dilated(
        x, w, window.stride, window.pads, window.spread, window.dilation, _last(x.ndim), precision=precision
    )


def plain_for_kernel(x: Any, g: Any, kernel: tuple[int, ...], window: Window, precision: Any = None) -> Any:
    """The sum over the images: a convolution whose channels are the images, of x with g as its kernel."""
    n = x.ndim
    spatial = tuple(range(1, n - 1))
    numbers = lax.ConvDimensionNumbers((n - 1, 0, *spatial), (n - 1, 0, *spatial), (n - 2, n - 1, *range(n - 2)))
    return lax.conv_general_dilated(
        x, g, window.dilation, window.pads, window.spread, window.stride, numbers, precision=precision
    )


# -- hardly any channels: filters, blurs, neighbours' counts --------------------------------------------------


def by_terms_pays(x: Any, w: Any, groups: int, window: Window) -> bool:
    """x (N, C, *spatial) and w (O, C / groups, *kernel), channels first."""
    channels, outs, kernel = x.shape[1], w.shape[0], w.shape[2:]
    few = channels * outs <= CONV_FEW if groups == 1 else groups == channels == outs <= CONV_FEW
    fine = few and x.dtype == w.dtype and x.dtype in (jnp.float32, jnp.float64) and all(n == 1 for n in window.spread)
    return fine and 1 < w.size // outs <= CONV_TERMS and min(window.results(x.shape[2:], kernel)) > 0


def by_terms(x: Any, w: Any, groups: int, window: Window) -> Any:
    """Each of the kernel's elements times what it meets, one sum that goes along rows; channels first."""
    config = [(0, 0, 0), (0, 0, 0), *[(low, high, 0) for low, high in window.pads]]
    sizes = window.results(x.shape[2:], w.shape[2:])
    x = lax.pad(x, jnp.zeros((), x.dtype), config)
    total = None
    for place in np.ndindex(*w.shape[1:]):
        start = [p * d for p, d in zip(place[1:], window.dilation, strict=True)]
        stop = [a + (c - 1) * s + 1 for a, c, s in zip(start, sizes, window.stride, strict=True)]
        first, last = (place[0], place[0] + 1) if groups == 1 else (0, x.shape[1])
        part = lax.slice(x, (0, first, *start), (x.shape[0], last, *stop), (1, 1, *window.stride))
        term = part * w[(slice(None), *place)].reshape(1, -1, *[1] * len(sizes))
        total = term if total is None else total + term
    return total


# -- products of matrices ----------------------------------------------------------------------------------


def _padded(x: Any, pads: Any) -> Any:
    config = [(0, 0, 0), *[(low, high, 0) for low, high in pads], (0, 0, 0)]
    return lax.pad(x, jnp.zeros((), x.dtype), config) if any(low or high for low, high, _ in config) else x


def _product(x: Any, w: Any) -> Any:
    """(..., K) with (K, O): one product of matrices."""
    out = lax.dot_general(x.reshape(-1, x.shape[-1]), w, (((1,), (0,)), ((), ())))
    return out.reshape(*x.shape[:-1], w.shape[-1])


def _product_of_columns(x: Any, g: Any) -> Any:
    """(..., C) with (..., O): (C, O)."""
    return lax.dot_general(x.reshape(-1, x.shape[-1]), g.reshape(-1, g.shape[-1]), (((0,), (0,)), ((), ())))


def _pointwise(x: Any, w: Any, window: Window) -> Any:
    x = _padded(x, window.pads)
    if any(s > 1 for s in window.stride):
        x = lax.slice(x, (0,) * x.ndim, x.shape, (1, *window.stride, 1))
    return _product(x, w.reshape(w.shape[-2:]))


def _patches_apart(x: Any, w: Any) -> Any:
    """Windows that do not overlap and leave no padding: the image is cut up, which only moves numbers."""
    kernel = w.shape[:-2]
    counts = [s // k for s, k in zip(x.shape[1:-1], kernel, strict=True)]
    x = x[(slice(None), *[slice(c * k) for c, k in zip(counts, kernel, strict=True)])]
    split = [n for pair in zip(counts, kernel, strict=True) for n in pair]
    x = x.reshape(x.shape[0], *split, x.shape[-1])
    n = len(kernel)
    x = jnp.transpose(x, (0, *range(1, 2 * n, 2), *range(2, 2 * n + 1, 2), 2 * n + 1))
    return _product(x.reshape(x.shape[0], *counts, -1), w.reshape(-1, w.shape[-1]))


def _taps(x: Any, kernel: tuple[int, ...], counts: Any, window: Window) -> list[Any]:
    """For each place in the kernel what it meets in a padded x: (N, *counts, C)."""
    found = []
    for place in np.ndindex(*kernel):
        start = [p * d for p, d in zip(place, window.dilation, strict=True)]
        stop = [a + (c - 1) * s + 1 for a, c, s in zip(start, counts, window.stride, strict=True)]
        limits = (x.shape[0], *stop, x.shape[-1])
        found.append(lax.slice(x, (0, *start, 0), limits, (1, *window.stride, 1)))
    return found


def gathered_for_kernel(x: Any, g: Any, kernel: tuple[int, ...], window: Window) -> Any:
    """The gradient of w as one product of g, transposed first, with the patches of x side by side."""
    patches = jnp.concatenate(_taps(_padded(x, window.pads), kernel, g.shape[1:-1], window), -1)
    flat = lax.optimization_barrier(g.reshape(-1, g.shape[-1]).T)  # a transposed operand is slower than transposing
    out = _product(flat, patches.reshape(-1, patches.shape[-1]))  # (O, taps * C)
    return jnp.moveaxis(out.reshape(-1, *kernel, x.shape[-1]), 0, -1)


def grouped_for_kernel(x: Any, g: Any, kernel: tuple[int, ...], groups: int, window: Window) -> Any:
    """The gradient of w (*kernel, C / groups, O): for each group a product of the patches with g. XLA's own is a thousand times
    as slow."""
    patches = jnp.stack(_taps(_padded(x, window.pads), kernel, g.shape[1:-1], window), -2)  # (N, *counts, taps, C)
    patches = patches.reshape(-1, math.prod(kernel), groups, x.shape[-1] // groups)
    changes = g.reshape(-1, groups, g.shape[-1] // groups)
    out = jnp.einsum("mtgc,mgo->tcgo", patches, changes)
    return out.reshape(*kernel, -1, g.shape[-1])


# -- Winograd's F(2x2, 3x3): Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2015) --------


def _winograd_pays(x: tuple[int, ...], w: tuple[int, ...], window: Window, size: int) -> bool:
    if w[:2] != (3, 3) or min(w[2:]) < WINOGRAD_CHANNELS:
        return False
    tiles = x[0] * math.prod([(s + a + b - 1) // 2 for s, (a, b) in zip(x[1:3], window.pads, strict=True)])
    return tiles >= WINOGRAD_TILES and 16 * tiles * (w[2] + w[3]) * size <= CONV_WORKSPACE


def _tiles(x: Any, pads: Pads, rows: int, columns: int) -> list[Any]:
    """B' d B of all tiles d of 4x4, two apart: 16 times (N, rows, columns, C)."""
    reach = (2 * rows + 2, 2 * columns + 2)
    x = _padded(x, [(low, r - low - s) for (low, _), r, s in zip(pads, reach, x.shape[1:3], strict=True)])

    def at(i: int, j: int) -> Any:
        limits = (x.shape[0], i + 2 * rows - 1, j + 2 * columns - 1, x.shape[3])
        return lax.slice(x, (0, i, j, 0), limits, (1, 2, 2, 1))

    def transform(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a - c, b + c, c - b, b - d

    down = [transform(*[at(i, j) for i in range(4)]) for j in range(4)]
    return [v for i in range(4) for v in transform(*[down[j][i] for j in range(4)])]


def winograd(x: Any, w: Any, pads: Pads) -> Any:
    sizes = [s + a + b - 2 for s, (a, b) in zip(x.shape[1:3], pads, strict=True)]
    rows, columns = (-(-s // 2) for s in sizes)

    def of_kernel(a: Any, b: Any, c: Any) -> Any:
        return a, (a + b + c) * 0.5, (a - b + c) * 0.5, c

    down = of_kernel(w[0], w[1], w[2])  # each (3, C, O)
    kernels = [u for d in down for u in of_kernel(d[0], d[1], d[2])]
    m = [_product(v, u) for v, u in zip(_tiles(x, pads, rows, columns), kernels, strict=True)]

    def back(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a + b + c, b - c - d

    down = [back(*[m[4 * i + j] for i in range(4)]) for j in range(4)]
    out = [jnp.stack(back(*[down[j][i] for j in range(4)]), 3) for i in range(2)]
    out = jnp.stack(out, 2)  # (N, rows, 2, columns, 2, O)
    return out.reshape(x.shape[0], 2 * rows, 2 * columns, -1)[:, : sizes[0], : sizes[1]]


def winograd_for_kernel(x: Any, g: Any, pads: Pads) -> Any:
    """The adjoint of `winograd` with respect to w."""
    rows, columns = (-(-s // 2) for s in g.shape[1:3])
    tiles = _tiles(lax.optimization_barrier(x), pads, rows, columns)  # made again, not kept since the forward pass
    g = _padded(g, [(0, 2 * rows - g.shape[1]), (0, 2 * columns - g.shape[2])])

    def spread(a: Any, b: Any) -> Any:
        return a, a + b, a - b, -b

    down = [spread(g[:, ::2, j::2], g[:, 1::2, j::2]) for j in range(2)]
    changes = [m for i in range(4) for m in spread(down[0][i], down[1][i])]
    m = [_product_of_columns(t, c) for t, c in zip(tiles, changes, strict=True)]  # 16 times (C, O)

    def back(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a + (b + c) * 0.5, (b - c) * 0.5, (b + c) * 0.5 + d

    down = [back(*[m[4 * i + j] for i in range(4)]) for j in range(4)]
    return jnp.stack([jnp.stack(back(*[down[j][i] for j in range(4)])) for i in range(3)])


# -- few channels ------------------------------------------------------------------------------------------


def _fold_factor(channels: int, outs: int) -> int:
    return 4 if min(channels, outs) * 4 <= 2 * FOLDED_CHANNELS else 2


def _fold(x: Any, pads: Pads, kernel: tuple[int, ...], factor: int) -> tuple[Any, int, int]:
    """x padded, with `factor` neighbours of a row as channels; result columns, and columns of the folded kernel."""
    columns = x.shape[2] + sum(pads[1]) - kernel[1] + 1
    wide = -(-(kernel[1] + factor - 1) // factor)
    width = (-(-columns // factor) + wide - 1) * factor
    x = _padded(x, [pads[0], (pads[1][0], width - pads[1][0] - x.shape[2])])
    return x.reshape(*x.shape[:2], width // factor, -1), columns, wide


def _unfolding(width: int, wide: int, factor: int, dtype: Any) -> Any:
    """(wide * factor, width, factor): which place of the kernel meets an input column, for each of the results side by side."""
    places = np.zeros((wide * factor, width, factor), dtype)
    for t in range(factor):
        places[np.arange(width) + t, np.arange(width), t] = 1
    return places


def folded(x: Any, w: Any, pads: Pads) -> Any:
    """`factor` columns at a time, in and out, with a kernel that holds w once for each: more sums, but whole vectors."""
    (height, width), (channels, outs) = w.shape[:2], w.shape[2:]
    factor = _fold_factor(channels, outs)
    x, columns, wide = _fold(x, pads, (height, width), factor)
    w = jnp.einsum("akt,hkco->hacto", _unfolding(width, wide, factor, w.dtype), w)
    w = w.reshape(height, wide, factor * channels, factor * outs)
    out = plain(x, w, Window((1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)))
    return out.reshape(*out.shape[:2], -1, outs)[:, :, :columns]


def folded_for_kernel(x: Any, g: Any, kernel: tuple[int, ...], pads: Pads) -> Any:
    """The adjoint of `folded` with respect to w."""
    channels, outs = x.shape[-1], g.shape[-1]
    factor = _fold_factor(channels, outs)
    x, columns, wide = _fold(x, pads, kernel, factor)
    g = _padded(g, [(0, 0), (0, -columns % factor)])
    g = g.reshape(*g.shape[:2], -1, factor * outs)
    one = Window((1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))
    w = gathered_for_kernel(x, g, (kernel[0], wide), one)
    w = w.reshape(kernel[0], wide * factor, channels, factor, outs)
    return jnp.einsum("akt,hacto->hkco", _unfolding(kernel[1], wide, factor, w.dtype), w)


# -- one channel by itself ---------------------------------------------------------------------------------


def depthwise(x: Any, w: Any, window: Window) -> Any:
    """Each channel with a kernel of its own, w (*kernel, C): a sum of shifted products, in single precision at least."""
    if x.dtype in (jnp.float16, jnp.bfloat16):
        return depthwise(x.astype(jnp.float32), w.astype(jnp.float32), window).astype(x.dtype)
    kernel = w.shape[:-1]
    x = _padded(x, window.pads)
    counts = [
        (s - d * (k - 1) - 1) // t + 1
        for s, k, d, t in zip(x.shape[1:-1], kernel, window.dilation, window.stride, strict=True)
    ]
    taps = _taps(x, kernel, counts, window)
    out = taps[0] * w[(0,) * len(kernel)]
    for place, tap in list(zip(np.ndindex(*kernel), taps, strict=True))[1:]:
        out = out + tap * w[place]
    return out
