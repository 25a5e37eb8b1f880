"""The loops of recurrent layers: `lax.scan` with hand-written tangents.

What JAX derives for a scan keeps every intermediate of every step, and adds the weight's gradient up step by step. Here the tangent
of a loop is a linear loop whose coefficients are elementwise functions of the gates and the states; what multiplies the weight's
tangent stands outside it. Transposed, that is a backward pass which keeps gates and states only, and whose weight gradients are one
matrix product over all steps. As a tangent rule it serves forward mode and derivatives of any order.

Shapes: xw (T, B, gates * H), states (B, H), valid (T, B) or None: where it is 0 the states stay as they were. In float32 on the CPU
the loops are kernels in C++, except those of LSTMs with projections.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..._core import native
from ..._core.compile import embedding_products
from ..common.primitives import linear_in, natively, primitive
from ..common.product_primitives import plus_row, times_transposed


def previous(states: Any, first: Any, reverse: bool) -> Any:
    """For each step, the state that it began with."""
    n = states.shape[0]
    rest = lax.slice_in_dim(states, 1, n) if reverse else lax.slice_in_dim(states, 0, n - 1)
    return jnp.concatenate([rest, first[None]] if reverse else [first[None], rest])


def last(states: Any, reverse: bool) -> Any:
    """The states after the last step: of the first time if it goes backward. Without `states[-1]`, which JAX spells otherwise
    for a length that stands for others."""
    n = 1 if reverse else states.shape[0]
    return lax.squeeze(lax.slice_in_dim(states, n - 1, n), (0,))


def times_weight(change: Any, w: Any) -> Any:
    """`change @ w.T` in a tangent's loop, as a product that becomes `... @ w` when transposed: `w` is read as it lies."""
    return lax.dot_general(change, w, (((1,), (1,)), ((), ())))


def _given(valid: Any) -> tuple[Any, ...]:
    """`valid` as the primitives take it: an argument that may be left out."""
    return () if valid is None else (valid,)


def _kept(valid: Any, new: Any, old: Any) -> Any:
    return new if valid is None else jnp.where(valid[:, None] != 0, new, old)


# -- LSTM (Hochreiter and Schmidhuber, 1997; projections: Sak, Senior and Beaufays, 2014) -----------------------------------


def lstm_gates(p: Any) -> tuple[Any, Any, Any, Any]:
    """The gates i, f, g, o from their arguments (..., 4 * H)."""
    i, f, g, o = jnp.split(p, 4, axis=-1)
    return jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)


def _lstm_run(xw: Any, h0: Any, c0: Any, w: Any, w_hr: Any, valid: Any, reverse: bool) -> Any:
    def step(carry: Any, xs: Any) -> Any:
        h, c = carry
        x, ok = xs
        i, f, g, o = gates = lstm_gates(x + h @ w.T)
        new_c = f * c + i * g
        new_h = o * jnp.tanh(new_c)
        if w_hr is not None:
            new_h = new_h @ w_hr.T
        h, c = _kept(ok, new_h, h), _kept(ok, new_c, c)
        return (h, c), (h, c, gates)

    return lax.scan(step, (h0, c0), (xw, valid), reverse=reverse)


def _lstm_tangent_run(
    dp: Any, dh0: Any, dc0: Any, w_hr: Any, dm: Any, valid: Any, gates: Any, cs: Any, c0: Any, w: Any, reverse: bool
) -> Any:
    """The tangents of all hidden states and of the last cell state, from those of the gates' arguments and of the first states."""
    i, f, g, o = gates
    t = jnp.tanh(cs)
    coefficients = (
        g * i * (1 - i),
        previous(cs, c0, reverse) * f * (1 - f),
        i * (1 - g * g),
        f,
        t * o * (1 - o),
        o * (1 - t * t),
    )

    def step(carry: Any, xs: Any) -> Any:
        dh, dc = carry
        dp, dm, ok, (of_i, of_f, of_g, keep, of_o, of_c) = xs
        di, df, dg, do = jnp.split(dp + times_weight(dh, w), 4, axis=-1)
        new_dc = of_i * di + of_f * df + of_g * dg + keep * dc
        new_dh = of_o * do + of_c * new_dc
        if w_hr is not None:
            new_dh = new_dh @ w_hr.T + dm
        dh, dc = _kept(ok, new_dh, dh), _kept(ok, new_dc, dc)
        return (dh, dc), dh

    (_, dc_last), dhs = lax.scan(step, (dh0, dc0), (dp, dm, valid, coefficients), reverse=reverse)
    return dhs, dc_last


