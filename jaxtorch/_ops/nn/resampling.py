"""Resampling grids: `interpolate`, `grid_sample`, `affine_grid`, and the shuffles between channels and
space.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core import native
from ..._core.compile.context import target
from ..._core.define.op import Array, inner_op, op
from ..._core.tensor import strides
from ..common.primitives import linear_in, natively, primitive, with_tangent
from ..common.product_primitives import on_cpu
from ..common.rules import in_single, kind, refuse, scalar_name, unsupported
from .adaptive_pooling import adaptive_average
from .weighted_gather import Taps, sums

_CUBIC = -0.75


# -- interpolation: along each axis, every output element is a weighted sum of a few input elements --------


def _scale(size: int, out: int, align_corners: bool, factor: float | None, single: bool) -> Any:
    real = np.float32 if single else np.float64
    if align_corners:
        return real(size - 1) / real(out - 1) if out > 1 else real(0)
    return real(1.0 / factor) if factor else real(size) / real(out)


def _sources(size: int, out: int, align_corners: bool, factor: float | None, single: bool) -> Any:
    """Where, in the input's coordinates, the elements of the output lie."""
    scale = _scale(size, out, align_corners, factor, single)
    place = np.arange(out, dtype=scale.dtype)
    half = scale.dtype.type(0.5)
    return place * scale if align_corners else (place + half) * scale - half


def _cubic_weights(t: Any, a: float) -> list[Any]:
    """The four weights of cubic convolution at a fraction t (Keys, 1981)."""
    far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a  # noqa: E731
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1  # noqa: E731
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def taps(mode: str, size: int, out: int, align_corners: bool, factor: float | None, single: bool) -> tuple[Any, Any]:
    """(input elements, their weights), each (out, taps), along one axis; weights None if they are all 1."""
    if mode in ("nearest", "nearest-exact"):
        scale = _scale(size, out, False, factor, True)
        place = np.arange(out, dtype=np.float32) + np.float32(0.5 if mode == "nearest-exact" else 0)
        return np.minimum(np.floor(place * scale).astype(np.int64), size - 1)[:, None], None
    source = _sources(size, out, align_corners, factor, single)
    if mode == "linear":
        source = np.maximum(source, 0)
        low = np.minimum(source.astype(np.int64), size - 1)
        high = np.minimum(low + 1, size - 1)
        part = np.clip(source - low, 0, 1).astype(source.dtype)
        return np.stack([low, high], 1), np.stack([1 - part, part], 1)
    low = np.floor(source).astype(np.int64)
    part = source - low.astype(source.dtype)
    index = np.clip(low[:, None] + np.arange(-1, 3), 0, size - 1)
    return index, np.stack(_cubic_weights(part, _CUBIC), 1)


def _smooth_taps(mode: str, size: int, out: int, align_corners: bool, factor: float | None) -> tuple[Any, Any, Any]:
    """Taps of the antialiasing filters, and which of them count: the kernel is stretched by the scale where the output is coarser."""
    scale = float(_scale(size, out, align_corners, factor, False))
    reach = {"linear": 1.0, "cubic": 2.0, "lanczos": 3.0}[mode] * max(scale, 1.0)
    stretch = 1.0 / scale if scale >= 1.0 else 1.0
    centre = scale * (np.arange(out) + 0.5)
    start = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    stop = np.minimum((centre + reach + 0.5).astype(np.int64), size)
    index = start[:, None] + np.arange(math.ceil(reach) * 2 + 1)
    distance = np.abs((index - centre[:, None] + 0.5) * stretch)
    if mode == "linear":
        weight = np.where(distance < 1, 1 - distance, 0)
    elif mode == "lanczos":
        weight = np.where(distance < 3, np.sinc(distance) * np.sinc(distance / 3), 0)
    else:
        a = -0.5
        near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        weight = np.where(distance < 1, near, np.where(distance < 2, far, 0))
    inside = index < stop[:, None]
    weight = np.where(inside, weight, 0)
    return np.minimum(index, size - 1), weight / weight.sum(1, keepdims=True), inside


