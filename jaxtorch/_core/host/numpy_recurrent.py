"""The loops of recurrent layers on NumPy (`_ops/nn/recurrent_loops.py`), written out.

What these primitives stand for is a scan, which NumPy would run equation by equation, and whose transposition would have to be
traced anew for every length of sequence. Forward they compute what the scans do; backward, the transposed tangents.
Shapes are as there: T steps, B rows, H units; `valid` (T, B) keeps the states where it is 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..tuning import MULTIPLICATION, RECURRENT_GATE, RECURRENT_STEP
from .blas import on_one_thread
from .numpy_rules import rule


def is_written_out(eqn: Any) -> bool:
    """Are these rules for an equation's types? Half precision rounds in each step of the scan."""
    return np.dtype(eqn.invars[0].aval.dtype) in (np.float32, np.float64)


def _cost(eqn: Any) -> float:
    steps, rows, _ = eqn.outvars[0].aval.shape
    widths = [v.aval.shape[2] for v in (*eqn.invars, *eqn.outvars) if v.aval.ndim == 3]
    return steps * (RECURRENT_STEP + rows * max(widths) * (RECURRENT_GATE + MULTIPLICATION * min(widths)))


def _order(steps: int, reverse: bool) -> Iterable[int]:
    return reversed(range(steps)) if reverse else range(steps)


def _sigmoid(x: Any) -> Any:
    np.negative(x, x)
    np.exp(x, x)
    x += 1
    return np.reciprocal(x, x)


def _previous(states: Any, first: Any, reverse: bool) -> Any:
    """For each step, the state that it began with."""
    return np.concatenate([states[1:], first[None]] if reverse else [first[None], states[:-1]])


def _keeping(valid: tuple[Any, ...]) -> Any:
    """For each step, which rows change (B, 1); None where all do."""
    return (valid[0] != 0)[:, :, None] if valid else None


def _lstm_run(xw: Any, h: Any, c: Any, w: Any, valid: tuple[Any, ...], reverse: bool, gates: Any) -> Any:
    steps, rows, wide = xw.shape
    n = wide // 4
    hs, cs = np.empty((2, steps, rows, n), xw.dtype)
    turned, keep = w.T, _keeping(valid)

    def loop() -> None:
        nonlocal h, c
        for t in _order(steps, reverse):
            p = np.matmul(h, turned, out=None if gates is None else gates[t])
            p += xw[t]
            g = np.tanh(p[:, 2 * n : 3 * n])
            _sigmoid(p)
            p[:, 2 * n : 3 * n] = g
            g *= p[:, :n]
            new_c = c * p[:, n : 2 * n]
            new_c += g
            new_h = np.tanh(new_c)
            new_h *= p[:, 3 * n :]
            if keep is not None:
                new_h, new_c = np.where(keep[t], new_h, h), np.where(keep[t], new_c, c)
            hs[t], cs[t] = h, c = new_h, new_c

    on_one_thread(loop, rows * n * wide)
    return hs, cs, c


@rule("lstm_states", _cost)
def _lstm_states(xw: Any, h0: Any, c0: Any, w: Any, *valid: Any, reverse: bool) -> list[Any]:
    hs, _, c = _lstm_run(xw, h0, c0, w, valid, reverse, None)
    return [hs, c]


@rule("lstm", _cost)
def _lstm(xw: Any, h0: Any, c0: Any, w: Any, *valid: Any, reverse: bool) -> list[Any]:
    gates = np.empty_like(xw, order="C")
    hs, cs, _ = _lstm_run(xw, h0, c0, w, valid, reverse, gates)
    return [hs, cs, gates]


@rule("lstm_back", _cost)
def _lstm_back(g_hs: Any, g_c: Any, gates: Any, cs: Any, c0: Any, w: Any, *valid: Any, reverse: bool) -> list[Any]:
    steps, rows, n = cs.shape
    i, f, g, o = np.split(gates, 4, -1)
    tanh = np.tanh(cs)
    changes = np.empty((steps, rows, 4, n), gates.dtype)  # of the gates' arguments: first their slopes
    np.multiply(g * i, 1 - i, out=changes[:, :, 0])
    np.multiply(_previous(cs, c0, reverse) * f, 1 - f, out=changes[:, :, 1])
    np.multiply(i, 1 - g * g, out=changes[:, :, 2])
    np.multiply(tanh * o, 1 - o, out=changes[:, :, 3])
    of_c = o * (1 - tanh * tanh)
    flat, keep = changes.reshape(steps, rows, 4 * n), _keeping(valid)
    gh, gc = np.zeros((rows, n), gates.dtype), g_c

    def loop() -> None:
        nonlocal gh, gc
        for t in _order(steps, not reverse):
            gh = gh + g_hs[t]
            rest_h, rest_c = 0, 0
            if keep is not None:
                rest_h, rest_c = np.where(keep[t], 0, gh), np.where(keep[t], 0, gc)
                gh, gc = np.where(keep[t], gh, 0), np.where(keep[t], gc, 0)
            gc = gc + of_c[t] * gh
            changes[t, :, :3] *= gc[:, None]
            changes[t, :, 3] *= gh
            gc *= f[t]
            gh = np.matmul(flat[t], w)
            if keep is not None:
                gh, gc = gh + rest_h, gc + rest_c

    on_one_thread(loop, rows * n * 4 * n)
    return [flat, gh, gc]


