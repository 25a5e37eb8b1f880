"""Pooling of regions of interest: `roi_align`, `roi_pool` and their position-sensitive forms.

rois (K, 5): the number of an image and x1, y1, x2, y2, in units of `1 / spatial_scale` pixels of the input (N, C, H, W).
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core.define.op import Array, op
from .._core.run.runner import concrete_array
from .._core.tensor.tensor import Tensor, from_host
from .._core.types import dtypes
from .._ops.common.rules import kind, unsupported


def check(name: str, input: Tensor, rois: Tensor) -> None:
    """RuntimeError where the regions are no table of five columns or of another type than the input."""
    if rois.ndim != 2 or rois.shape[1] != 5:
        words = "Tensor rois should" if name.startswith("ps_") else "rois must"
        raise RuntimeError(f"{words} have shape as Tensor[K, 5]")
    if input.dtype is not rois.dtype:
        one, other = (f"torch.{dtypes.scalar_name(t)}Tensor" for t in (input.dtype, rois.dtype))
        raise RuntimeError(
            f"Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'rois'; but type {one} "
            f"does not equal {other} (while checking arguments for {name}_forward_kernel)"
        )
    if input.ndim != 4:
        raise RuntimeError(f"{name}: expected an input of four dimensions, got {input.ndim}")


def _taps(places: Any, valid: Any, size: int) -> tuple[Any, Any, Any, Any]:
    """(lower neighbour, upper neighbour, their weights) of places along an axis of `size` pixels; 0 beyond one pixel outside."""
    inside = valid & (places >= -1) & (places <= size)
    at = jnp.maximum(places, 0)
    low = jnp.clip(jnp.floor(at).astype(jnp.int32), 0, size - 1)
    last = low >= size - 1
    high = jnp.where(last, size - 1, low + 1)
    part = jnp.where(last, 0, at - low.astype(at.dtype))
    return low, high, jnp.where(inside, 1 - part, 0), jnp.where(inside, part, 0)


def _places(begin: Any, bin_size: Any, bins: int, counts: Any, most: int) -> tuple[Any, Any]:
    """Where the samples lie, (K, bins, most), and which there are: each bin has `counts` of them, evenly spread."""
    at = jnp.arange(most, dtype=begin.dtype)
    shift = (at + np.asarray(0.5, begin.dtype)) * (bin_size / jnp.maximum(counts, 1).astype(begin.dtype))[:, None]
    first = begin[:, None] + jnp.arange(bins, dtype=begin.dtype) * bin_size[:, None]
    return first[:, :, None] + shift[:, None, :], jnp.broadcast_to(at < counts[:, None, None], (len(begin), bins, most))


def _counts(rois: Any, size: Any, bins: int, ratio: int) -> Any:
    """How many samples a bin has along an axis."""
    if ratio > 0:
        return jnp.full(len(rois), ratio, jnp.int32)
    return jnp.ceil(size / bins).astype(jnp.int32)


def _extent(rois: Any, scale: float, offset: float, least: float | None) -> tuple[list[Any], list[Any]]:
    """Where regions begin along y and x, and their sizes."""
    factor, moved = np.asarray(scale, rois.dtype), np.asarray(offset, rois.dtype)
    begins, sizes = [], []
    for low, high in ((2, 4), (1, 3)):
        begin, end = rois[:, low] * factor - moved, rois[:, high] * factor - moved
        size = end - begin
        begins.append(begin)
        sizes.append(size if least is None else jnp.maximum(size, np.asarray(least, rois.dtype)))
    return begins, sizes


def _sampled(rows: Any, first: Any, ys: Any, xs: Any, width: int, columns: Any) -> Any:
    """Sums of the samples in each bin, (K, bins y, bins x, channels); `rows`: the pixels (N * H * W, C), a region's from `first`.

    ys, xs: what `_taps` gives, each (K, bins, samples). columns: of each bin's channels, (bins y, bins x, channels) or None for all.
    """
    most_y, most_x = ys[0].shape[-1], xs[0].shape[-1]
    base = first[:, None, None]

    def add(total: Any, number: Any) -> tuple[Any, None]:
        y, x = number // 2 // most_x // 2, number // 2 % most_x
        at_y = jnp.where(number // 2 // most_x % 2 == 1, ys[1][:, :, y], ys[0][:, :, y])
        weight_y = jnp.where(number // 2 // most_x % 2 == 1, ys[3][:, :, y], ys[2][:, :, y])
        at_x = jnp.where(number % 2 == 1, xs[1][:, :, x], xs[0][:, :, x])
        weight_x = jnp.where(number % 2 == 1, xs[3][:, :, x], xs[2][:, :, x])
        place = base + at_y[:, :, None] * width + at_x[:, None, :]
        found = rows[place] if columns is None else rows[place[..., None], columns]
        return total + found * (weight_y[:, :, None] * weight_x[:, None, :])[..., None], None

    channels = rows.shape[1] if columns is None else columns.shape[-1]
    start = jnp.zeros((len(first), ys[0].shape[1], xs[0].shape[1], channels), rows.dtype)
    return lax.scan(add, start, jnp.arange(4 * most_y * most_x))[0]


def _aligned(
    x: Any, rois: Any, scale: float, bins: Any, ratio: int, most: Any, offset: float, least: Any, columns: Any
) -> Any:
    """(sums of the samples in each bin, (K, bins y, bins x, channels); how many samples a bin has, (K, 1, 1, 1))."""
    c, height, width = x.shape[1:]
    begins, sizes = _extent(rois, scale, offset, least)
    taps, counts = [], []
    for begin, size, count, length, at_most in zip(begins, sizes, bins, (height, width), most, strict=True):
        samples = _counts(rois, size, count, ratio)
        taps.append(_taps(*_places(begin, size / np.asarray(count, x.dtype), count, samples, at_most), length))
        counts.append(samples)
    total = (counts[0] * counts[1]).astype(x.dtype)
    rows = x.transpose(0, 2, 3, 1).reshape(-1, c)
    first = rois[:, 0].astype(jnp.int32) * (height * width)
    sums = _sampled(rows, first, taps[0], taps[1], width, columns)
    return sums, total[:, None, None, None]


def _wide(x: Any) -> Any:
    return x.astype(np.float32) if x.dtype in (jnp.float16, jnp.bfloat16) else x


@op(name="_roi_align", function=False, method=False, out=False, saved=["input", "rois"])
def _roi_align(input: Array, rois: Array, scale: float, bins: Any, ratio: int, most: Any, aligned: bool):
    if kind(input) != "float":
        unsupported("roi_align_forward_kernel", input)
    x, places = _wide(input), _wide(lax.stop_gradient(rois))
    sums, count = _aligned(x, places, scale, bins, ratio, most, 0.5 if aligned else 0.0, None if aligned else 1.0, None)
    return (sums / jnp.maximum(count, 1)).transpose(0, 3, 1, 2).astype(input.dtype)


def samples(
    rois: Tensor, scale: float, bins: tuple[int, int], ratio: int, offset: float, least: float | None
) -> tuple[int, int]:
    """The most samples that any bin has along y and x: `ratio`, or what the regions on the host say, rounded up to few values."""
    if ratio > 0 or not rois.shape[0]:
        return max(ratio, 1), max(ratio, 1)
    host = concrete_array(rois.detach()._array(), "roi_align with sampling_ratio <= 0").astype(np.float32)
    most = []
    for (low, high), count in zip(((2, 4), (1, 3)), bins, strict=True):
        size = host[:, high] * np.float32(scale) - host[:, low] * np.float32(scale)
        size = size if least is None else np.maximum(size, np.float32(least))
        largest = max(1, int(np.ceil(np.nan_to_num(size / np.float32(count)).max())))
        step = 1 << max(0, largest.bit_length() - 3)  # so that new sizes are rarely new programs
        most.append(-(-largest // step) * step)
    return most[0], most[1]


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Means of bilinear samples in each of a region's bins, (K, C, pooled_height, pooled_width) (He et al., 2017)."""
    check("roi_align", input, rois)
    bins = int(pooled_height), int(pooled_width)
    if not input.numel() or not rois.shape[0]:
        return input.sum() * 0 + input.new_zeros((rois.shape[0], input.shape[1], *bins))
    most = samples(rois, spatial_scale, bins, sampling_ratio, 0.5 if aligned else 0.0, None if aligned else 1.0)
    return _roi_align(input, rois, float(spatial_scale), bins, int(sampling_ratio), most, bool(aligned))


