"""Discrete Fourier transforms."""

from __future__ import annotations

import math
import operator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, Ints, numpy_names, op
from ..._core.define.overloads import signed
from ..._core.define.signature import checked
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, write_out
from ..._core.types import dtypes
from ..common.rules import default_float, kind, scalar_name
from ..creation.filled import check_layout, leaf
from ..creation.ranges import placed
from ..shapes.rearranging import roll
from ..types.casting import as_dtype

_MODES = (None, "backward", "ortho", "forward")


# -- arguments


def _scale(norm: Any, n: int, forward: bool) -> float:
    """The factor of a transform of n points."""
    if norm not in _MODES:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") == forward else 1.0


def _prepared(x: Any, complex_wanted: bool) -> Any:
    """Integers in the default float type; half precision and 8-bit floats refused, as PyTorch does on CPUs."""
    if kind(x) in ("bool", "int"):
        x = x.astype(default_float())
    if x.dtype.itemsize <= 2:
        raise RuntimeError(f"Unsupported dtype {scalar_name(x)}")
    if complex_wanted and kind(x) != "complex":
        x = x.astype(jnp.complex128 if x.dtype == jnp.float64 else jnp.complex64)
    return x


def _need_points(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _resized(x: Any, axis: int, n: int) -> Any:
    """Zeros added to an axis, or its end cut off, so that it has n elements."""
    size = x.shape[axis]
    if n < size:
        return lax.slice_in_dim(x, 0, n, axis=axis)
    if n > size:
        return jnp.pad(x, [(0, n - size if i == axis else 0) for i in range(x.ndim)])
    return x


def _one_axis(x: Any, dim: Any) -> int:
    if x.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return strides.wrap_dim(operator.index(dim), x.ndim)


def _axes_and_sizes(x: Any, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    """The axes to transform and how many points each has; -1 keeps an axis as it is."""
    s = (s,) if isinstance(s, int) else s
    dim = (dim,) if isinstance(dim, int) else dim
    if dim is not None:
        axes = [_one_axis(x, d) for d in dim]
        if len(set(axes)) != len(axes):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(axes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > x.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
        axes = list(range(x.ndim - len(s), x.ndim))
    else:
        axes = list(range(x.ndim))
    sizes = [x.shape[a] if s is None or s[i] == -1 else s[i] for i, a in enumerate(axes)]
    return axes, sizes


# -- transforms of arrays


def _complex_along(x: Any, axes: list[int], forward: bool, scale: float) -> Any:
    """Complex to complex over axes; XLA takes at most three at a time."""
    for start in range(0, len(axes), 3):
        some = axes[start : start + 3]
        back = tuple(range(x.ndim - len(some), x.ndim))
        moved = jnp.moveaxis(x, some, back)
        lengths = moved.shape[x.ndim - len(some) :]
        moved = lax.fft(moved, lax.FftType.FFT if forward else lax.FftType.IFFT, lengths)
        x = jnp.moveaxis(moved, back, some)
        if not forward:
            scale *= math.prod(lengths)
    return _scaled(x, scale)


def _real_to_half(x: Any, axis: int, scale: float) -> Any:
    """Real to the not redundant half of its spectrum, along an axis."""
    moved = jnp.moveaxis(x, axis, -1)
    return _scaled(jnp.moveaxis(lax.fft(moved, lax.FftType.RFFT, (moved.shape[-1],)), -1, axis), scale)


def _half_to_real(x: Any, axis: int, n: int, scale: float) -> Any:
    """Half a spectrum to n real points along an axis."""
    moved = jnp.moveaxis(_resized(x, axis, n // 2 + 1), axis, -1)
    return _scaled(jnp.moveaxis(lax.fft(moved, lax.FftType.IRFFT, (n,)), -1, axis), scale * n)


def _scaled(x: Any, scale: float) -> Any:
    return x if abs(scale - 1) < 1e-15 else x * np.asarray(scale, x.dtype)


def _c2c(x: Any, s: Any, dim: Any, norm: Any, forward: bool) -> Any:
    x = _prepared(x, True)
    axes, sizes = _axes_and_sizes(x, s, dim)
    for n in sizes:
        _need_points(n)
    for a, n in zip(axes, sizes, strict=True):
        x = _resized(x, a, n)
    scale = _scale(norm, math.prod(sizes), forward)
    return _complex_along(x, axes, forward, scale) if axes else x


def _r2c(x: Any, s: Any, dim: Any, norm: Any, forward: bool) -> Any:
    x = _prepared(x, False)
    axes, sizes = _axes_and_sizes(x, s, dim)
    if not axes:
        raise RuntimeError(f"{'rfftn' if forward else 'ihfftn'} must transform at least one axis")
    for n in sizes:
        _need_points(n)
    for a, n in zip(axes, sizes, strict=True):
        x = _resized(x, a, n)
    half = _real_to_half(x, axes[-1], _scale(norm, math.prod(sizes), forward))
    half = half if forward else jnp.conj(half)
    return _complex_along(half, axes[:-1], forward, 1.0) if axes[1:] else half


def _c2r(x: Any, s: Any, dim: Any, norm: Any, forward: bool) -> Any:
    x = _prepared(x, True)
    axes, sizes = _axes_and_sizes(x, s, dim)
    if not axes:
        raise RuntimeError(f"{'hfftn' if forward else 'irfftn'} must transform at least one axis")
    if s is None or (s if isinstance(s, int) else s[-1]) == -1:
        sizes[-1] = 2 * (x.shape[axes[-1]] - 1)
    for n in sizes:
        _need_points(n)
    for a, n in zip(axes[:-1], sizes[:-1], strict=True):
        x = _resized(x, a, n)
    scale = _scale(norm, math.prod(sizes), forward)
    if axes[1:]:
        x = _complex_along(_resized(x, axes[-1], sizes[-1] // 2 + 1), axes[:-1], forward, 1.0)
    return _half_to_real(jnp.conj(x) if forward else x, axes[-1], sizes[-1], scale)


def _refuse_complex(name: str, x: Any) -> None:
    if kind(x) == "complex":
        raise RuntimeError(f"{name} expects a real input tensor, but got {scalar_name(x)}")


def _sizes_of(n: Any) -> Any:
    if n is None:
        return None
    _need_points(n)
    return (n,)


def _of_real(operands: Any, statics: Any) -> Any:
    """What PyTorch's derivative of a transform of real numbers keeps."""
    return () if operands[0].dtype.is_complex else ("input",)


def _filled(operands: Any, statics: Any) -> Any:
    """Input that was filled with zeros first is kept as a copy, which nobody overwrites."""
    (shape, (sizes, dim)) = operands[0].shape, statics[:2]
    if sizes is None:
        return ()
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    axes = range(-len(sizes), 0) if dim is None else (dim,) if isinstance(dim, int) else dim
    return ("input",) if any(n > shape[a] for n, a in zip(sizes, axes, strict=False)) else ()


# -- one dimension


def _spectrum_name(operands: Any, _: Any) -> str:
    return "FftC2CBackward0" if operands[0].dtype.is_complex else "FftR2CBackward0"


def _inverse_name(operands: Any, _: Any) -> str:
    return "FftC2CBackward0" if operands[0].dtype.is_complex else "ConjBackward0"


@op(function=False, method=False, grad=_spectrum_name, saved=_of_real, unsaved=_filled)
def fft_fft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None):
    """The discrete Fourier transform along a dimension, cut or filled with zeros to n points."""
    return _c2c(input, _sizes_of(n), (_one_axis(input, dim),), norm, True)


@op(function=False, method=False, grad=_inverse_name, saved=_of_real, unsaved=_filled)
def fft_ifft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None):
    """The inverse of `fft`."""
    return _c2c(input, _sizes_of(n), (_one_axis(input, dim),), norm, False)


@op(function=False, method=False, grad="FftR2CBackward0", saved=_of_real, unsaved=_filled)
def fft_rfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None):
    """The first n // 2 + 1 elements of the transform of real numbers."""
    _refuse_complex("rfft", input)
    return _r2c(input, _sizes_of(n), (_one_axis(input, dim),), norm, True)


@op(function=False, method=False, grad="FftC2RBackward0")
def fft_irfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None):
    """The inverse of `rfft`: n real numbers, by default 2 (m - 1) from m."""
    return _c2r(input, _sizes_of(n), (_one_axis(input, dim),), norm, False)


@op(function=False, method=False, grad="FftC2RBackward0")
def fft_hfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None):
    """The real transform of half a Hermitian signal."""
    return _c2r(input, _sizes_of(n), (_one_axis(input, dim),), norm, True)


@op(function=False, method=False, grad="ConjBackward0", saved=_of_real, unsaved=_filled)
def fft_ihfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None):
    """The inverse of `hfft`."""
    _refuse_complex("ihfft", input)
    return _r2c(input, _sizes_of(n), (_one_axis(input, dim),), norm, False)


# -- several dimensions


@op(function=False, method=False, grad="FftC2CBackward0")
def fft_fftn(input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None):
    """The Fourier transform over dimensions (all, or as many as `s` has)."""
    return _c2c(input, s, dim, norm, True)


@op(function=False, method=False, grad="FftC2CBackward0")
def fft_ifftn(input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None):
    """The inverse of `fftn`."""
    return _c2c(input, s, dim, norm, False)


@op(function=False, method=False, grad="FftR2CBackward0", saved=_of_real, unsaved=_filled)
def fft_rfftn(input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None):
    """The transform of real numbers over dimensions; the last has n // 2 + 1 elements."""
    if kind(input) == "complex":
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {scalar_name(input)}")
    return _r2c(input, s, dim, norm, True)


@op(function=False, method=False, grad="FftC2RBackward0")
def fft_irfftn(input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None):
    """The inverse of `rfftn`."""
    return _c2r(input, s, dim, norm, False)


@op(function=False, method=False, grad="FftC2RBackward0")
def fft_hfftn(input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None):
    """The real transform of half a Hermitian signal over dimensions."""
    return _c2r(input, s, dim, norm, True)


def _real_name(operands: Any, statics: Any) -> str:
    dim = statics[1]
    one = operands[0].ndim == 1 if dim is None else isinstance(dim, int) or len(dim) == 1
    return "ConjBackward0" if one else "FftC2CBackward0"


@op(function=False, method=False, grad=_real_name, saved=_of_real, unsaved=_filled)
def fft_ihfftn(input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None):
    """The inverse of `hfftn`."""
    if kind(input) == "complex":
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {scalar_name(input)}")
    return _r2c(input, s, dim, norm, False)


def _two_dimensional(transform: Any, name: str, text: str) -> Any:
    def transformed(
        input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        if dim is None:
            raise TypeError(f"fft_{name}(): argument 'dim' must be tuple of ints, not NoneType")
        return transform(input, s, dim, norm, out=out)

    transformed.__name__ = transformed.__qualname__ = f"fft_{name}"
    transformed.__doc__ = text
    return numpy_names(transformed)


fft2 = _two_dimensional(fft_fftn, "fft2", "`fftn` over two dimensions, by default the last.")
ifft2 = _two_dimensional(fft_ifftn, "ifft2", "`ifftn` over two dimensions, by default the last.")
rfft2 = _two_dimensional(fft_rfftn, "rfft2", "`rfftn` over two dimensions, by default the last.")
irfft2 = _two_dimensional(fft_irfftn, "irfft2", "`irfftn` over two dimensions, by default the last.")
hfft2 = _two_dimensional(fft_hfftn, "hfft2", "`hfftn` over two dimensions, by default the last.")
ihfft2 = _two_dimensional(fft_ihfftn, "ihfft2", "`ihfftn` over two dimensions, by default the last.")


# -- frequencies and shifts


def _frequencies(
    name: str, whole: bool, n: int, d: float, out: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> Tensor:
    number = n if whole else int(n / 2) + 1  # of -2 and less, as of 0, none
    if whole and n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    check_layout(layout, name)
    found = dtypes.default() if dtype is None else as_dtype(dtype, name)
    if not (found.is_floating_point or found.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if found.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtypes.scalar_name(found)}'")
    values = np.arange(number)
    if whole:
        values = np.where(values >= (n + 1) // 2, values - n, values)
    # PyTorch multiplies by 1 / (n d), in the type of the result.
    wide = values.astype(found.np if found.itemsize >= 4 else np.float32)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = wide * (np.float64(1) / np.float64(n * d)).astype(wide.dtype)
    t = placed(scaled.astype(found.np), device)
    if out is not None:
        return write_out(out, t, name)
    return leaf(t) if requires_grad else t


@signed("fft_fftfreq")
def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of the elements of `fft`, for samples d apart."""
    return _frequencies("fftfreq", True, n, d, out, dtype, layout, device, requires_grad)


@signed("fft_rfftfreq")
def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of the elements of `rfft`, for samples d apart."""
    return _frequencies("rfftfreq", False, n, d, out, dtype, layout, device, requires_grad)


def _shift_dims(input: Tensor, dim: Any) -> list[int]:
    if dim is None:
        return list(range(input.dim()))
    return [strides.wrap_dim(d, input.dim()) for d in (dim if isinstance(dim, (tuple, list)) else [int(dim)])]


@numpy_names
@checked
def fftshift(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Roll dimensions (all by default) so that the zero frequency comes to their middle."""
    dims = _shift_dims(input, dim)
    return roll(input, [input.shape[d] // 2 for d in dims], dims)


@numpy_names
@checked
def ifftshift(input: Tensor, dim: Ints | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    dims = _shift_dims(input, dim)
    return roll(input, [(input.shape[d] + 1) // 2 for d in dims], dims)
