"""The same models hand-written in JAX: pytrees of parameters, pure functions, optax, one donated `jax.jit`.

Each `Net` turns the PyTorch initial state into its own layout (kernels as (in, out), images and convolution
kernels with channels last) and computes the loss. This is the yardstick, so it is written to be fast, not to
resemble PyTorch: where two natural ways of writing something differed in speed, the faster one stands here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import models
import numpy as np
import optax
from jax import lax

Tree = Any
State = dict[str, np.ndarray]


@dataclass
class Net:
    """A model in JAX: how it takes PyTorch's state and batches over, its loss and its optimizer."""

    parameters: Callable[[State], Tree]
    loss: Callable[[Tree, Tree, jax.Array, jax.Array], tuple[jax.Array, Tree]]
    optimizer: optax.GradientTransformation
    statistics: Callable[[State], Tree] = lambda state: {}
    batch: Callable[[np.ndarray], np.ndarray] = lambda inputs: inputs


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def dense(p: Tree, x: jax.Array) -> jax.Array:
    y = x @ p["kernel"]
    return y + p["bias"] if "bias" in p else y


def conv(kernel: jax.Array, x: jax.Array, stride: int = 1, padding: Any = "VALID") -> jax.Array:
    return lax.conv_general_dilated(x, kernel, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(x: jax.Array) -> jax.Array:
    """2x2 maximum over (N, H, W, C), H and W even; faster than `lax.reduce_window`, forward and backward."""
    x = jnp.maximum(x[:, ::2], x[:, 1::2])
    return jnp.maximum(x[:, :, ::2], x[:, :, 1::2])


def gelu(x: jax.Array) -> jax.Array:
    """The exact GELU by erf: `jax.nn.gelu(approximate=False)` goes by erfc, which takes XLA longer on CPU."""
    return 0.5 * x * (1 + lax.erf(x * math.sqrt(0.5)))


def attention(q: jax.Array, k: jax.Array, v: jax.Array, causal: bool) -> jax.Array:  # each (B, T, H, D)
    scores = jnp.einsum("bthd,bshd->bhts", q * q.shape[-1] ** -0.5, k)
    if causal:
        scores = jnp.where(jnp.tri(q.shape[1], dtype=bool), scores, -jnp.inf)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)