def _resampled_pixels(x: Any, size: Any, kernel: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    """(N, C, H, W) of uint8: rows, then columns, each with whole-numbered weights of 15 bits and rounded to uint8."""
    for axis in (3, 2):
        old, new, factor = x.shape[axis], size[axis - 2], factors[axis - 2]
        if old == new:
            continue
        if antialias:
            index, weight, _ = _smooth_taps(kernel, old, new, align_corners, factor)
        else:
            index, weight = taps(kernel, old, new, align_corners, factor, False)
        weight = weight.astype(np.float64)
        for k in range(1, index.shape[1]):  # beyond the border the outermost element counts more than once
            same = index[:, k] == index[:, k - 1]
            weight[:, k] += np.where(same, weight[:, k - 1], 0)
            weight[:, k - 1] = np.where(same, 0, weight[:, k - 1])
        bits = 0
        while bits < 22 and int(0.5 + weight.max() * 2 ** (bits + 1)) < 2**15:
            bits += 1
        whole = np.trunc(weight * 2**bits + np.copysign(0.5, weight)).astype(np.int32)
        along = Taps(old, index, whole)
        total = sums(x.astype(jnp.int32), [along, None] if axis == 2 else [along]) + (1 << (bits - 1))
        x = jnp.clip(total >> bits, 0, 255).astype(jnp.uint8)
    return x


_KERNELS = {"nearest": "Nearest", "nearest-exact": "NearestExact", "linear": "Linear", "bilinear": "Bilinear",
            "trilinear": "Trilinear", "bicubic": "Bicubic", "lanczos": "Lanczos"}  # fmt: skip


def _upsample_name(operands: Any, statics: Any) -> str:
    n = operands[0].ndim - 2
    mode, antialias = statics[1], statics[4]
    if mode == "area":
        return "SqueezeBackward1" if n == 1 else f"AdaptiveAvgPool{n}DBackward0"
    return f"Upsample{_KERNELS[mode]}{n}D{'Aa' if antialias else ''}Backward0"


def _kernel_name(mode: str, n: int) -> str:
    """PyTorch's kernel on the CPU, as it is called where it lacks an element type."""
    if mode == "area":
        return "adaptive_avg_pool3d_cpu" if n == 3 else "adaptive_avg_pool2d"
    if mode == "lanczos":
        return "compute_index_ranges_weights"
    if n == 2 and mode != "bicubic":
        return f"upsample_{mode.removesuffix('-exact')}2d_channels_last"
    return (
        f"compute_indices_weights_{'cubic' if mode == 'bicubic' else mode.removesuffix('-exact').removeprefix('tri')}"
    )


def _upsample_saves(operands: Any, statics: Any) -> Any:
    return ("input",) if statics[1] == "area" else ()


@inner_op(grad=_upsample_name, saved=_upsample_saves, channels=1)
def _upsample(input: Array, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool):
    spatial = input.shape[2:]
    if any(s < 1 for s in (*spatial, *size)):
        shown = [", ".join(f"{a}: {v}" for a, v in zip("DHW"[-len(v) :], v, strict=True)) for v in (spatial, size)]
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({shown[0]}) and output ({shown[1]})"
        )
    pixels = input.dtype == jnp.uint8 and (mode.startswith("nearest") or mode in ("bilinear", "bicubic", "lanczos"))
    if kind(input) in ("int", "bool", "complex") and not pixels:
        unsupported(_kernel_name(mode, len(spatial)), input)
    if target() == "meta":  # whose places and weights would be as large as the result
        return jnp.zeros((*input.shape[:2], *size), input.dtype)
    if mode == "area":
        return adaptive_average(input, len(spatial), list(size))
    if mode == "lanczos" and kind(input) == "float" and input.dtype.itemsize < 4:
        unsupported(_kernel_name(mode, 2), input)
    single = input.dtype != jnp.float64
    kernel = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}.get(mode, mode)

    if pixels and kernel in ("linear", "cubic", "lanczos"):
        return _resampled_pixels(input, size, kernel, align_corners, factors or (None, None), antialias)

    axes: list[Taps | None] = []
    for i, (old, new) in enumerate(zip(spatial, size, strict=True)):
        factor = None if factors is None else factors[i]
        if antialias:
            axes.append(Taps(old, *_smooth_taps(kernel, old, new, align_corners, factor)))
        elif old == new and (factor is None or factor == 1) and kernel != "cubic":
            axes.append(None)
        else:
            axes.append(Taps(old, *taps(kernel, old, new, align_corners, factor, single)))
    resampled = functools.partial(sums, axes=axes)
    return in_single(resampled)(input) if kind(input) == "float" else resampled(input)


# -- sampling at given places ------------------------------------------------------------------------------