def _gru_run(xw: Any, h: Any, w: Any, b: Any, valid: tuple[Any, ...], reverse: bool, gates: Any) -> Any:
    steps, rows, wide = xw.shape
    n = wide // 3
    hs = np.empty((steps, rows, n), xw.dtype)
    turned, keep = w.T, _keeping(valid)

    def loop() -> None:
        nonlocal h
        for t in _order(steps, reverse):
            u = np.matmul(h, turned)
            u += b
            x = xw[t]
            rz = _sigmoid(x[:, : 2 * n] + u[:, : 2 * n])
            new = rz[:, :n] * u[:, 2 * n :]
            new += x[:, 2 * n :]
            np.tanh(new, new)
            if gates is not None:
                gates[t, :, : 2 * n], gates[t, :, 2 * n : 3 * n], gates[t, :, 3 * n :] = rz, new, u[:, 2 * n :]
            new = new + rz[:, n:] * (h - new)
            hs[t] = h = new if keep is None else np.where(keep[t], new, h)

    on_one_thread(loop, rows * n * wide)
    return hs


@rule("gru_states", _cost)
def _gru_states(xw: Any, h0: Any, w: Any, b: Any, *valid: Any, reverse: bool) -> Any:
    return _gru_run(xw, h0, w, b, valid, reverse, None)


@rule("gru", _cost)
def _gru(xw: Any, h0: Any, w: Any, b: Any, *valid: Any, reverse: bool) -> list[Any]:
    gates = np.empty((*xw.shape[:2], xw.shape[2] // 3 * 4), xw.dtype)
    return [_gru_run(xw, h0, w, b, valid, reverse, gates), gates]


@rule("gru_back", _cost)
def _gru_back(g_hs: Any, gates: Any, hs: Any, h0: Any, w: Any, *valid: Any, reverse: bool) -> list[Any]:
    steps, rows, n = hs.shape
    r, z, new, un = np.split(gates, 4, -1)
    dx = np.empty((steps, rows, 3, n), gates.dtype)  # first the slopes
    of_n = (1 - z) * (1 - new * new)
    np.multiply(of_n * un * r, 1 - r, out=dx[:, :, 0])
    np.multiply((_previous(hs, h0, reverse) - new) * z, 1 - z, out=dx[:, :, 1])
    dx[:, :, 2] = of_n
    du = dx.copy()
    du[:, :, 2] *= r
    flat, keep = du.reshape(steps, rows, 3 * n), _keeping(valid)
    gh = np.zeros((rows, n), gates.dtype)

    def loop() -> None:
        nonlocal gh
        for t in _order(steps, not reverse):
            gh = gh + g_hs[t]
            rest = 0
            if keep is not None:
                rest, gh = np.where(keep[t], 0, gh), np.where(keep[t], gh, 0)
            dx[t] *= gh[:, None]
            du[t] *= gh[:, None]
            gh = gh * z[t]
            gh += np.matmul(flat[t], w)
            if keep is not None:
                gh = gh + rest

    on_one_thread(loop, rows * n * 3 * n)
    return [dx.reshape(steps, rows, 3 * n), flat, gh]


@rule("rnn", _cost)
def _rnn(xw: Any, h0: Any, w: Any, *valid: Any, relu: bool, reverse: bool) -> Any:
    hs, h = np.empty_like(xw, order="C"), h0
    turned, keep = w.T, _keeping(valid)

    def loop() -> None:
        nonlocal h
        for t in _order(len(xw), reverse):
            new = np.matmul(h, turned)
            new += xw[t]
            new = np.maximum(new, 0) if relu else np.tanh(new)
            hs[t] = h = new if keep is None else np.where(keep[t], new, h)

    on_one_thread(loop, h0.size * w.shape[0])
    return hs


@rule("rnn_back", _cost)
def _rnn_back(g_hs: Any, hs: Any, w: Any, *valid: Any, relu: bool, reverse: bool) -> list[Any]:
    changes = (hs > 0).astype(hs.dtype) if relu else 1 - hs * hs
    keep, gh = _keeping(valid), np.zeros(hs.shape[1:], hs.dtype)

    def loop() -> None:
        nonlocal gh
        for t in _order(len(hs), not reverse):
            gh = gh + g_hs[t]
            rest = 0
            if keep is not None:
                rest, gh = np.where(keep[t], 0, gh), np.where(keep[t], gh, 0)
            changes[t] *= gh
            gh = np.matmul(changes[t], w)
            if keep is not None:
                gh = gh + rest

    on_one_thread(loop, hs[0].size * w.shape[0])
    return [changes, gh]
