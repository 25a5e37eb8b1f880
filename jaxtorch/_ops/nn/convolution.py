"""Convolutions, and the sliding blocks they are made of (`unfold`, `fold`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..._core.compile.context import convolution_precision
from ..._core.define.op import Array, Ints, inner_op, op
from ..._core.tensor.tensor import Tensor
from ..._core.types.warn_once import once
from ..common.rules import kind, refuse, scalar_name, unsupported
from .linear import c_name


def convolve(
    x: Any,
    weight: Any,
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
    input_dilation: Sequence[int] | None = None,
) -> Any:
    """The one place where convolutions are lowered: x (N, C, *spatial), weight (O, C / groups, *kernel)."""
    return lax.conv_general_dilated(
        x,
        weight,
        tuple(stride),
        list(padding),
        lhs_dilation=None if input_dilation is None else tuple(input_dilation),
        rhs_dilation=tuple(dilation),
        feature_group_count=groups,
        precision=convolution_precision(),
    )


def spread(value: Any, n: int, name: str) -> tuple[int, ...]:
    """One number for each of n spatial dimensions."""
    if isinstance(value, int):
        return (value,) * n
    if len(value) == 1:
        return tuple(value) * n
    if len(value) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the "
            "convolution dimensions, but "
            f"got {name}={list(value)}"
        )
    return tuple(value)


def _batched(x: Any, n: int, name: str) -> bool:
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(x.shape)}"
        )
    return x.ndim == n + 2


def _check_types(x: Any, weight: Any, bias: Any, bias_first: bool = False, transposed: bool = False) -> None:
    if bias_first and bias is not None and bias.dtype != x.dtype:
        raise RuntimeError(f"Input type ({c_name(x)}) and bias type ({c_name(bias)}) should be the same")
    if x.dtype != weight.dtype:
        if not transposed:
            refuse("slow_conv3d_cpu" if x.ndim == 5 else "slow_conv2d_cpu", x, "bool")
        raise RuntimeError(f"expected scalar type {scalar_name(x)} but found {scalar_name(weight)}")
    if bias is not None and bias.dtype != x.dtype:
        raise RuntimeError(f"Input type ({c_name(x)}) and bias type ({c_name(bias)}) should be the same")


def _check_kernel(kernel: Any) -> None:
    if 0 in kernel:
        names = ("kernel_height", "kernel_width")
        pair = (1, *kernel) if len(kernel) == 1 else kernel
        shown = " ".join(f"{n}: {k}" for n, k in zip(names, pair, strict=False))
        shown = ": " + " x ".join(map(str, kernel)) + " (TxHxW)" if len(kernel) == 3 else " " + shown
        raise RuntimeError("kernel size should be greater than zero, but got" + shown)


def _check_numbers(stride: Any, padding: Any, dilation: Any, groups: int) -> None:
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_groups(weight: Any, groups: int) -> None:
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
            "weight of size "
            f"[{list(weight.shape)}] instead"
        )


def _check_bias(bias: Any, weight: Any, channels: int, transposed: bool) -> None:
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != channels):
        given = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{given} of size {list(weight.shape)}, expected bias to be 1-dimensional with {channels} "
            "elements, but got bias "
            f"of size {list(bias.shape)} instead"
        )


def _plus_bias(out: Any, bias: Any, n: int) -> Any:
    return out if bias is None else out + bias.reshape(-1, *(1,) * n)


def _conv(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, n: int) -> Any:
    name = f"conv{n}d"
    batched = _batched(x, n, name)
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.ndim == 4 and n == 1:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{n + 2}-dimensional input of size {list(x.shape if batched else (1, *x.shape))} instead"
        )
    if weight.ndim != n + 2:
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {weight.ndim - 2} values to match "
            "the convolution "
            f"dimensions, but got stride={list(spread(stride, n, 'stride'))}"
        )
    _check_types(x, weight, bias, bias_first=True)
    stride, dilation = spread(stride, n, "stride"), spread(dilation, n, "dilation")
    kernel = weight.shape[2:]
    _check_kernel(kernel)
    if isinstance(padding, str):
        if padding == "same":
            if any(s != 1 for s in stride):
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
            pads = [(t // 2, t - t // 2) for t in totals]
            if any(t % 2 for t in totals):
                once(
                    "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
                    "input be created"
                )
        elif padding == "valid":
            pads = [(0, 0)] * n
        else:
            raise RuntimeError(f"Invalid padding string: '{padding}'")
    else:
        pads = [(p, p) for p in spread(padding, n, "padding")]
    _check_numbers(stride, [p for p, _ in pads], dilation, groups)
    if not batched:
        x = x[None]
    _check_groups(weight, groups)
    if x.shape[1] != weight.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(x.shape)} "
            "to have "
            f"{weight.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    _check_bias(bias, weight, weight.shape[0], False)
    padded = [s + a + b for s, (a, b) in zip(x.shape[2:], pads, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if any(p < r for p, r in zip(padded, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_product_text(padded)}). Kernel size: ({_product_text(reach)}). "
            "Kernel size can't be "
            "greater than actual input size"
        )
    if n < 3 and max(dilation) > 1 and (kind(x) == "bool" or (kind(x) == "int" and x.dtype != jnp.int64)):
        unsupported("slow_conv_dilated<>", x)
    refuse("compute_columns3d" if n == 3 else "slow_conv2d_cpu", x, "bool")
    if x.shape[1]:
        out = _plus_bias(convolve(x, weight, stride, pads, dilation, groups), bias, n)
    else:  # of no channels PyTorch makes no channels, whatever the weight says
        sizes = [(p - r) // s + 1 for p, r, s in zip(padded, reach, stride, strict=True)]
        out = jnp.zeros((x.shape[0], 0, *sizes), x.dtype)
    return out if batched else out[0]


def _product_text(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def _conv_transpose(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
    n: int,
) -> Any:
    batched = _batched(x, n, f"conv_transpose{n}d")
    if weight.ndim == 4 and n == 1:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{n + 2}-dimensional input of size {list(x.shape if batched else (1, *x.shape))} instead"
        )
    if weight.ndim != n + 2:
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {weight.ndim - 2} values to match the convolution "
            f"dimensions, but got stride={list(spread(stride, n, 'stride'))}"
        )
    if x.dtype == jnp.bool_:
        unsupported(f"slow_conv_transpose{max(n, 2)}d_out_cpu", x)
    _check_types(x, weight, bias, transposed=True)
    stride, dilation = spread(stride, n, "stride"), spread(dilation, n, "dilation")
    padding, extra = spread(padding, n, "padding"), spread(output_padding, n, "output_padding")
    _check_numbers(stride, padding, dilation, groups)
    if any(e < 0 for e in extra):
        raise RuntimeError("negative output_padding is not supported")
    if not batched:
        x = x[None]
    _check_groups(weight, groups)
    if x.shape[1] != weight.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(x.shape)} to have "
            f"{weight.shape[0]} channels, but got {x.shape[1]} channels instead"
        )
    kernel = weight.shape[2:]
    _check_kernel(kernel)
    if kind(x) == "bool" or (kind(x) == "int" and x.dtype != jnp.int64):
        unsupported(f"slow_conv_transpose{max(n, 2)}d_out_cpu", x)
    channels = weight.shape[1] * groups
    _check_bias(bias, weight, channels, True)
    _check_output_padding(extra, stride, dilation)
    sizes = [
        (i - 1) * s - 2 * p + d * (k - 1) + e + 1
        for i, s, p, d, k, e in zip(x.shape[2:], stride, padding, dilation, kernel, extra, strict=True)
    ]
    if any(s < 1 for s in sizes):
        raise RuntimeError(
            f"Given input size per channel: ({_product_text(x.shape[2:])}). Calculated output size per channel: "
            f"({_product_text(sizes)}). Output "
            "size is too small"
        )
    # The adjoint of a convolution: spread the input by the stride, and convolve with the flipped,
    # transposed kernel.
    w = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    w = jnp.flip(jnp.swapaxes(w, 1, 2), range(3, 3 + n)).reshape(channels, weight.shape[0] // groups, *kernel)
    pads = [(d * (k - 1) - p, d * (k - 1) - p + e) for d, k, p, e in zip(dilation, kernel, padding, extra, strict=True)]
    out = convolve(x, w, (1,) * n, pads, dilation, groups, input_dilation=stride)
    out = _plus_bias(out, bias, n)
    return out if batched else out[0]


def _check_output_padding(extra: Any, stride: Any, dilation: Any) -> None:
    if all(e < s or e < d for e, s, d in zip(extra, stride, dilation, strict=True)):
        return
    n = len(extra)
    axes = {1: ["height", "width"], 2: ["height", "width"], 3: ["depth", "height", "width"]}[n]
    lists = {"output_padding": extra, "stride": stride, "dilation": dilation}
    parts = []
    for name, values in lists.items():
        values = ((0,) if name == "output_padding" else (1,)) + tuple(values) if n == 1 else values
        parts.extend(f"{name}_{axis}: {v}" for axis, v in zip(axes, values, strict=True))
    raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(parts))


def _conv_name(n: int) -> Any:
    return lambda operands, statics: "ConvolutionBackward0" if operands[0].ndim == n + 2 else "SqueezeBackward1"


_SAVED = ("input", "weight")


@op(method=False, out=False, grad=_conv_name(1), saved=_SAVED)
def conv1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
):
    """Cross-correlation of (N, C, L) with (O, C / groups, k). `padding` may be 'same' or 'valid'."""
    return _conv(input, weight, bias, stride, padding, dilation, groups, 1)


@op(method=False, out=False, grad=_conv_name(2), saved=_SAVED, channels=2)
def conv2d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
):
    """Cross-correlation of (N, C, H, W) with (O, C / groups, kH, kW). `padding` may be 'same' or 'valid'."""
    return _conv(input, weight, bias, stride, padding, dilation, groups, 2)


@op(method=False, out=False, grad=_conv_name(3), saved=_SAVED)
def conv3d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
):
    """Cross-correlation of (N, C, D, H, W) with (O, C / groups, kD, kH, kW). `padding` may be 'same' or
    'valid'.
    """
    return _conv(input, weight, bias, stride, padding, dilation, groups, 3)


@op(method=False, out=False, grad=_conv_name(1), saved=_SAVED)
def conv_transpose1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
):
    """The adjoint of `conv1d` with respect to its input: (N, C, L) with weight (C, O / groups, k)."""
    return _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


@op(method=False, out=False, grad=_conv_name(2), saved=_SAVED, channels=2)
def conv_transpose2d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
):
    """The adjoint of `conv2d` with respect to its input: (N, C, H, W) with weight (C, O / groups, kH, kW)."""
    return _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


@op(method=False, out=False, grad=_conv_name(3), saved=_SAVED)
def conv_transpose3d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
):
    """The adjoint of `conv3d` with respect to its input: (N, C, D, H, W) with weight (C, O / groups, kD,
    kH, kW).
    """
    return _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 3)


@op(method=False, out=False)
def conv_tbc(input: Array, weight: Array, bias: Array, pad: int = 0):
    """1-D convolution of (T, N, C) with (k, C, O)."""
    if input.ndim != 3 or weight.ndim != 3:
        raise RuntimeError("conv_tbc: Input and weight must have 3 dims: time, batch, in_channel")
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if bias.shape[0] != weight.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    steps = input.shape[0] + 2 * pad - weight.shape[0] + 1
    if steps < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {steps}: {[steps, input.shape[1], bias.size]}"
        )
    x, w = jnp.transpose(input, (1, 2, 0)), jnp.transpose(weight, (2, 1, 0))
    return jnp.transpose(convolve(x, w, (1,), [(pad, pad)], (1,), 1), (2, 0, 1)) + jnp.real(bias).astype(input.dtype)


# -- sliding blocks ----------------------------------------------------------------------------------------


def _two(value: Any, name: str) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    if len(value) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    return tuple(value)


def _block_counts(size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> list[int]:
    return [
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, k, d, p, t in zip(size, kernel, dilation, padding, stride, strict=True)
    ]


def _blocks(x: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """(N, C, H, W) -> (N, C * kH * kW, blocks), by strided slices."""
    counts = _block_counts(x.shape[2:], kernel, dilation, padding, stride)
    x = jnp.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    parts = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            start = (i * dilation[0], j * dilation[1])
            stop = [a + (c - 1) * t + 1 for a, c, t in zip(start, counts, stride, strict=True)]
            parts.append(lax.slice(x, (0, 0, *start), (*x.shape[:2], *stop), (1, 1, *stride)))
    stacked = jnp.stack(parts, axis=2)  # (N, C, kH * kW, rows, columns)
    return stacked.reshape(x.shape[0], x.shape[1] * len(parts), math.prod(counts))


def _show(*values: Any) -> list[str]:
    return [f"({', '.join(map(str, v))})" for v in values]


@inner_op(name="im2col", grad="Im2ColBackward0")
def _im2col(input: Array, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1):
    """Sliding blocks of (N, C, H, W) as columns: (N, C * kH * kW, blocks)."""
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    kernel, dilation, padding, stride = [_two(value, name) for name, value in given.items()]
    if min(kernel) <= 0:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got kernel_height: {kernel[0]} kernel_width: {kernel[1]}"
        )
    for name, (height, width) in (("dilation", dilation), ("stride", stride)):
        if min(height, width) <= 0:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {name}_height: {height} {name}_width: {width}"
            )
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")
    if input.ndim < 3 and (input.ndim < 2 or input.shape[1]):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got 2)"
        )
    if input.ndim not in (3, 4):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
            f"got: {list(input.shape)}"
        )
    x = input[None] if input.ndim == 3 else input
    counts = _block_counts(x.shape[2:], kernel, dilation, padding, stride)
    if min(counts) < 1:
        size, k, d, p, c = _show(x.shape[2:], kernel, dilation, padding, counts)
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={k}, dilation={d}, padding={p}, "
            "calculated shape of the array "
            f"of sliding blocks as {c}, but its components must be at least one."
        )
    refuse("im2col_out_cpu", input, "int")
    out = _blocks(x, kernel, dilation, padding, stride)
    return out[0] if input.ndim == 3 else out


def _both(value: Any) -> tuple[Any, ...]:
    """Two numbers, of one or of anything that can be gone through."""
    return tuple(value) if isinstance(value, Iterable) else (value, value)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Sliding blocks of (N, C, H, W) as columns: (N, C * kH * kW, blocks)."""
    return _im2col(input, _both(kernel_size), _both(dilation), _both(padding), _both(stride))


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Sum columns of sliding blocks into (N, C, H, W): the adjoint of `unfold`."""
    return _col2im(input, _both(output_size), _both(kernel_size), _both(dilation), _both(padding), _both(stride))


@inner_op(name="col2im", grad="Col2ImBackward0")
def _col2im(
    input: Array, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
):
    """Sum columns of sliding blocks into (N, C, H, W): the adjoint of `unfold`."""
    given = {
        "output_size": output_size,
        "kernel_size": kernel_size,
        "dilation": dilation,
        "padding": padding,
        "stride": stride,
    }
    size, kernel, dilation, padding, stride = [_two(value, name) for name, value in given.items()]
    x = input[None] if input.ndim == 2 else input
    if x.ndim != 3:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
            "dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    area = math.prod(kernel)
    o, k, d, p, s = _show(size, kernel, dilation, padding, stride)
    if x.shape[1] % area:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={x.shape[1]} and kernel_size={k}."
        )
    counts = _block_counts(size, kernel, dilation, padding, stride)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given output_size={o}, kernel_size={k}, dilation={d}, padding={p}, stride={s}, calculated shape of the array of "
            f"sliding blocks as ({counts[0]}, {counts[1]}), which is too small (non-positive)"
        )
    if x.shape[2] != math.prod(counts):
        raise RuntimeError(
            f"Given output_size={o}, kernel_size={k}, dilation={d}, padding={p}, stride={s}, expected "
            "size of input's "
            f"dimension 2 to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{math.prod(counts)}, "
            f"but got input.size(2)={x.shape[2]}."
        )
    refuse("col2im_out_cpu", input, "int")
    wide = x.astype(jnp.int32) if kind(x) == "bool" else x
    shape = jax.ShapeDtypeStruct((x.shape[0], x.shape[1] // area, *size), wide.dtype)
    (out,) = jax.linear_transpose(lambda v: _blocks(v, kernel, dilation, padding, stride), shape)(wide)
    out = out.astype(x.dtype)
    return out[0] if input.ndim == 2 else out