def _unnormalised(place: Any, size: int, align_corners: bool) -> Any:
    return (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2


def _reflected(place: Any, low: float, high: float) -> Any:
    """Reflected at `low` and `high` until inside."""
    if low == high:
        return jnp.zeros_like(place)
    span = high - low
    away = jnp.abs(place - low)
    turns = jnp.floor(away / span)
    extra = away - turns * span
    return jnp.where(turns % 2 == 0, extra + low, span - extra + low)


def _inside(place: Any, size: int, padding_mode: str, align_corners: bool) -> Any:
    if padding_mode == "border":
        return _clipped(place, size)
    if padding_mode == "reflection":
        ends = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        return _clipped(_reflected(place, *ends), size)
    return place


def _clipped(place: Any, size: int) -> Any:
    limited = jnp.where(place <= 0, 0, jnp.where(place >= size - 1, size - 1.0, place))
    return jnp.where(jnp.isnan(place), 0, limited)


def _fetch(x: Any, places: list[Any]) -> Any:
    """x[n, :, i, j, ...] for integer-valued places, each (N, points); 0 outside."""
    n, channels, *spatial = x.shape
    flat = jnp.zeros(places[0].shape, jnp.int64)
    ok = jnp.ones(places[0].shape, bool)
    for place, size in zip(places, spatial, strict=True):
        ok &= (place >= 0) & (place < size)
        flat = flat * size + jnp.clip(jnp.nan_to_num(place), 0, size - 1).astype(jnp.int64)
    taken = jnp.take_along_axis(x.reshape(n, channels, -1), flat[:, None], axis=2)
    return jnp.where(ok[:, None], taken, 0)


@inner_op(grad=lambda operands, statics: f"GridSampler{operands[0].ndim - 2}DBackward0", saved=["input", "grid"])
def _grid_sample(input: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool):
    n = input.ndim - 2
    if not (input.ndim and grid.ndim):
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if n not in (2, 3) or grid.ndim != input.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
            "input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[0] != input.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != n:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if mode == "bicubic" and n == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if kind(input) != "float":
        unsupported("grid_sampler_2d_cpu_kernel_impl" if n == 2 else "grid_sampler3d_cpu", input)
    if grid.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {scalar_name(input)} but found {scalar_name(grid)}")
    spatial, dtype = input.shape[2:], input.dtype
    if 0 in spatial:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)}"
        )
    if 0 in (*input.shape, *grid.shape):
        return jnp.zeros((*input.shape[:2], *grid.shape[1:-1]), dtype)
    if dtype in (jnp.float16, jnp.bfloat16):  # places rounded to half precision would miss their neighbours
        input, grid = input.astype(np.float32), grid.astype(np.float32)
    flat = grid.reshape(grid.shape[0], -1, n)[..., ::-1]  # last coordinate first: rows before columns
    raw = [_unnormalised(flat[..., i], spatial[i], align_corners) for i in range(n)]
    if mode == "bicubic":
        out = _bicubic_samples(input, raw, padding_mode, align_corners)
    else:
        places = [_inside(p, s, padding_mode, align_corners) for p, s in zip(raw, spatial, strict=True)]
        out = _fetch(input, [jnp.round(p) for p in places]) if mode == "nearest" else _sampled(input, places)
    return out.reshape(*input.shape[:2], *grid.shape[1:-1]).astype(dtype)


def _linear_samples(x: Any, *places: Any) -> Any:
    total: Any = 0
    floors = [jnp.floor(p) for p in places]
    for corner in range(2 ** len(places)):
        weight, at = 1.0, []
        for i, (p, f) in enumerate(zip(places, floors, strict=True)):
            up = corner >> i & 1
            at.append(f + up)
            weight = weight * ((p - f) if up else (f + 1 - p))
        total = total + _fetch(x, at) * weight[:, None]  # pyright: ignore[reportIndexIssue]
    return total


def _linear_samples_moved(*given: Any) -> Any:
    n = len(given) // 2
    return jax.jvp(_linear_samples, given[n:], given[:n])[1]


def _linear_samples_back(g: Any, *given: Any) -> Any:
    return list(jax.vjp(_linear_samples, *given)[1](g))


_samples_p = primitive("linear_samples", _linear_samples, natively(native.samples))
_samples_moved_p = primitive("linear_samples_tangent", _linear_samples_moved)
_samples_back_p = primitive("linear_samples_back", _linear_samples_back, natively(native.samples_back), several=True)
linear_in(_samples_moved_p, _linear_samples_moved, 3, lambda g, *given: _samples_back_p.bind(g, *given))
linear_in(_samples_back_p, _linear_samples_back, 1)
with_tangent(_samples_p, lambda moved, *given: _samples_moved_p.bind(*moved, *given))


