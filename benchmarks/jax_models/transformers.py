"""A GPT and a vision transformer, hand-written."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from models.transformers import GPT2, SMALL, VIT_HEADS, VIT_LAYERS, VIT_PATCH, VIT_WIDTH, Sizes

from .layers import (
    Net,
    State,
    Tree,
    attention,
    channels_last,
    cross_entropy,
    dense,
    gelu,
    halved,
    layer_norm,
    take_dense,
    take_kernel,
    take_norm,
)


def _adamw() -> optax.GradientTransformation:
    def matrices(params):
        return jax.tree.map(lambda p: p.ndim >= 2, params)

    return optax.adamw(3e-4, b1=0.9, b2=0.95, weight_decay=0.1, mask=matrices)


def _block_parameters(state: State, name: str) -> Tree:
    return {
        "norm1": take_norm(state, f"{name}.norm1"),
        "qkv": take_dense(state, f"{name}.attention.qkv"),
        "proj": take_dense(state, f"{name}.attention.proj"),
        "norm2": take_norm(state, f"{name}.norm2"),
        "up": take_dense(state, f"{name}.up"),
        "down": take_dense(state, f"{name}.down"),
    }


def _block(p: Tree, x: jax.Array, heads: int, causal: bool) -> jax.Array:  # (B, T, C)
    b, t, c = x.shape
    q, k, v = jnp.split(dense(p["qkv"], layer_norm(p["norm1"], x)).reshape(b, t, 3 * heads, c // heads), 3, 2)
    y = attention(q, k, v, causal)  # (B, T, H, C/H)
    x = x + dense(p["proj"], y.reshape(b, t, c))
    return x + dense(p["down"], gelu(dense(p["up"], layer_norm(p["norm2"], x))))


def gpt(sizes: Sizes = SMALL, half: bool = False) -> Net:
    def parameters(state):
        return {
            "tokens": state["tokens.weight"],
            "positions": state["positions.weight"],
            "blocks": [_block_parameters(state, f"blocks.{i}") for i in range(sizes.layers)],
            "norm": take_norm(state, "norm"),
        }

    def forward(params, statistics, indices):  # (B, T)
        params = halved(params) if half else params
        x = params["tokens"][indices] + params["positions"][: indices.shape[1]]  # (B, T, C)
        for p in params["blocks"]:
            x = _block(p, x, sizes.heads, causal=True)
        return layer_norm(params["norm"], x) @ params["tokens"].T  # (B, T, V)

    def loss(params, statistics, indices, targets):
        return cross_entropy(forward(params, statistics, indices).astype(jnp.float32), targets), statistics

    return Net(parameters, forward, loss, _adamw())


def gpt2() -> Net:
    return gpt(GPT2, half=True)


def vit() -> Net:
    patch, width = VIT_PATCH, VIT_WIDTH

    def parameters(state):
        kernel = take_kernel(state, "patches").reshape(patch * patch * 3, width)
        return {
            "patches": {"kernel": kernel, "bias": state["patches.bias"]},
            "class_token": state["class_token"],
            "positions": state["positions"],
            "blocks": [_block_parameters(state, f"blocks.{i}") for i in range(VIT_LAYERS)],
            "norm": take_norm(state, "norm"),
            "head": take_dense(state, "head"),
        }

    def forward(params, statistics, x):  # (N, 32, 32, 3)
        n, side = x.shape[0], x.shape[1] // patch
        x = x.reshape(n, side, patch, side, patch, 3).transpose(0, 1, 3, 2, 4, 5)
        x = dense(params["patches"], x.reshape(n, side * side, -1))  # (N, 64, C)
        x = jnp.concatenate([jnp.broadcast_to(params["class_token"], (n, 1, width)), x], 1)
        x = x + params["positions"]  # (N, 65, C)
        for p in params["blocks"]:
            x = _block(p, x, VIT_HEADS, causal=False)
        return dense(params["head"], layer_norm(params["norm"], x[:, 0]))

    def loss(params, statistics, x, labels):
        return cross_entropy(forward(params, statistics, x), labels), statistics

    return Net(parameters, forward, loss, _adamw(), batch=channels_last)