# -- position-sensitive: each bin has channels of its own


def _own_channels(channels: int, bins: tuple[int, int]) -> Any:
    """(bins y, bins x, outputs): which channel each bin of each output reads."""
    outs = channels // (bins[0] * bins[1])
    return np.arange(outs * bins[0] * bins[1], dtype=np.int32).reshape(outs, *bins).transpose(1, 2, 0)


def _need_multiple(input: Tensor, bins: tuple[int, int]) -> None:
    if input.shape[1] % (bins[0] * bins[1]):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")


def _mapping(rois: Tensor, channels: int, bins: tuple[int, int]) -> Tensor:
    """(K, outputs, bins y, bins x): which channel each number came from."""
    each = _own_channels(channels, bins).transpose(2, 0, 1)
    return from_host(np.broadcast_to(each, (rois.shape[0], *each.shape)).copy(), rois._value.aval.slot.device)


@op(name="_ps_roi_align", function=False, method=False, out=False, saved=["input", "rois"])
def _ps_roi_align(input: Array, rois: Array, scale: float, bins: Any, ratio: int, most: Any):
    if kind(input) != "float":
        unsupported("ps_roi_align_forward_kernel", input)
    columns = _own_channels(input.shape[1], bins)
    places = _wide(lax.stop_gradient(rois))
    sums, count = _aligned(_wide(input), places, scale, bins, ratio, most, 0.5, None, columns)
    means = jnp.where(count == 0, np.nan, sums / jnp.where(count == 0, 1, count))
    return means.transpose(0, 3, 1, 2).astype(input.dtype)