def layer_norm(p: Tree, x: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    y = (x - mean) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * p["scale"]
    return y + p["bias"] if "bias" in p else y


def _dense(state: State, name: str) -> Tree:
    p = {"kernel": state[f"{name}.weight"].T}
    if f"{name}.bias" in state:
        p["bias"] = state[f"{name}.bias"]
    return p


def _norm(state: State, name: str) -> Tree:
    p = {"scale": state[f"{name}.weight"]}
    if f"{name}.bias" in state:
        p["bias"] = state[f"{name}.bias"]
    return p


def _kernel(state: State, name: str) -> np.ndarray:
    return state[f"{name}.weight"].transpose(2, 3, 1, 0)  # OIHW -> HWIO


def _channels_last(inputs: np.ndarray) -> np.ndarray:
    return inputs.transpose(0, 2, 3, 1)


def mlp() -> Net:
    def loss(params, statistics, x, labels):
        for p in params[:-1]:
            x = jax.nn.relu(dense(p, x))
        return cross_entropy(dense(params[-1], x), labels), statistics

    return Net(lambda state: [_dense(state, n) for n in "024"], loss, optax.sgd(0.01, momentum=0.9))


def lenet() -> Net:
    def parameters(state):
        fc1 = state["fc1.weight"].reshape(120, 16, 5, 5).transpose(2, 3, 1, 0).reshape(400, 120)
        return {
            "conv1": {"kernel": _kernel(state, "conv1"), "bias": state["conv1.bias"]},
            "conv2": {"kernel": _kernel(state, "conv2"), "bias": state["conv2.bias"]},
            "fc1": {"kernel": fc1, "bias": state["fc1.bias"]},
            "fc2": _dense(state, "fc2"),
            "fc3": _dense(state, "fc3"),
        }

    def loss(params, statistics, x, labels):  # (N, 32, 32, 3)
        for p in (params["conv1"], params["conv2"]):
            x = max_pool(jax.nn.relu(conv(p["kernel"], x) + p["bias"]))
        x = x.reshape(x.shape[0], -1)  # (N, 400)
        x = jax.nn.relu(dense(params["fc1"], x))
        x = jax.nn.relu(dense(params["fc2"], x))
        return cross_entropy(dense(params["fc3"], x), labels), statistics

    return Net(parameters, loss, optax.sgd(0.01, momentum=0.9), batch=_channels_last)


def _adamw() -> optax.GradientTransformation:
    def matrices(params):
        return jax.tree.map(lambda p: p.ndim >= 2, params)

    return optax.adamw(3e-4, b1=0.9, b2=0.95, weight_decay=0.1, mask=matrices)


def _block_parameters(state: State, name: str) -> Tree:
    return {
        "norm1": _norm(state, f"{name}.norm1"),
        "qkv": _dense(state, f"{name}.attention.qkv"),
        "proj": _dense(state, f"{name}.attention.proj"),
        "norm2": _norm(state, f"{name}.norm2"),
        "up": _dense(state, f"{name}.up"),
        "down": _dense(state, f"{name}.down"),
    }


def _block(p: Tree, x: jax.Array, heads: int, causal: bool) -> jax.Array:  # (B, T, C)
    b, t, c = x.shape
    q, k, v = jnp.split(dense(p["qkv"], layer_norm(p["norm1"], x)).reshape(b, t, 3 * heads, c // heads), 3, 2)
    y = attention(q, k, v, causal)  # (B, T, H, C/H)
    x = x + dense(p["proj"], y.reshape(b, t, c))
    return x + dense(p["down"], gelu(dense(p["up"], layer_norm(p["norm2"], x))))


def gpt() -> Net:
    def parameters(state):
        return {
            "tokens": state["tokens.weight"],
            "positions": state["positions.weight"],
            "blocks": [_block_parameters(state, f"blocks.{i}") for i in range(models.GPT_LAYERS)],
            "norm": _norm(state, "norm"),
        }

    def loss(params, statistics, indices, targets):  # (B, T)
        x = params["tokens"][indices] + params["positions"][: indices.shape[1]]  # (B, T, C)
        for p in params["blocks"]:
            x = _block(p, x, models.GPT_HEADS, causal=True)
        return cross_entropy(layer_norm(params["norm"], x) @ params["tokens"].T, targets), statistics

    return Net(parameters, loss, _adamw())


def vit() -> Net:
    patch, width = models.VIT_PATCH, models.VIT_WIDTH

    def parameters(state):
        kernel = _kernel(state, "patches").reshape(patch * patch * 3, width)
        return {
            "patches": {"kernel": kernel, "bias": state["patches.bias"]},
            "class_token": state["class_token"],
            "positions": state["positions"],
            "blocks": [_block_parameters(state, f"blocks.{i}") for i in range(models.VIT_LAYERS)],
            "norm": _norm(state, "norm"),
            "head": _dense(state, "head"),
        }

    def loss(params, statistics, x, labels):  # (N, 32, 32, 3)
        n, side = x.shape[0], x.shape[1] // patch
        x = x.reshape(n, side, patch, side, patch, 3).transpose(0, 1, 3, 2, 4, 5)
        x = dense(params["patches"], x.reshape(n, side * side, -1))  # (N, 64, C)
        x = jnp.concatenate([jnp.broadcast_to(params["class_token"], (n, 1, width)), x], 1)
        x = x + params["positions"]  # (N, 65, C)
        for p in params["blocks"]:
            x = _block(p, x, models.VIT_HEADS, causal=False)
        return cross_entropy(dense(params["head"], layer_norm(params["norm"], x[:, 0])), labels), statistics

    return Net(parameters, loss, _adamw(), batch=_channels_last)


def lstm() -> Net:
    def parameters(state):
        layers = []
        for i in range(models.LSTM_LAYERS):
            bias = state[f"lstm.bias_ih_l{i}"], state[f"lstm.bias_hh_l{i}"]
            layers.append(
                {
                    "input": state[f"lstm.weight_ih_l{i}"].T,
                    "hidden": state[f"lstm.weight_hh_l{i}"].T,
                    "bias": bias,  # two, as PyTorch has them: Adam moves each by itself
                }
            )
        return {"tokens": state["tokens.weight"], "layers": layers, "head": _dense(state, "head")}

    def layer(p, x):  # (T, B, C)
        # One large product outside the scan instead of T small ones inside.
        gates = x @ p["input"] + (p["bias"][0] + p["bias"][1])  # (T, B, 4C)
        zeros = jnp.zeros(x.shape[1:], x.dtype)

        def cell(carry, gate):
            h, c = carry
            i, f, g, o = jnp.split(gate + h @ p["hidden"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return lax.scan(cell, (zeros, zeros), gates)[1]

    def loss(params, statistics, indices, targets):  # (B, T)
        x = params["tokens"][indices.T]  # (T, B, C)
        for p in params["layers"]:
            x = layer(p, x)
        return cross_entropy(dense(params["head"], x), targets.T), statistics

    return Net(parameters, loss, optax.adam(1e-3))


def resnet18() -> Net:
    strides = [s for _, stride in models.RESNET_STAGES for s in (stride, 1)]
    plan = [(f"blocks.{i}", s, s != 1) for i, s in enumerate(strides)]  # name, stride, shortcut by convolution

    def parameters(state):
        blocks = []
        for name, _, cut in plan:
            p = {k: _kernel(state, f"{name}.{k}") for k in ("conv1", "conv2")}
            p |= {k: _norm(state, f"{name}.{k}") for k in ("bn1", "bn2")}
            if cut:
                p["cut"] = _kernel(state, f"{name}.shortcut.0")
                p["cut_bn"] = _norm(state, f"{name}.shortcut.1")
            blocks.append(p)
        return {
            "conv": _kernel(state, "conv"),
            "bn": _norm(state, "bn"),
            "blocks": blocks,
            "fc": _dense(state, "fc"),
        }

    def running(state, name):
        return {"mean": state[f"{name}.running_mean"], "var": state[f"{name}.running_var"]}

    def statistics(state):
        blocks = []
        for name, _, cut in plan:
            s = {k: running(state, f"{name}.{k}") for k in ("bn1", "bn2")}
            if cut:
                s["cut_bn"] = running(state, f"{name}.shortcut.1")
            blocks.append(s)
        return {"bn": running(state, "bn"), "blocks": blocks}

    def batch_norm(p, s, x):  # (N, H, W, C)
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        count = x.size // x.shape[-1]
        moved = {
            "mean": 0.9 * s["mean"] + 0.1 * lax.stop_gradient(mean),
            "var": 0.9 * s["var"] + 0.1 * lax.stop_gradient(var) * (count / (count - 1)),
        }
        scale = p["scale"] * lax.rsqrt(var + 1e-5)
        return x * scale + (p["bias"] - mean * scale), moved

    def block(p, s, x, stride):
        same = ((1, 1), (1, 1))
        new = {}
        y, new["bn1"] = batch_norm(p["bn1"], s["bn1"], conv(p["conv1"], x, stride, same))
        y, new["bn2"] = batch_norm(p["bn2"], s["bn2"], conv(p["conv2"], jax.nn.relu(y), 1, same))
        if "cut" in p:
            x, new["cut_bn"] = batch_norm(p["cut_bn"], s["cut_bn"], conv(p["cut"], x, stride))
        return jax.nn.relu(x + y), new

    def loss(params, stats, x, labels):  # (N, 32, 32, 3)
        x, bn = batch_norm(params["bn"], stats["bn"], conv(params["conv"], x, 1, ((1, 1), (1, 1))))
        x, moved = jax.nn.relu(x), {"bn": bn, "blocks": []}
        for p, s, (_, stride, _) in zip(params["blocks"], stats["blocks"], plan, strict=True):
            x, new = block(p, s, x, stride)
            moved["blocks"].append(new)
        return cross_entropy(dense(params["fc"], x.mean((1, 2))), labels), moved

    optimizer = optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(1e-3, momentum=0.9))
    return Net(parameters, loss, optimizer, statistics, _channels_last)


NETS: dict[str, Callable[[], Net]] = {
    "mlp": mlp,
    "lenet": lenet,
    "gpt": gpt,
    "vit": vit,
    "lstm": lstm,
    "resnet18": resnet18,
}


def build_step(net: Net) -> Callable[..., tuple[Tree, Tree, Tree, jax.Array]]:
    """The whole training step as one program that updates its state in place."""

    def step(params, statistics, optimizer_state, inputs, targets):
        value_and_grad = jax.value_and_grad(net.loss, has_aux=True)
        (loss, statistics), grads = value_and_grad(params, statistics, inputs, targets)
        updates, optimizer_state = net.optimizer.update(grads, optimizer_state, params)
        return optax.apply_updates(params, updates), statistics, optimizer_state, loss

    return jax.jit(step, donate_argnums=(0, 1, 2))