# Without projections, as primitives.


def _plain_run(xw: Any, h0: Any, c0: Any, w: Any, valid: Any = None, *, reverse: bool) -> Any:
    """All hidden states, all cell states, and the gates side by side."""
    _, (hs, cs, gates) = _lstm_run(xw, h0, c0, w, None, valid, reverse)
    return [hs, cs, jnp.concatenate(gates, -1)]


def _plain_tangent(
    dp: Any, dh0: Any, dc0: Any, gates: Any, cs: Any, c0: Any, w: Any, valid: Any = None, *, reverse: bool
) -> Any:
    parts = jnp.split(gates, 4, -1)
    return list(_lstm_tangent_run(dp, dh0, dc0, None, None, valid, parts, cs, c0, w, reverse))


def _plain_back(g_hs: Any, g_c: Any, gates: Any, cs: Any, c0: Any, w: Any, *valid: Any, reverse: bool) -> Any:
    def forward(dp: Any, dh0: Any, dc0: Any) -> Any:
        return _plain_tangent(dp, dh0, dc0, gates, cs, c0, w, *valid, reverse=reverse)

    return _transposed(forward, (gates, g_hs[0], g_c), [g_hs, g_c])


def _plain_states(xw: Any, h0: Any, c0: Any, w: Any, valid: Any = None, *, reverse: bool) -> Any:
    """All hidden states and the last cell state."""
    (_, c), (hs, _, _) = _lstm_run(xw, h0, c0, w, None, valid, reverse)
    return [hs, c]


def _transposed(fn: Any, like: Any, cotangents: Any) -> Any:
    return list(jax.linear_transpose(fn, *like)(cotangents))


_lstm_states_p = primitive("lstm_states", _plain_states, natively(native.lstm_states), several=True)
linear_in(_lstm_states_p, _plain_states, 0)
_lstm_p = primitive("lstm", _plain_run, natively(native.lstm), several=True)
_lstm_tangent_p = primitive("lstm_tangent", _plain_tangent, several=True)
_lstm_back_p = primitive("lstm_back", _plain_back, natively(native.lstm_back), several=True)
linear_in(_lstm_p, _plain_run, 0)
linear_in(_lstm_tangent_p, _plain_tangent, 3, lambda gs, *rest, reverse: _lstm_back_p.bind(*gs, *rest, reverse=reverse))
linear_in(_lstm_back_p, _plain_back, 2)


@functools.partial(jax.custom_jvp, nondiff_argnums=(6,))
def lstm_scan(xw: Any, h0: Any, c0: Any, w: Any, w_hr: Any, valid: Any, reverse: bool) -> Any:
    """All hidden states (T, B, H or projection), and the last cell state."""
    if w_hr is None and xw.shape[0]:
        return tuple(_lstm_states_p.bind(xw, h0, c0, w, *_given(valid), reverse=reverse))
    (_, c), (hs, _, _) = _lstm_run(xw, h0, c0, w, w_hr, valid, reverse)
    return hs, c


@lstm_scan.defjvp
def _lstm_tangent(reverse: bool, primals: Any, tangents: Any) -> Any:
    xw, h0, c0, w, w_hr, valid = primals
    dxw, dh0, dc0, dw, dw_hr, _ = tangents
    if w_hr is None and xw.shape[0]:
        hs, cs, gates = _lstm_p.bind(xw, h0, c0, w, *_given(valid), reverse=reverse)
        dp = dxw + times_transposed(previous(hs, h0, reverse), dw)
        dhs, dc_last = _lstm_tangent_p.bind(dp, dh0, dc0, gates, cs, c0, w, *_given(valid), reverse=reverse)
        return (hs, last(cs, reverse)), (dhs, dc_last)
    (_, c_last), (hs, cs, gates) = _lstm_run(xw, h0, c0, w, w_hr, valid, reverse)
    dp = dxw + previous(hs, h0, reverse) @ dw.T
    dm = None if w_hr is None else (gates[3] * jnp.tanh(cs)) @ dw_hr.T
    return (hs, c_last), _lstm_tangent_run(dp, dh0, dc0, w_hr, dm, valid, gates, cs, c0, w, reverse)