def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    """Like `roi_align`, each bin from channels of its own (Li et al., 2017), and which channels these are."""
    check("ps_roi_align", input, rois)
    bins = int(pooled_height), int(pooled_width)
    _need_multiple(input, bins)
    mapping = _mapping(rois, input.shape[1], bins)
    if not mapping.numel() or not input.numel():
        return input.sum() * 0 + input.new_zeros(mapping.shape), mapping
    most = samples(rois, spatial_scale, bins, sampling_ratio, 0.5, None)
    return _ps_roi_align(input, rois, float(spatial_scale), bins, int(sampling_ratio), most), mapping


# -- pooling of whole pixels


def _rounded(x: Any) -> Any:
    """Halves away from zero."""
    return (jnp.sign(x) * jnp.floor(jnp.abs(x) + np.asarray(0.5, x.dtype))).astype(jnp.int32)


def _members(begin: Any, bin_size: Any, bins: int, size: int, end: int) -> Any:
    """(K, bins, size): which pixels of an axis, of those before `end`, belong to each bin."""
    at = jnp.arange(bins, dtype=bin_size.dtype)
    low = jnp.clip(jnp.floor(at * bin_size[:, None]).astype(jnp.int32) + begin[:, None], 0, end)
    high = jnp.clip(jnp.ceil((at + 1) * bin_size[:, None]).astype(jnp.int32) + begin[:, None], 0, end)
    pixel = jnp.arange(size)
    return (pixel >= low[..., None]) & (pixel < high[..., None])


