"""Padding, in all of PyTorch's modes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, Number, Sizes, inner_op, op
from ..._core.define.signature import need_kind
from ..._core.dispatch.number_limits import check_number
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.types import dtypes
from ..._core.types.size import kind_name, need_sizes, refuse_size
from ..common.rules import refuse


def _pairs(pad: Any, ndim: int) -> list[tuple[int, int]]:
    """(low, high) for each dimension, from PyTorch's flat list that starts at the last one."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


@op(method=False, out=False, channels=1)
def constant_pad_nd(input: Array, pad: Sizes, value: Number = 0):
    """Add `value` at the ends of the last dimensions; negative sizes take elements away."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            "padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    pairs = _pairs(pad, input.ndim)
    for size, (low, high) in zip(input.shape, pairs, strict=True):
        if size + min(low, 0) + min(high, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    if any(low > 0 or high > 0 for low, high in pairs):
        check_number(value, dtypes.from_numpy(input.dtype))
    fill = jnp.asarray(np.asarray(value).astype(input.dtype))
    return lax.pad(input, fill, [(low, high, 0) for low, high in pairs])


def _sources(mode: str, size: int, low: int, high: int) -> Any:
    """Which element of a dimension each element of the padded one repeats."""
    if mode == "circular":  # what negative padding takes away is gone before the rest is wrapped around
        left = np.arange(max(-low, 0), size - max(-high, 0))
        return left[np.arange(-max(low, 0), len(left) + max(high, 0)) % len(left)]
    index = np.arange(-low, size + high)
    if mode == "replicate":
        return np.clip(index, 0, size - 1)
    index = np.abs(index)
    return np.where(index >= size, 2 * (size - 1) - index, index)


def _pad_name(operands: Any, statics: Any) -> str:
    pad, mode = statics
    if mode == "circular":
        return "CopySlices"
    return f"{'Reflection' if mode == 'reflect' else 'Replication'}Pad{len(pad) // 2}DBackward0"


def _pad_saved(operands: Any, statics: Any) -> tuple[str, ...]:
    return () if statics[1] == "circular" else ("input",)


def _check_reflections(input: Array, pairs: Any) -> None:
    """RuntimeError for the last dimension that has fewer elements than its padding and one more."""
    for axis, (low, high) in reversed(list(enumerate(pairs))):
        size = input.shape[axis]
        if (low, high) != (0, 0) and (low >= size or high >= size):
            raise RuntimeError(
                f"Argument #{2 * (input.ndim - axis) + 2}: Padding size should be less than the corresponding input "
                f"dimension, but got: padding ({low}, {high}) at dimension {axis} of input {list(input.shape)}"
            )


@inner_op(grad=_pad_name, saved=_pad_saved, channels=1)
def _repeat_pad(input: Array, pad: Any, mode: str):
    n = len(pad) // 2
    if len(pad) > 2 * input.ndim and not len(pad) % 2:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    if len(pad) % 2 or not 1 <= n <= 3 or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode != "circular" and 0 in input.shape[int(input.ndim == n + 2) :]:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    pairs = _pairs(pad, input.ndim)
    if mode == "reflect":
        _check_reflections(input, pairs)
    if mode != "circular":
        refuse(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{n}d", input, "bool")
    out = input
    for axis, (low, high) in enumerate(pairs):
        size = input.shape[axis]
        if low == 0 and high == 0:
            continue
        if mode == "circular" and (low > size or high > size):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        length, others = size + low + high, [n + a + b for n, (a, b) in zip(input.shape[-n:], pairs[-n:], strict=True)]
        if size and length == 0 and mode != "circular" and max(others) > 0:  # PyTorch looks at the largest only
            return jnp.zeros([n + a + b for n, (a, b) in zip(input.shape, pairs, strict=True)], input.dtype)
        if size == 0 or length < 1 or (mode == "circular" and size + min(low, 0) + min(high, 0) < 1):
            raise RuntimeError(
                f"input (size {size} in dimension {axis}) is too small for padding ({low}, {high}) with mode {mode}"
            )
        out = jnp.take(out, _sources(mode, size, low, high), axis=axis)
    return out


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad the last dimensions; `pad` lists (low, high) from the last one backwards.

    mode: 'constant' (with `value`, 0 by default), 'reflect', 'replicate' or 'circular'.
    """
    need_tensor(input, "pad")
    if not isinstance(pad, (list, tuple)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {kind_name(pad)}")
    need_kind("pad", "mode", "str", mode)
    pad = need_sizes("pad", "pad", tuple(pad), 2)
    for place, size in enumerate(pad):
        if size.__class__ is not int and ((size.__class__ is bool and not place) or not hasattr(size, "__index__")):
            refuse_size("pad", "pad", 2, place, size)
    if value is not None and value.__class__ is not float:
        need_kind("pad", "value", "float", value)
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else float(value) if value.__class__ is int else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    padded = _repeat_pad(input, pad, mode)
    if mode == "circular":
        padded._layout = None  # PyTorch puts it together in a new contiguous tensor
    return padded