# -- GRU (Cho et al., 2014; the reset gate acts on the product, as in cuDNN) ------------------------------------------------


def gru_gates(x: Any, u: Any) -> tuple[Any, Any, Any, Any]:
    """The gates r, z, n from the input's and the state's parts (..., 3 * H); and the state's part of n."""
    xr, xz, xn = jnp.split(x, 3, axis=-1)
    ur, uz, un = jnp.split(u, 3, axis=-1)
    r, z = jax.nn.sigmoid(xr + ur), jax.nn.sigmoid(xz + uz)
    return r, z, jnp.tanh(xn + r * un), un


def _gru_run(xw: Any, h0: Any, w: Any, b: Any, valid: Any = None, *, reverse: bool) -> Any:
    """All hidden states; r, z, n and the state's part of n side by side."""

    def step(h: Any, xs: Any) -> Any:
        x, ok = xs
        r, z, n, un = gru_gates(x, h @ w.T + b)
        h = _kept(ok, n + z * (h - n), h)
        return h, [h, jnp.concatenate([r, z, n, un], -1)]

    return lax.scan(step, h0, (xw, valid), reverse=reverse)[1]


def _gru_states(xw: Any, h0: Any, w: Any, b: Any, *valid: Any, reverse: bool) -> Any:
    return _gru_run(xw, h0, w, b, *valid, reverse=reverse)[0]


def _gru_tangent_run(
    dxw: Any, du: Any, dh0: Any, gates: Any, hs: Any, h0: Any, w: Any, valid: Any = None, *, reverse: bool
) -> Any:
    """The tangents of all hidden states, from those of xw, of the products with the states, and of h0."""
    r, z, n, un = jnp.split(gates, 4, -1)
    of_n = (1 - z) * (1 - n * n)
    of_z = (previous(hs, h0, reverse) - n) * z * (1 - z)
    coefficients = (of_n * un * r * (1 - r), of_z, of_n, of_n * r, z)

    def step(dh: Any, xs: Any) -> Any:
        dx, du, ok, (of_r, of_z, of_n, of_un, keep) = xs
        du = du + times_weight(dh, w)
        xr, xz, xn = jnp.split(dx, 3, axis=-1)
        ur, uz, dun = jnp.split(du, 3, axis=-1)
        new = of_r * (xr + ur) + of_z * (xz + uz) + of_n * xn + of_un * dun + keep * dh
        dh = _kept(ok, new, dh)
        return dh, dh

    return lax.scan(step, dh0, (dxw, du, valid, coefficients), reverse=reverse)[1]


def _gru_back(g_hs: Any, gates: Any, hs: Any, h0: Any, w: Any, *valid: Any, reverse: bool) -> Any:
    def forward(dxw: Any, du: Any, dh0: Any) -> Any:
        return _gru_tangent_run(dxw, du, dh0, gates, hs, h0, w, *valid, reverse=reverse)

    like = jax.ShapeDtypeStruct((*hs.shape[:2], w.shape[0]), hs.dtype)
    return _transposed(forward, (like, like, h0), g_hs)


_gru_states_p = primitive("gru_states", _gru_states, natively(native.gru_states))
linear_in(_gru_states_p, _gru_states, 0)
_gru_p = primitive("gru", _gru_run, natively(native.gru), several=True)
_gru_tangent_p = primitive("gru_tangent", _gru_tangent_run)
_gru_back_p = primitive("gru_back", _gru_back, natively(native.gru_back), several=True)
linear_in(_gru_p, _gru_run, 0)
linear_in(_gru_tangent_p, _gru_tangent_run, 3, lambda g, *rest, reverse: _gru_back_p.bind(g, *rest, reverse=reverse))
linear_in(_gru_back_p, _gru_back, 1)


@functools.partial(jax.custom_jvp, nondiff_argnums=(5,))
def gru_scan(xw: Any, h0: Any, w: Any, b: Any, valid: Any, reverse: bool) -> Any:
    """All hidden states (T, B, H)."""
    return _gru_states_p.bind(xw, h0, w, b, *_given(valid), reverse=reverse)


