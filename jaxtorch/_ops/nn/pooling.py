"""Pooling. Windows are pooled one axis at a time, as the maximum or the sum of strided slices.

The loops over slices are written in `lax`, which is traced in half the time that `jnp` takes.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, Ints, op
from ..._core.tuning import POOL_UNROLLED
from ..._core.types.size import need_sizes
from ..common.exact_division import quotient
from ..common.rules import kind, refuse, to_float, unsupported


def numbers(given: Any, n: int, op_name: str, name: str, default: Any = None) -> tuple[int, ...]:
    """One number for each of n dimensions; `default` where the argument was left out."""
    value: Any = given
    if given is not None or default is None:
        position = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5}.get(name, 2)
        need_sizes(op_name, name, value, position, alone=True)
    if default is not None and (given is None or (not isinstance(value, int) and len(value) == 0)):
        return default
    if isinstance(value, int):
        return (value,) * n
    if len(value) == 1:
        return tuple(value) * n
    if len(value) != n:
        word = {1: "one int", 2: "two ints", 3: "three ints"}[n]
        omitted = "either be omitted, a single int, or" if name == "stride" else "either be a single int, or"
        raise RuntimeError(f"{op_name}: {name} must {omitted} a tuple of {word}")
    return tuple(value)


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows fit: with `ceil_mode` also one that begins inside the (left-padded) input but ends
    beyond it.
    """
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    out = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (out - 1) * stride >= size + padding:
        out -= 1
    return out


def _sizes(x: Any, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> list[int]:
    return [
        pooled_size(s, k, t, p, d, ceil_mode)
        for s, k, t, p, d in zip(x.shape[-n:], kernel, stride, padding, dilation, strict=True)
    ]


def _check_windows(x: Any, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, sizes: Any) -> None:
    if any(k <= 0 for k in kernel):
        raise RuntimeError(
            "kernel size should be greater than zero, but got "
            + " ".join(f"k{'DHW'[-n:][i] if n > 1 else 'W'}: {k}" for i, k in enumerate(kernel))
        )
    _check_pads(kernel, padding, dilation)
    if any(s < 1 for s in sizes):
        channels = x.shape[-n - 1]
        given, found = ("x".join(map(str, (channels, *v))) for v in (x.shape[-n:], sizes))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({found}). Output size is too small")


def _check_content(x: Any, n: int, name3d: str) -> None:
    """RuntimeError where a dimension but the batch's is empty; in one dimension PyTorch pools in two."""
    if 0 not in x.shape[-n - 1 :]:
        return
    if n == 3:
        raise RuntimeError(
            f"{name3d}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{list(x.shape)} and non-batch dimension {x.shape[-4:].index(0)} has length zero!"
        )
    shape = list(x.shape) if n == 2 else [*x.shape[:-1], 1, x.shape[-1]]
    raise RuntimeError(
        f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
    )


def _check_pads(kernel: Any, padding: Any, dilation: Any) -> None:
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} "
                f"and dilation={d}"
            )


def _check_strides(stride: Any, dilation: Any, n: int) -> None:
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"stride should be greater than zero, but got {list(stride)}")
    if any(d <= 0 for d in dilation):
        shown = " ".join(f"dilation{a}: {d}" for a, d in zip("THW"[-n:], dilation, strict=True))
        raise RuntimeError(f"dilation should be greater than zero, but got {shown}")


def _slices(x: Any, axis: int, count: int, kernel: int, stride: int, dilation: int) -> list[Any]:
    """The i-th elements of all windows along an axis, for i in range(kernel)."""
    return [
        lax.slice_in_dim(x, i * dilation, i * dilation + (count - 1) * stride + 1, stride, axis) for i in range(kernel)
    ]


def _padded(x: Any, axis: int, low: int, count: int, kernel: int, stride: int, dilation: int, fill: Any) -> Any:
    """The input with `fill` so far as the windows reach (cut where they do not reach the end)."""
    reach = (count - 1) * stride + dilation * (kernel - 1) + 1
    high = reach - low - x.shape[axis]
    if low == 0 and high <= 0:
        return x
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (low, max(high, 0), 0)
    return lax.pad(x, jnp.asarray(fill, x.dtype), config)


# -- maxima ------------------------------------------------------------------------------------------------


def _lowest(dtype: Any) -> Any:
    return -np.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3, 4, 5))
