"""The benchmark's models in Flax NNX, written as its documentation does: `nnx.Module`, `nnx.Optimizer`, `nnx.jit`.

`Trainer(name, state)` starts from PyTorch's parameters; `step(inputs, targets)` is one training step. Images come
with channels last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from models.recurrent import LSTM_HIDDEN, LSTM_INPUT, LSTM_VOCABULARY
from models.residual import RESNET_STAGES
from models.transformers import (
    SMALL,
    VIT_HEADS,
    VIT_LAYERS,
    VIT_PATCH,
    VIT_WIDTH,
)

CHANNELS_LAST = True
State = dict[str, np.ndarray]


class Loader:
    """Puts PyTorch's parameters into layers."""

    def __init__(self, state: State) -> None:
        self.state = state

    def put(self, variable: Any, value: np.ndarray) -> None:
        if variable.shape != value.shape:
            raise ValueError(f"a parameter of shape {value.shape} for a variable of shape {variable.shape}")
        variable.set_value(jnp.array(value))

    def linear(self, layer: nnx.Linear, name: str) -> nnx.Linear:
        self.put(layer.kernel, self.state[f"{name}.weight"].T)
        if f"{name}.bias" in self.state:
            self.put(layer.bias, self.state[f"{name}.bias"])
        return layer

    def conv(self, layer: nnx.Conv, name: str) -> nnx.Conv:
        self.put(layer.kernel, self.state[f"{name}.weight"].transpose(2, 3, 1, 0))
        if f"{name}.bias" in self.state:
            self.put(layer.bias, self.state[f"{name}.bias"])
        return layer

    def norm(self, layer: Any, name: str) -> Any:
        self.put(layer.scale, self.state[f"{name}.weight"])
        if f"{name}.bias" in self.state:
            self.put(layer.bias, self.state[f"{name}.bias"])
        return layer

    def embed(self, layer: nnx.Embed, name: str) -> nnx.Embed:
        self.put(layer.embedding, self.state[f"{name}.weight"])
        return layer


class MLP(nnx.Module):
    def __init__(self, load: Loader, rngs: nnx.Rngs) -> None:
        self.fc1 = load.linear(nnx.Linear(32, 64, rngs=rngs), "0")
        self.fc2 = load.linear(nnx.Linear(64, 64, rngs=rngs), "2")
        self.fc3 = load.linear(nnx.Linear(64, 10, rngs=rngs), "4")

    def __call__(self, x: jax.Array) -> jax.Array:  # (N, 32)
        return self.fc3(nnx.relu(self.fc2(nnx.relu(self.fc1(x)))))