@gru_scan.defjvp
def _gru_tangent(reverse: bool, primals: Any, tangents: Any) -> Any:
    xw, h0, w, b, valid = primals
    dxw, dh0, dw, db, _ = tangents
    hs, gates = _gru_p.bind(xw, h0, w, b, *_given(valid), reverse=reverse)
    du = plus_row(times_transposed(previous(hs, h0, reverse), dw), db)
    return hs, _gru_tangent_p.bind(dxw, du, dh0, gates, hs, h0, w, *_given(valid), reverse=reverse)


# -- Elman network (1990) ---------------------------------------------------------------------------------------------------


def activation_of(nonlinearity: str) -> Any:
    """tanh or relu by name."""
    return jnp.tanh if nonlinearity == "tanh" else lambda x: jnp.maximum(x, 0)


def _rnn_run(xw: Any, h0: Any, w: Any, valid: Any = None, *, relu: bool, reverse: bool) -> Any:
    """All hidden states."""
    activation = activation_of("relu" if relu else "tanh")

    def step(h: Any, xs: Any) -> Any:
        x, ok = xs
        h = _kept(ok, activation(x + h @ w.T), h)
        return h, h

    return lax.scan(step, h0, (xw, valid), reverse=reverse)[1]


def _rnn_tangent_run(dp: Any, dh0: Any, hs: Any, w: Any, valid: Any = None, *, relu: bool, reverse: bool) -> Any:
    slope = (hs > 0).astype(hs.dtype) if relu else 1 - hs * hs

    def step(dh: Any, xs: Any) -> Any:
        dp, ok, slope = xs
        dh = _kept(ok, slope * (dp + times_weight(dh, w)), dh)
        return dh, dh

    return lax.scan(step, dh0, (dp, valid, slope), reverse=reverse)[1]


def _rnn_back(g_hs: Any, hs: Any, w: Any, *valid: Any, **params: bool) -> Any:
    def forward(dp: Any, dh0: Any) -> Any:
        return _rnn_tangent_run(dp, dh0, hs, w, *valid, **params)

    return _transposed(forward, (hs, hs[0]), g_hs)


_rnn_p = primitive("rnn", _rnn_run, natively(native.rnn))
_rnn_tangent_p = primitive("rnn_tangent", _rnn_tangent_run)
_rnn_back_p = primitive("rnn_back", _rnn_back, natively(native.rnn_back), several=True)
linear_in(_rnn_p, _rnn_run, 0)
linear_in(_rnn_tangent_p, _rnn_tangent_run, 2, lambda g, *rest, **params: _rnn_back_p.bind(g, *rest, **params))
linear_in(_rnn_back_p, _rnn_back, 1)


@functools.partial(jax.custom_jvp, nondiff_argnums=(4, 5))
def rnn_scan(xw: Any, h0: Any, w: Any, valid: Any, nonlinearity: str, reverse: bool) -> Any:
    """All hidden states (T, B, H)."""
    return _rnn_p.bind(xw, h0, w, *_given(valid), relu=nonlinearity == "relu", reverse=reverse)


@rnn_scan.defjvp
def _rnn_tangent(nonlinearity: str, reverse: bool, primals: Any, tangents: Any) -> Any:
    xw, h0, w, valid = primals
    dxw, dh0, dw, _ = tangents
    params = {"relu": nonlinearity == "relu", "reverse": reverse}
    hs = _rnn_p.bind(xw, h0, w, *_given(valid), **params)
    dp = dxw + times_transposed(previous(hs, h0, reverse), dw)
    return hs, _rnn_tangent_p.bind(dp, dh0, hs, w, *_given(valid), **params)


# -- inputs that are rows of a table ----------------------------------------------------------------------------------------


def _read_natively(kernel: Any) -> Any:
    """For `tables.READERS`: the kernel with an index, where it takes these arrays."""

    def run(table: Any, index: Any, *rest: Any, **params: Any) -> Any:
        return kernel(table, *rest, index=index, **params) if native.fits(table, *rest) else None

    return run


for _name in ("lstm", "lstm_states", "gru", "gru_states", "rnn"):
    embedding_products.READERS[_name] = _read_natively(getattr(native, _name))
