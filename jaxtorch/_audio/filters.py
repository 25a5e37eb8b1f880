"""Recursive filters of signals."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from .._core.define.op import Array, op
from .._core.tensor.tensor import Tensor


@op(name="_lfilter_core_loop", function=False, method=False, out=False)
def _filtered(windows: Array, coefficients: Array, padded: Array):
    """`padded` (N, C, samples + order - 1) with y[t] = x[t] - sum of a[k] y[t - k] behind its first order - 1 numbers."""
    order = coefficients.shape[1]
    before = jnp.moveaxis(padded[..., : order - 1], -1, 0)  # (order - 1, N, C), the oldest first
    current = jnp.moveaxis(windows - coefficients[:, -1:] * padded[..., order - 1 :], -1, 0)
    taps = coefficients[:, :-1].T[:, None, :]

    def step(past: Any, x: Any) -> tuple[Any, Any]:
        y = x - (past * taps).sum(0)
        return jnp.concatenate([past[1:], y[None]]) if order > 1 else past, y

    found = lax.scan(step, before, current)[1]
    return jnp.concatenate([padded[..., : order - 1], jnp.moveaxis(found, 0, -1)], -1)


def lfilter_core_loop(input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor) -> Tensor:
    """Apply a recursive filter; it is written behind the first numbers of `padded_output_waveform` (N, C, samples + order - 1).

    input_signal_windows: (N, C, samples). a_coeff_flipped: (C, order), the newest sample's coefficient last.
    """
    x, a, out = input_signal_windows, a_coeff_flipped, padded_output_waveform
    if x.ndim != 3 or a.ndim != 2 or out.ndim != 3:
        raise RuntimeError(f"_lfilter_core_loop: expected 3, 2 and 3 dimensions, got {x.ndim}, {a.ndim} and {out.ndim}")
    if not x.dtype == a.dtype == out.dtype:
        raise RuntimeError(f"_lfilter_core_loop: expected one type, got {x.dtype}, {a.dtype} and {out.dtype}")
    if (*x.shape[:2], x.shape[2] + a.shape[1] - 1) != tuple(out.shape) or a.shape[0] != x.shape[1]:
        sizes = [list(t.shape) for t in (x, a, out)]
        raise RuntimeError(f"_lfilter_core_loop: sizes {sizes[0]}, {sizes[1]} and {sizes[2]} do not fit one another")
    return out.copy_(_filtered(x, a, out))


@op(name="_overdrive_core_loop", function=False, method=False, out=False)
def _overdriven(waveform: Array, temp: Array, last_in: Array, last_out: Array):
    """(last input, last output, result)."""

    def step(state: Any, at: Any) -> tuple[Any, Any]:
        before, out = state
        out = at - before + out * 0.995
        return (at, out), out

    (before, out), all_out = lax.scan(step, (last_in, last_out), temp.T)
    return before, out, waveform * 0.5 + all_out.T * 0.75


def overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """A distortion's last stage, on (channels, samples); the last three arguments are written."""
    found = _overdriven(waveform, temp, last_in, last_out)
    return last_in.copy_(found[0]), last_out.copy_(found[1]), output_waveform.copy_(found[2])