def _window_max(x: Any, axis: int, count: int, kernel: int, stride: int, dilation: int) -> Any:
    """The largest element of each window along an axis of a padded array."""
    if kernel > POOL_UNROLLED:
        dims, steps, spread = [1] * x.ndim, [1] * x.ndim, [1] * x.ndim
        dims[axis], steps[axis], spread[axis] = kernel, stride, dilation
        low = jnp.asarray(_lowest(x.dtype), x.dtype)
        out = lax.reduce_window(x, low, lax.max, dims, steps, "VALID", window_dilation=spread)
        return lax.slice_in_dim(out, 0, count, 1, axis)
    return functools.reduce(lax.max, _slices(x, axis, count, kernel, stride, dilation))


@_window_max.defjvp
def _window_max_rule(
    axis: int, count: int, kernel: int, stride: int, dilation: int, primals: Any, tangents: Any
) -> Any:
    """The derivative goes to the first of the largest elements, as in PyTorch."""
    (x,), (t,) = primals, tangents
    ans = _window_max(x, axis, count, kernel, stride, dilation)
    if kernel > POOL_UNROLLED:
        place = _window_places(x, axis, count, kernel, stride, dilation)
        return ans, jnp.take_along_axis(t, place, axis)
    # Elements are compared with each other, never with `ans`: what a compiled program kept of the two may be rounded apart.
    pairs = list(zip(*(_slices(v, axis, count, kernel, stride, dilation) for v in (x, t)), strict=True))
    best, out = pairs[0]
    for value, change in pairs[1:]:
        better = lax.bitwise_or(lax.gt(value, best), lax.ne(value, value))
        best, out = lax.select(better, value, best), lax.select(better, change, out)
    return ans, out


def _window_places(x: Any, axis: int, count: int, kernel: int, stride: int, dilation: int) -> Any:
    """Where along the axis each window's first largest element is."""
    index = np.arange(count)[:, None] * stride + np.arange(kernel) * dilation  # (count, kernel)
    windows = jnp.take(x, index, axis=axis)
    start = jnp.expand_dims(up_to(count) * stride, tuple(range(1, x.ndim - axis)))
    return jnp.argmax(windows, axis=axis + 1) * dilation + start


def _max_values(x: Any, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, sizes: Any) -> Any:
    for i in reversed(range(n)):
        axis = x.ndim - n + i
        window = (sizes[i], kernel[i], stride[i], dilation[i])
        x = _window_max(_padded(x, axis, padding[i], *window, _lowest(x.dtype)), axis, *window)
    return x


def _max_places(x: Any, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, sizes: Any) -> Any:
    """The flat position in the input's spatial dimensions of each window's maximum, the first in row-major
    order.
    """
    spatial = x.shape[-n:]
    place = jnp.broadcast_to(up_to(math.prod(spatial), jnp.int64).reshape(spatial), x.shape)
    x = lax.stop_gradient(x)
    for i in reversed(range(n)):
        axis = x.ndim - n + i
        window = (sizes[i], kernel[i], stride[i], dilation[i])
        values = _slices(_padded(x, axis, padding[i], *window, _lowest(x.dtype)), axis, *window)
        places = _slices(_padded(place, axis, padding[i], *window, -1), axis, *window)
        x, place = values[0], places[0]
        for v, p in zip(values[1:], places[1:], strict=True):
            better = lax.bitwise_or(lax.gt(v, x), lax.bitwise_and(lax.ne(v, v), lax.eq(x, x)))
            outside = lax.lt(place, lax.full_like(place, 0))
            better = lax.bitwise_or(better, lax.bitwise_and(outside, lax.ge(p, lax.full_like(p, 0))))
            x, place = lax.select(better, v, x), lax.select(better, p, place)
    return place


def _max_pool(
    x: Any, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: bool
) -> Any:
    name = f"max_pool{n}d"
    kernel = numbers(kernel, n, name, "kernel_size")
    stride = numbers(stride, n, name, "stride", kernel)
    padding, dilation = numbers(padding, n, name, "padding"), numbers(dilation, n, name, "dilation")
    if n == 1:
        _check_max1d(x, kernel[0], stride[0], padding[0], dilation[0], ceil_mode)
    else:
        if x.ndim not in (n + 1, n + 2):
            raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
        _check_pads(kernel, padding, dilation)
        _check_content(x, n, "max_pool3d_with_indices_out_cpu_template")
        _check_strides(stride, dilation, n)
    sizes = _sizes(x, n, kernel, stride, padding, dilation, ceil_mode)
    _check_windows(x, n, kernel, stride, padding, dilation, sizes)
    if n == 1 and not indices:
        refuse("max_pool1d_impl", x, "int", "bool", "complex")
    refuse("max_pool2d" if n == 1 else name, x, "bool", "complex")
    values = _max_values(x, n, kernel, stride, padding, dilation, sizes)
    if not indices:
        return values
    return values, _max_places(x, n, kernel, stride, padding, dilation, sizes)