@op(name="_roi_pool", function=False, method=False, out=False, saved=["input", "rois", "result1"])
def _roi_pool(input: Array, rois: Array, scale: float, bins: Any):
    """(the largest of each bin's pixels, 0 for none; which pixel that is, -1 for none)."""
    if kind(input) != "float":
        unsupported("roi_pool_forward_kernel", input)
    c, height, width = input.shape[1:]
    places = _wide(lax.stop_gradient(rois))
    members = []
    for (low, high), count, size in zip(((2, 4), (1, 3)), bins, (height, width), strict=True):
        begin = _rounded(places[:, low] * np.asarray(scale, places.dtype))
        end = _rounded(places[:, high] * np.asarray(scale, places.dtype))
        bin_size = jnp.maximum(end - begin + 1, 1).astype(places.dtype) / np.asarray(count, places.dtype)
        members.append(_members(begin, bin_size, count, size, size))
    batch = places[:, 0].astype(jnp.int32)

    def one(region: Any) -> Any:
        number, in_y, in_x = region
        low = np.asarray(-np.inf, input.dtype)
        image = lax.stop_gradient(input)[number]  # (C, H, W)
        image = jnp.where(jnp.isnan(image), low, image)
        rows = jnp.where(in_y[None, :, :, None], image[:, None], low)  # (C, bins y, H, W)
        over_y, at_y = rows.max(2), rows.argmax(2).astype(jnp.int32)
        cells = jnp.where(in_x[None, None], over_y[:, :, None], low)  # (C, bins y, bins x, W)
        best = cells.max(-1)
        # Of equal pixels the first, by rows.
        row = jnp.where(cells == best[..., None], at_y[:, :, None], height)
        first_row = row.min(-1)
        at_x = jnp.argmax(row == first_row[..., None], -1).astype(jnp.int32)
        some = in_y.any(1)[:, None] & in_x.any(1)[None]
        return jnp.where(some & (best > low), first_row * width + at_x, -1)

    at = lax.map(one, (batch, *members))  # (K, C, bins y, bins x)
    flat = input.transpose(1, 0, 2, 3).reshape(c, -1)
    channel = jnp.arange(c)[None, :, None, None]
    found = flat[channel, jnp.maximum(at, 0) + (batch * (height * width))[:, None, None, None]]
    return jnp.where(at >= 0, found, 0), at


def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The largest pixel of each of a region's bins (Girshick, 2015), and its number in the image."""
    check("roi_pool", input, rois)
    bins = int(pooled_height), int(pooled_width)
    if not input.numel() or not rois.shape[0]:
        shape = (rois.shape[0], input.shape[1], *bins)
        return input.sum() * 0 + input.new_zeros(shape), input.new_zeros(shape, dtype=dtypes.int32)
    return _roi_pool(input, rois, float(spatial_scale), bins)


@op(name="_ps_roi_pool", function=False, method=False, out=False, saved=["input", "rois"])
def _ps_roi_pool(input: Array, rois: Array, scale: float, bins: Any):
    """Means of each bin's pixels, each bin from channels of its own."""
    if kind(input) != "float":
        unsupported("ps_roi_pool_forward_kernel", input)
    x, places = _wide(input), _wide(lax.stop_gradient(rois))
    # torchvision's means leave out the last row and column of an image, its gradients do not.
    moved = _pooled(x, places, scale, bins, 0)
    return (lax.stop_gradient(_pooled(x, places, scale, bins, 1) - moved) + moved).astype(input.dtype)


def _pooled(x: Any, places: Any, scale: float, bins: Any, left_out: int) -> Any:
    """(K, outputs, bins y, bins x): means of the pixels in each bin, without that many of the last rows and columns."""
    scaled = np.asarray(scale, places.dtype)
    members = []
    for (low, high), count, size in zip(((2, 4), (1, 3)), bins, x.shape[2:], strict=True):
        begin, end = (_rounded(places[:, i] * scaled) for i in (low, high))
        bin_size = jnp.maximum(end - begin, 1).astype(places.dtype) / np.asarray(count, places.dtype)
        members.append(_members(begin, bin_size, count, size, size - left_out).astype(x.dtype))
    own = _own_channels(x.shape[1], bins)  # (bins y, bins x, outputs)

    def one(region: Any) -> Any:
        number, of_y, of_x = region
        sums = jnp.einsum("chw,ph,qw->pqc", x[number], of_y, of_x, precision="highest")
        count = of_y.sum(1)[:, None] * of_x.sum(1)[None]
        mine = jnp.take_along_axis(sums, jnp.asarray(own), -1)
        return jnp.where(count[..., None] > 0, mine / jnp.maximum(count, 1)[..., None], 0).transpose(2, 0, 1)

    return lax.map(one, (places[:, 0].astype(jnp.int32), *members))


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """Means of each of a region's bins, each from channels of its own (Dai et al., 2016), and which channels these are."""
    check("ps_roi_pool", input, rois)
    bins = int(pooled_height), int(pooled_width)
    _need_multiple(input, bins)
    mapping = _mapping(rois, input.shape[1], bins)
    if not mapping.numel() or not input.numel():
        return input.sum() * 0 + input.new_zeros(mapping.shape), mapping
    return _ps_roi_pool(input, rois, float(spatial_scale), bins), mapping
