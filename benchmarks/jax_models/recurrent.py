"""The LSTM language model by `lax.scan`, hand-written."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from jax import lax
from models.recurrent import LSTM_HIDDEN, LSTM_LAYERS

from .layers import Net, cross_entropy, dense, take_dense


def lstm() -> Net:
    def parameters(state):
        layers = []
        for i in range(LSTM_LAYERS):
            bias = state[f"lstm.bias_ih_l{i}"], state[f"lstm.bias_hh_l{i}"]
            layers.append(
                {
                    "input": state[f"lstm.weight_ih_l{i}"].T,
                    "hidden": state[f"lstm.weight_hh_l{i}"].T,
                    "bias": bias,  # two, as PyTorch has them: Adam moves each by itself
                }
            )
        return {"tokens": state["tokens.weight"], "layers": layers, "head": take_dense(state, "head")}

    def layer(p, x):  # (T, B, C)
        # One large product outside the scan instead of T small ones inside.
        gates = x @ p["input"] + (p["bias"][0] + p["bias"][1])  # (T, B, 4C)
        zeros = jnp.zeros((x.shape[1], LSTM_HIDDEN), x.dtype)

        def cell(carry, gate):
            h, c = carry
            i, f, g, o = jnp.split(gate + h @ p["hidden"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return lax.scan(cell, (zeros, zeros), gates)[1]

    def logits(params, indices):  # (B, T)
        x = params["tokens"][indices.T]  # (T, B, C)
        for p in params["layers"]:
            x = layer(p, x)
        return dense(params["head"], x)  # (T, B, V)

    def forward(params, statistics, indices):
        return logits(params, indices).swapaxes(0, 1)  # (B, T, V)

    def loss(params, statistics, indices, targets):
        return cross_entropy(logits(params, indices), targets.T), statistics

    return Net(parameters, forward, loss, optax.adam(1e-3))
