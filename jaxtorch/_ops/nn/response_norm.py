"""Normalisation by neighbouring channels (Krizhevsky et al., 2012), as of today and as of old."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, Number, inner_op
from ..._core.types.value import check_long
from ..common.rules import kind, scalar_name, to_float
from .pooling import check_averaged


@inner_op(grad="DivBackward0", elementwise=True)
def local_response_norm(input: Array, size: int, alpha: Number = 1e-4, beta: Number = 0.75, k: Number = 1.0):
    """Divide by (k + alpha * mean square of `size` neighbouring channels) ** beta (Krizhevsky et al., 2012)."""
    if input.ndim < 3:
        gap = " " * 25
        raise ValueError(f"Expected 3D or higher dimensionality {gap}input (got {input.ndim} dimensions)")
    if size < 1:
        shown = (("kH", 1), ("kW", 0)) if input.ndim > 3 else (("kH", 0), ("kW", 1))
        raise RuntimeError(
            "kernel size should be greater than zero, but got "
            + " ".join(["kT: " + str(size)] * (input.ndim > 3) + [f"{a}: {1 if b else size}" for a, b in shown])
        )
    check_averaged(input, 2 if input.ndim == 3 else 3)
    for number in (alpha, beta, k):
        check_long(number)
    x, square = to_float(input), input * input
    pads = [(0, 0)] * input.ndim
    pads[1] = (size // 2, (size - 1) // 2)
    padded = jnp.pad(square, pads)
    total = functools.reduce(jnp.add, [lax.slice_in_dim(padded, i, i + input.shape[1], axis=1) for i in range(size)])
    mean = (
        total / size if kind(input) == "float" else lax.div(total, jnp.full_like(total, size))
    )  # PyTorch pools integers
    return x / (mean.astype(x.dtype) * alpha + k) ** beta


@inner_op(grad="CrossMapLRN2dBackward")
def cross_map_lrn(input: Array, size: int, alpha: float, beta: float, k: float):
    """Divide (N, C, H, W) by (k + alpha * mean square of neighbouring channels) ** beta, as the old layer does: it never takes
    channel 0 out of the window again."""
    if input.ndim != 4:
        raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
    for number in (beta, k):
        check_long(number)
    if kind(input) != "float":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_name(input)}")
    channels, reach = input.shape[1], int((size - 1) / 2 + 1)
    square = input * input
    padded = jnp.pad(square, ((0, 0), (reach - 1, reach - 1), (0, 0), (0, 0)))
    total = functools.reduce(jnp.add, [lax.slice_in_dim(padded, i, i + channels, axis=1) for i in range(2 * reach - 1)])
    total = total + jnp.where(np.arange(channels)[:, None, None] >= reach, square[:, :1], 0)
    return input * (k + total * (alpha / size)) ** -beta