class LeNet(nnx.Module):
    def __init__(self, load: Loader, rngs: nnx.Rngs) -> None:
        self.conv1 = load.conv(nnx.Conv(3, 6, (5, 5), padding="VALID", rngs=rngs), "conv1")
        self.conv2 = load.conv(nnx.Conv(6, 16, (5, 5), padding="VALID", rngs=rngs), "conv2")
        state = dict(load.state)
        # PyTorch flattens (16, 5, 5), here it is (5, 5, 16).
        state["fc1.weight"] = state["fc1.weight"].reshape(120, 16, 5, 5).transpose(0, 2, 3, 1).reshape(120, 400)
        self.fc1 = Loader(state).linear(nnx.Linear(400, 120, rngs=rngs), "fc1")
        self.fc2 = load.linear(nnx.Linear(120, 84, rngs=rngs), "fc2")
        self.fc3 = load.linear(nnx.Linear(84, 10, rngs=rngs), "fc3")

    def __call__(self, x: jax.Array) -> jax.Array:  # (N, 32, 32, 3)
        x = nnx.max_pool(nnx.relu(self.conv1(x)), (2, 2), strides=(2, 2))
        x = nnx.max_pool(nnx.relu(self.conv2(x)), (2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)  # (N, 400)
        return self.fc3(nnx.relu(self.fc2(nnx.relu(self.fc1(x)))))


class LanguageModel(nnx.Module):
    """The LSTM's. Flax has one bias where PyTorch has two, so Adam moves their sum half as far."""

    def __init__(self, load: Loader, rngs: nnx.Rngs) -> None:
        self.tokens = load.embed(nnx.Embed(LSTM_VOCABULARY, LSTM_INPUT, rngs=rngs), "tokens")
        self.cell = nnx.RNN(nnx.OptimizedLSTMCell(LSTM_INPUT, LSTM_HIDDEN, rngs=rngs))
        cell, state = self.cell.cell, load.state
        load.put(cell.dense_i.kernel, state["lstm.weight_ih_l0"].T)
        load.put(cell.dense_h.kernel, state["lstm.weight_hh_l0"].T)
        load.put(cell.dense_h.bias, state["lstm.bias_ih_l0"] + state["lstm.bias_hh_l0"])
        self.head = load.linear(nnx.Linear(LSTM_HIDDEN, LSTM_VOCABULARY, rngs=rngs), "head")

    def __call__(self, indices: jax.Array) -> jax.Array:  # (B, T)
        return self.head(self.cell(self.tokens(indices)))  # (B, T, V)


class ResidualBlock(nnx.Module):
    def __init__(self, inner: int, outer: int, stride: int, load: Loader, name: str, rngs: nnx.Rngs) -> None:
        def conv(i: int, size: int, strides: int, at: str) -> nnx.Conv:
            layer = nnx.Conv(i, outer, (size, size), strides, padding=size // 2, use_bias=False, rngs=rngs)
            return load.conv(layer, f"{name}.{at}")

        def norm(at: str) -> nnx.BatchNorm:
            return load.norm(nnx.BatchNorm(outer, momentum=0.9, rngs=rngs), f"{name}.{at}")

        self.conv1, self.bn1 = conv(inner, 3, stride, "conv1"), norm("bn1")
        self.conv2, self.bn2 = conv(outer, 3, 1, "conv2"), norm("bn2")
        cut = stride != 1 or inner != outer
        self.cut = conv(inner, 1, stride, "shortcut.0") if cut else None
        self.cut_bn = norm("shortcut.1") if cut else None

    def __call__(self, x: jax.Array) -> jax.Array:  # (N, H, W, C)
        y = self.bn2(self.conv2(nnx.relu(self.bn1(self.conv1(x)))))
        if self.cut is not None and self.cut_bn is not None:
            x = self.cut_bn(self.cut(x))
        return nnx.relu(x + y)


class ResNet(nnx.Module):
    def __init__(self, load: Loader, rngs: nnx.Rngs) -> None:
        self.conv = load.conv(nnx.Conv(3, 64, (3, 3), padding=1, use_bias=False, rngs=rngs), "conv")
        self.bn = load.norm(nnx.BatchNorm(64, momentum=0.9, rngs=rngs), "bn")
        blocks, inner = [], 64
        for outer, first in RESNET_STAGES:
            for stride in (first, 1):
                blocks.append(ResidualBlock(inner, outer, stride, load, f"blocks.{len(blocks)}", rngs))
                inner = outer
        self.blocks = nnx.List(blocks)
        self.fc = load.linear(nnx.Linear(512, 10, rngs=rngs), "fc")

    def __call__(self, x: jax.Array) -> jax.Array:  # (N, 32, 32, 3)
        x = nnx.relu(self.bn(self.conv(x)))
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((1, 2)))


class Block(nnx.Module):
    """The pre-norm transformer block that GPT and ViT share."""

    def __init__(
        self, width: int, heads: int, causal: bool, bias: bool, load: Loader, name: str, rngs: nnx.Rngs
    ) -> None:
        def linear(inner: int, outer: int, at: str) -> nnx.Linear:
            return load.linear(nnx.Linear(inner, outer, use_bias=bias, rngs=rngs), f"{name}.{at}")

        def norm(at: str) -> nnx.LayerNorm:
            return load.norm(nnx.LayerNorm(width, epsilon=1e-5, use_bias=bias, rngs=rngs), f"{name}.{at}")

        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = norm("norm1"), norm("norm2")
        self.qkv, self.proj = linear(width, 3 * width, "attention.qkv"), linear(width, width, "attention.proj")
        self.up, self.down = linear(width, 4 * width, "up"), linear(4 * width, width, "down")

    def __call__(self, x: jax.Array) -> jax.Array:  # (B, T, C)
        b, t, c = x.shape
        q, k, v = jnp.split(self.qkv(self.norm1(x)).reshape(b, t, 3 * self.heads, c // self.heads), 3, 2)
        y = jax.nn.dot_product_attention(q, k, v, is_causal=self.causal)  # (B, T, H, C/H)
        x = x + self.proj(y.reshape(b, t, c))
        return x + self.down(nnx.gelu(self.up(self.norm2(x)), approximate=False))


class GPT(nnx.Module):
    def __init__(self, load: Loader, rngs: nnx.Rngs) -> None:
        self.tokens = load.embed(nnx.Embed(SMALL.vocabulary, SMALL.width, rngs=rngs), "tokens")
        self.positions = load.embed(nnx.Embed(SMALL.context, SMALL.width, rngs=rngs), "positions")
        names = [f"blocks.{i}" for i in range(SMALL.layers)]
        self.blocks = nnx.List([Block(SMALL.width, SMALL.heads, True, False, load, n, rngs) for n in names])
        self.norm = load.norm(nnx.LayerNorm(SMALL.width, epsilon=1e-5, use_bias=False, rngs=rngs), "norm")

    def __call__(self, indices: jax.Array) -> jax.Array:  # (B, T)
        x = self.tokens(indices) + self.positions(jnp.arange(indices.shape[1]))  # (B, T, C)
        for block in self.blocks:
            x = block(x)
        return self.tokens.attend(self.norm(x))  # (B, T, V)


class ViT(nnx.Module):
    def __init__(self, load: Loader, rngs: nnx.Rngs) -> None:
        size = (VIT_PATCH, VIT_PATCH)
        self.patches = load.conv(nnx.Conv(3, VIT_WIDTH, size, strides=size, padding="VALID", rngs=rngs), "patches")
        self.class_token = nnx.Param(jnp.array(load.state["class_token"]))
        self.positions = nnx.Param(jnp.array(load.state["positions"]))
        names = [f"blocks.{i}" for i in range(VIT_LAYERS)]
        self.blocks = nnx.List([Block(VIT_WIDTH, VIT_HEADS, False, True, load, n, rngs) for n in names])
        self.norm = load.norm(nnx.LayerNorm(VIT_WIDTH, epsilon=1e-5, rngs=rngs), "norm")
        self.head = load.linear(nnx.Linear(VIT_WIDTH, 10, rngs=rngs), "head")

    def __call__(self, x: jax.Array) -> jax.Array:  # (N, 32, 32, 3)
        x = self.patches(x).reshape(x.shape[0], -1, VIT_WIDTH)  # (N, 64, C)
        token = jnp.broadcast_to(self.class_token[...], (x.shape[0], 1, VIT_WIDTH))
        x = jnp.concatenate([token, x], 1) + self.positions[...]  # (N, 65, C)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])  # (N, 10)


def _adamw() -> optax.GradientTransformation:
    return optax.adamw(3e-4, b1=0.9, b2=0.95, weight_decay=0.1, mask=lambda p: jax.tree.map(lambda x: x.ndim >= 2, p))


BUILDERS: dict[str, tuple[Callable[[Loader, nnx.Rngs], nnx.Module], Callable[[], optax.GradientTransformation]]] = {
    "mlp": (MLP, lambda: optax.sgd(0.01, momentum=0.9)),
    "lenet": (LeNet, lambda: optax.sgd(0.01, momentum=0.9)),
    "gpt": (GPT, _adamw),
    "vit": (ViT, _adamw),
    "lstm": (LanguageModel, lambda: optax.adam(1e-3)),
    "resnet18": (ResNet, lambda: optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(1e-3, momentum=0.9))),
}


@nnx.jit
def train_step(model: nnx.Module, optimizer: nnx.Optimizer, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """One step, updating model and optimizer in place; returns the loss."""

    def loss(model: Any) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(model(inputs), targets).mean()

    value, grads = nnx.value_and_grad(loss)(model)
    optimizer.update(model, grads)
    return value


class Trainer:
    """A model with its optimizer."""

    def __init__(self, name: str, state: State) -> None:
        build, optimizer = BUILDERS[name]
        self.model = build(Loader(state), nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optimizer(), wrt=nnx.Param)

    def step(self, inputs: jax.Array, targets: jax.Array) -> jax.Array:
        return train_step(self.model, self.optimizer, inputs, targets)

    def parameters(self) -> Any:
        return jax.tree.leaves(nnx.state(self.model, nnx.Param))