def _check_max1d(x: Any, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> None:
    if x.ndim not in (2, 3) or 0 in x.shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(x.shape)}"
        )
    if kernel <= 0:
        raise RuntimeError(f"max_pool1d() kernel_size must be greater than zero, but got {kernel}")
    if stride <= 0:
        raise RuntimeError(f"max_pool1d() stride must be greater than zero, but got {stride}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    out = pooled_size(x.shape[-1], kernel, stride, padding, dilation, ceil_mode)
    if out <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {out}")


def _define_max(n: int, grad: str) -> tuple[Any, Any]:
    def plain(
        input: Array,
        kernel_size: Ints,
        stride: Ints | None = (),
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> Any:
        return _max_pool(input, n, kernel_size, stride, padding, dilation, ceil_mode, False)

    def with_indices(
        input: Array,
        kernel_size: Ints,
        stride: Ints | None = (),
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> Any:
        return _max_pool(input, n, kernel_size, stride, padding, dilation, ceil_mode, True)

    plain.__doc__ = f"The largest element of each window of the last {n} dimensions."
    with_indices.__doc__ = plain.__doc__ + " With its flat position."
    return (
        op(name=f"max_pool{n}d", method=False, out=False, grad=grad, unsaved=["result"], channels=1)(plain),
        op(
            name=f"max_pool{n}d_with_indices",
            function=n == 1,
            method=False,
            out=False,
            grad=grad,
            unsaved=["result"],
            saved=["result1"],
            channels=1,
        )(with_indices),
    )


max_pool1d, max_pool1d_with_indices = _define_max(1, "SqueezeBackward1")
max_pool2d, max_pool2d_with_indices = _define_max(2, "MaxPool2DWithIndicesBackward0")
max_pool3d, max_pool3d_with_indices = _define_max(3, "MaxPool3DWithIndicesBackward0")


# -- averages ----------------------------------------------------------------------------------------------


def _window_sum(x: Any, axis: int, count: int, kernel: int, stride: int) -> Any:
    if kernel > POOL_UNROLLED:
        dims, steps = [1] * x.ndim, [1] * x.ndim
        dims[axis], steps[axis] = kernel, stride
        out = lax.reduce_window(x, x.dtype.type(0), lax.add, dims, steps, "VALID")
        return lax.slice_in_dim(out, 0, count, 1, axis)
    return functools.reduce(jnp.add, _slices(x, axis, count, kernel, stride, 1))


def _divisors(size: int, out: int, kernel: int, stride: int, padding: int, with_padding: bool) -> Any:
    """How many elements each window along an axis is counted to have."""
    start = np.arange(out) * stride - padding
    stop = np.minimum(start + kernel, size + padding)
    if not with_padding:
        start, stop = np.maximum(start, 0), np.minimum(stop, size)
    return stop - start


def _avg_pool(
    x: Any,
    n: int,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    with_padding: bool,
    divisor: int | None,
) -> Any:
    name = f"avg_pool{n}d"
    kernel = numbers(kernel, n, name, "kernel_size")
    stride = numbers(stride, n, name, "stride", kernel)
    padding = numbers(padding, n, name, "padding")
    _check_average(x, n, kernel, stride, divisor)
    if any(s < 0 for s in stride):
        shown = " ".join(f"d{a}: {s}" for a, s in zip("THW"[-max(n, 2) :], (1,) * (n == 1) + stride, strict=True))
        raise RuntimeError(f"stride should be greater than zero, but got {shown}")
    dilation = (1,) * n
    _check_pads(kernel, padding, dilation)
    _check_content(x, n, "avg_pool3d")
    sizes = _sizes(x, n, kernel, stride, padding, dilation, ceil_mode)
    if n == 3 and any(s < 1 for s in sizes):
        shown = [" ".join(f"{p}{a}: {v}" for a, v in zip("THW", vs, strict=True)) for p, vs in
                 (("", x.shape[-3:]), ("k", kernel))]  # fmt: skip
        raise RuntimeError(f"input image ({shown[0]}) smaller than kernel size ({shown[1]})")
    if n == 1 and any(s < 1 for s in sizes):
        channels = x.shape[-2]
        raise RuntimeError(
            f"Given input size: ({channels}x1x{x.shape[-1]}). Calculated output size: "
            f"({channels}x1x{sizes[0]}). Output size "
            "is too small"
        )
    _check_windows(x, n, kernel, stride, padding, dilation, sizes)
    check_averaged(x, n)
    dtype = x.dtype
    total = x.astype(jnp.float32) if dtype in (jnp.float16, jnp.bfloat16) else x
    for i in reversed(range(n)):
        axis = x.ndim - n + i
        reached = _padded(total, axis, padding[i], sizes[i], kernel[i], stride[i], 1, 0)
        total = _window_sum(reached, axis, sizes[i], kernel[i], stride[i])
    if divisor is not None:
        counts: Any = np.asarray(divisor)
    else:
        axes = [
            _divisors(x.shape[x.ndim - n + i], sizes[i], kernel[i], stride[i], padding[i], with_padding)
            for i in range(n)
        ]
        counts = functools.reduce(np.multiply.outer, axes)
        if (counts == counts.flat[0]).all():
            counts = counts.flat[0]
    if jnp.issubdtype(dtype, jnp.integer):
        return lax.div(total, jnp.broadcast_to(jnp.asarray(counts, dtype), total.shape))  # towards zero
    return quotient(total, jnp.asarray(counts, total.dtype)).astype(dtype)


def check_averaged(x: Any, n: int) -> None:
    """NotImplementedError for the element types whose windows PyTorch does not average."""
    odd = (kind(x) == "int" and x.dtype != jnp.int64) or (n == 3 and x.dtype == jnp.float16)
    if odd or kind(x) in ("bool", "complex"):
        unsupported("avg_pool3d_out_frame" if n == 3 else "avg_pool2d", x)


def _check_average(x: Any, n: int, kernel: Any, stride: Any, divisor: int | None) -> None:
    if n == 1 and x.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for argument #1 'self' "
            "(while checking "
            "arguments for avg_pool1d)"
        )
    if x.ndim not in (n + 1, n + 2):
        if x.ndim < n + 1 and n == 2:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got -3)"
            )
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    if divisor is not None and divisor == 0:
        raise RuntimeError("divisor must be not zero")


