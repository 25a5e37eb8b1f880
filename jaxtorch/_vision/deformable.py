"""Convolution whose taps are moved, `deform_conv2d`."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from .._core.define.op import Array, op
from .._core.tensor.tensor import Tensor
from .._ops.common.rules import kind, unsupported

_ASSERTED = (
    "Expected {} to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement "
    "request to PyTorch.)"
)


def _out(size: int, pad: int, dilation: int, kernel: int, stride: int) -> int:
    return (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1


def _sampled(x, y_at, x_at):
    """Bilinear samples of x (N, G, H * W, C), 0 outside: (N, G, places, C) for places (N, G, places) in rows and columns."""
    images, (height, width) = x
    total = 0
    low_y, low_x = jnp.floor(y_at), jnp.floor(x_at)
    part_y, part_x = y_at - low_y, x_at - low_x
    inside = (y_at > -1) & (y_at < height) & (x_at > -1) & (x_at < width)
    for up_y in (0, 1):
        for up_x in (0, 1):
            at_y, at_x = low_y.astype(jnp.int32) + up_y, low_x.astype(jnp.int32) + up_x
            weight = (part_y if up_y else 1 - part_y) * (part_x if up_x else 1 - part_x)
            there = inside & (at_y >= 0) & (at_y < height) & (at_x >= 0) & (at_x < width)
            place = jnp.where(there, at_y * width + at_x, 0)
            found = jnp.take_along_axis(images, place[..., None], 2)
            total = total + found * jnp.where(there, weight, 0)[..., None]
    return total


@op(name="_deform_conv2d", function=False, method=False, out=False, saved=["input", "weight", "offset", "mask", "bias"])
def _deform_conv2d(
    input: Array, weight: Array, offset: Array, mask: Array | None, bias: Array,
    stride: tuple, pad: tuple, dilation: tuple, groups: int, offset_groups: int,
):  # fmt: skip
    if kind(input) != "float":
        unsupported("deformable_im2col", input)
    n, c, height, width = input.shape
    outs, _, kernel_y, kernel_x = weight.shape
    out_y = _out(height, pad[0], dilation[0], kernel_y, stride[0])
    out_x = _out(width, pad[1], dilation[1], kernel_x, stride[1])
    taps = kernel_y * kernel_x
    moved = offset.reshape(n, offset_groups, taps, 2, out_y, out_x)
    dtype = offset.dtype
    first_y = (jnp.arange(out_y, dtype=dtype) * stride[0] - pad[0])[None, :, None]
    first_x = (jnp.arange(out_x, dtype=dtype) * stride[1] - pad[1])[None, None, :]
    tap_y = (jnp.arange(taps) // kernel_x * dilation[0]).astype(dtype)[:, None, None]
    tap_x = (jnp.arange(taps) % kernel_x * dilation[1]).astype(dtype)[:, None, None]
    y_at = (moved[:, :, :, 0] + first_y + tap_y).reshape(n, offset_groups, -1)
    x_at = (moved[:, :, :, 1] + first_x + tap_x).reshape(n, offset_groups, -1)
    images = input.reshape(n, offset_groups, c // offset_groups, height * width).transpose(0, 1, 3, 2)
    columns = _sampled((images, (height, width)), y_at, x_at)  # (N, G, taps * places, C / G)
    if mask is not None:
        columns = columns * mask.reshape(n, offset_groups, -1)[..., None]
    columns = columns.reshape(n, offset_groups, taps, out_y * out_x, c // offset_groups)
    columns = columns.transpose(0, 1, 4, 2, 3).reshape(n, groups, c // groups * taps, out_y * out_x)
    flat = weight.reshape(groups, outs // groups, -1)
    out = jnp.einsum("gok,ngkp->ngop", flat, columns, precision=lax.Precision.HIGHEST)
    return out.reshape(n, outs, out_y, out_x) + bias.astype(input.dtype)[:, None, None]


def _check(input, weight, offset, mask, stride, pad, dilation, groups, offset_groups, use_mask) -> None:
    """The sizes have to fit one another: RuntimeError."""

    def need(holds: bool, words: str) -> None:
        if not holds:
            raise RuntimeError(words)

    for name, of in (("input", input), ("offset", offset), ("mask", mask), ("weight", weight)):
        need(of.ndim == 4 or (name == "mask" and not use_mask), _ASSERTED.format(f"{name}_c.ndimension() == 4"))
    kernel_y, kernel_x = weight.shape[2:]
    need(kernel_y > 0 and kernel_x > 0, f"weight_h: {kernel_y} weight_w: {kernel_x}")
    need(min(stride) > 0, f"stride_h: {stride[0]} stride_w: {stride[1]}")
    need(min(pad) >= 0, f"pad_h: {pad[0]} pad_w: {pad[1]}")
    need(min(dilation) > 0, f"dil_h: {dilation[0]} dil_w: {dilation[1]}")
    need(
        weight.shape[1] * groups == input.shape[1],
        _ASSERTED.format("weight_c.size(1) * n_weight_grps == input_c.size(1)"),
    )
    need(weight.shape[0] % groups == 0, _ASSERTED.format("weight_c.size(0) % n_weight_grps == 0"))
    need(
        offset.shape[1] == offset_groups * 2 * kernel_y * kernel_x,
        f"offset.shape[1] is not valid: got: {offset.shape[1]} expected: {offset_groups * 2 * kernel_y * kernel_x}",
    )
    need(
        not use_mask or mask.shape[1] == offset_groups * kernel_y * kernel_x,
        f"mask.shape[1] is not valid: got: {mask.shape[1]} expected: {offset_groups * kernel_y * kernel_x}",
    )
    need(
        input.shape[1] % offset_groups == 0,
        f"{input.shape[1]} channels cannot be cut into {offset_groups} offset groups",
    )
    need(offset.shape[0] == input.shape[0], "invalid batch size of offset")
    sizes = [_out(*of) for of in zip(input.shape[2:], pad, dilation, (kernel_y, kernel_x), stride, strict=True)]
    for name, moves in (("offset", offset), ("mask", mask))[: 1 + use_mask]:
        need(
            tuple(moves.shape[2:]) == tuple(sizes),
            f"{name} output dims: ({moves.shape[2]}, {moves.shape[3]}) - computed output dims: ({sizes[0]}, {sizes[1]})",
        )
    need(min(sizes) > 0, f"Calculated output size too small - out_h: {sizes[0]} out_w: {sizes[1]}")


def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int, pad_w: int,
    dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    """Convolution of (N, C, H, W) that reads where `offset` (N, 2 * offset_groups * taps, out H, out W) moves its taps, bilinearly.

    mask: factors of what is read (Dai et al., 2017; Zhu et al., 2019).
    """
    stride, pad, dilation = (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w)
    _check(input, weight, offset, mask, stride, pad, dilation, groups, offset_groups, use_mask)
    if not input.shape[0]:
        sizes = [_out(*of) for of in zip(input.shape[2:], pad, dilation, weight.shape[2:], stride, strict=True)]
        return input.sum() * 0 + input.new_zeros((0, weight.shape[0], *sizes))
    return _deform_conv2d(
        input, weight, offset, mask if use_mask else None, bias, stride, pad, dilation, int(groups), int(offset_groups)
    )