def _sampled(x: Any, places: list[Any]) -> Any:
    """On the CPU images are sampled as a primitive, which has a kernel."""
    return _samples_p.bind(x, *places) if x.ndim == 4 and on_cpu() else _linear_samples(x, *places)


def _bicubic_samples(x: Any, places: list[Any], padding_mode: str, align_corners: bool) -> Any:
    floors = [jnp.floor(p) for p in places]
    weights = [_cubic_weights(p - f, _CUBIC) for p, f in zip(places, floors, strict=True)]
    total: Any = 0
    for i in range(4):
        row: Any = 0
        for j in range(4):
            at = [
                _inside(f + d - 1, s, padding_mode, align_corners)
                for f, d, s in zip(floors, (i, j), x.shape[2:], strict=True)
            ]
            row = row + _fetch(x, at) * weights[1][j][:, None]
        total = total + row * weights[0][i][:, None]
    return total


def _base_line(n: int, dtype: Any, align_corners: bool) -> Any:
    """`n` places from -1 to 1, with PyTorch's roundings: under the identity, where a gradient jumps at every place, each last
    bit decides on which side of it one is."""
    dtype = np.dtype(dtype)
    if n <= 1:
        return np.zeros(n, dtype)
    single = dtype.itemsize < 8
    wide, own = (np.float64, np.float32) if single else (np.longdouble, np.float64)
    step, k = wide(own(2) / own(n - 1)), np.arange(n)
    line = np.where(k < n // 2, step * k - 1, 1 - step * (n - 1 - k)).astype(own)
    return (line if align_corners else line * own(n - 1) / own(n)).astype(dtype)


@inner_op(grad="AffineGridGeneratorBackward0")
def _affine_grid(theta: Array, size: Any, align_corners: bool):
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    refuse("linspace_cpu", theta, "bool")
    strides.wrap_dim(2, theta.ndim)
    if theta.ndim != 3 or theta.shape[0] != size[0] or theta.shape[2] != len(size) - 1:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {[size[0], len(size) - 1]} but got: "
            f"{list(theta.shape[:1] + theta.shape[2:])}."
        )
    if theta.shape[1] != len(size) - 2:
        raise RuntimeError(
            f"shape {[*size[:1], *size[2:], len(size) - 2]} is invalid for input of size {theta.shape[1]} a place"
        )
    axes = [_base_line(s, theta.dtype, align_corners) for s in size[2:]]
    points = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(size[2:])], axis=-1)
    return jnp.einsum("...j,nij->n...i", jnp.asarray(points, theta.dtype), theta)


# -- channels and space ------------------------------------------------------------------------------------


def _at_least_3(x: Any, name: str) -> None:
    if x.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {x.ndim} dimension(s)"
        )


@op(method=False, out=False, channels=1)
def pixel_shuffle(input: Array, upscale_factor: int):
    """(*, C * r * r, H, W) -> (*, C, H * r, W * r)."""
    r = upscale_factor
    _at_least_3(input, "pixel_shuffle")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            "upscale_factor, but "
            f"input.size(-3)={c} is not divisible by {r * r}"
        )
    x = input.reshape(math.prod(batch), c // (r * r), r, r, h, w)
    return x.transpose(0, 1, 4, 2, 5, 3).reshape(*batch, c // (r * r), h * r, w * r)


@op(method=False, out=False, channels=1)
def pixel_unshuffle(input: Array, downscale_factor: int):
    """(*, C, H * r, W * r) -> (*, C * r * r, H, W)."""
    r = downscale_factor
    _at_least_3(input, "pixel_unshuffle")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    for name, place, s in (("height", -2, h), ("width", -1, w)):
        if s % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({place})={s} is not "
                f"divisible by {r}"
            )
    if not input.size:
        return input  # as PyTorch leaves it
    x = input.reshape(math.prod(batch), c, h // r, r, w // r, r)
    return x.transpose(0, 1, 3, 5, 2, 4).reshape(*batch, c * r * r, h // r, w // r)


@op(method=False, out=False, aliases=["native_channel_shuffle"], channels=1)
def channel_shuffle(input: Array, groups: int):
    """Channels (dimension 1) of (N, C, *) interleaved from `groups` groups."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c = input.shape[:2]
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return jnp.swapaxes(input.reshape(n, groups, c // groups, *input.shape[2:]), 1, 2).reshape(input.shape)