@op(method=False, out=False, grad="SqueezeBackward1", saved=["input"])
def avg_pool1d(
    input: Array,
    kernel_size: Ints,
    stride: Ints | None = (),
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
):
    """The mean of each window of the last dimension."""
    return _avg_pool(input, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@op(method=False, function=False, grad="AvgPool2DBackward0", saved=["input"], channels=1)
def avg_pool2d(
    input: Array,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
):
    """The mean of each window of the last 2 dimensions."""
    return _avg_pool(input, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op(method=False, function=False, grad="AvgPool3DBackward0", saved=["input"])
def avg_pool3d(
    input: Array,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
):
    """The mean of each window of the last 3 dimensions."""
    return _avg_pool(input, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


# -- power averages ----------------------------------------------------------------------------------------


def _lp_pool(x: Any, n: int, norm_type: float, kernel: Any, stride: Any, ceil_mode: bool) -> Any:
    if n > 1 and isinstance(kernel, (tuple, list)) and len(kernel) != n:
        raise ValueError(f"expected {n} values to unpack of kernel_size, got {len(kernel)}")
    kernel = numbers(kernel, n, f"lp_pool{n}d", "kernel_size")
    if not norm_type:
        raise ZeroDivisionError("float division by zero")
    if math.isinf(norm_type):
        sign = 1 if norm_type > 0 else -1
        return sign * _max_pool(sign * jnp.abs(x), n, kernel, stride, 0, 1, ceil_mode, False)
    size = math.prod(kernel)
    if kind(x) in ("int", "bool"):
        x = to_float(x) if isinstance(norm_type, float) else x.astype(jnp.int64) if kind(x) == "bool" else x
    power = jnp.power(x, x.dtype.type(norm_type)) if norm_type != 2 else x * x
    mean = _avg_pool(power, n, kernel, stride, 0, ceil_mode, True, None)
    total = jnp.sign(mean) * jnp.maximum(jnp.abs(mean), 0) * size
    total = to_float(total)
    return jnp.power(total, total.dtype.type(1.0 / norm_type))


def _define_lp(n: int) -> Any:
    def lp_pool(
        input: Array, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
    ) -> Any:
        return _lp_pool(input, n, norm_type, kernel_size, stride, ceil_mode)

    lp_pool.__doc__ = (
        f"The p-th root of the sum of p-th powers of each window of the last {n} dimensions; at infinity the largest."
    )
    return op(name=f"lp_pool{n}d", function=False, method=False, out=False, grad="PowBackward0", channels=1)(lp_pool)


lp_pool1d, lp_pool2d, lp_pool3d = (_define_lp(n) for n in (1, 2, 3))
