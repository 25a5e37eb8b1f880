"""The benchmark's models in Equinox, written as its documentation does: `eqx.Module`, `jax.vmap` over the batch, `eqx.filter_jit`.

`Trainer(name, state)` starts from PyTorch's parameters; `step(inputs, targets)` is one training step, to which everything but
the batch is donated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from models.recurrent import LSTM_HIDDEN, LSTM_INPUT
from models.residual import RESNET_STAGES
from models.transformers import SMALL, VIT_HEADS, VIT_LAYERS, VIT_PATCH, VIT_WIDTH

CHANNELS_LAST = False
KEY = jax.random.key(0)
BATCH = "batch"

eqx_nn: Any = eqx.nn


class Loader:
    """Makes layers with PyTorch's parameters."""

    def __init__(self, state: dict[str, np.ndarray]) -> None:
        self.state = state

    def fill(self, layer: Any, name: str) -> Any:
        """The layer with the parameters of this name, in the layer's own shapes."""
        names = [n for n in ("weight", "bias") if getattr(layer, n, None) is not None]
        values = [jnp.array(self.state[f"{name}.{n}"]).reshape(getattr(layer, n).shape) for n in names]
        return eqx.tree_at(lambda x: [getattr(x, n) for n in names], layer, values)

    def linear(self, name: str) -> Any:
        outer, inner = self.state[f"{name}.weight"].shape
        return self.fill(eqx_nn.Linear(inner, outer, use_bias=f"{name}.bias" in self.state, key=KEY), name)

    def conv(self, name: str, **options: Any) -> Any:
        outer, inner, size, _ = self.state[f"{name}.weight"].shape
        bias = f"{name}.bias" in self.state
        return self.fill(eqx_nn.Conv2d(inner, outer, size, use_bias=bias, key=KEY, **options), name)

    def layer_norm(self, name: str) -> Any:
        return self.fill(eqx_nn.LayerNorm(SMALL.width, use_bias=f"{name}.bias" in self.state), name)

    def batch_norm(self, name: str) -> Any:
        width = self.state[f"{name}.weight"].shape[0]
        return self.fill(eqx_nn.BatchNorm(width, BATCH, momentum=0.9, mode="batch"), name)

    def embedding(self, name: str) -> Any:
        count, width = self.state[f"{name}.weight"].shape
        return self.fill(eqx_nn.Embedding(count, width, key=KEY), name)


class MLP(eqx.Module):
    layers: list[Any]

    def __init__(self, load: Loader) -> None:
        self.layers = [load.linear("0"), load.linear("2"), load.linear("4")]

    def __call__(self, x: jax.Array) -> jax.Array:  # (32,)
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)


class LeNet(eqx.Module):
    convs: list[Any]
    layers: list[Any]
    pool: Any

    def __init__(self, load: Loader) -> None:
        self.convs = [load.conv("conv1"), load.conv("conv2")]
        self.layers = [load.linear("fc1"), load.linear("fc2"), load.linear("fc3")]
        self.pool = eqx_nn.MaxPool2d(2, 2)

    def __call__(self, x: jax.Array) -> jax.Array:  # (3, 32, 32)
        for conv in self.convs:
            x = self.pool(jax.nn.relu(conv(x)))
        x = x.reshape(-1)  # (400,)
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)


class LanguageModel(eqx.Module):
    """The LSTM's. Equinox has one bias where PyTorch has two, so Adam moves their sum half as far."""

    tokens: Any
    cell: Any
    head: Any

    def __init__(self, load: Loader) -> None:
        self.tokens, self.head = load.embedding("tokens"), load.linear("head")
        state = load.state
        values = (
            state["lstm.weight_ih_l0"],
            state["lstm.weight_hh_l0"],
            state["lstm.bias_ih_l0"] + state["lstm.bias_hh_l0"],
        )
        cell = eqx_nn.LSTMCell(LSTM_INPUT, LSTM_HIDDEN, key=KEY)
        self.cell = eqx.tree_at(lambda c: (c.weight_ih, c.weight_hh, c.bias), cell, tuple(map(jnp.array, values)))

    def __call__(self, indices: jax.Array) -> jax.Array:  # (T,)
        def step(carry: Any, x: jax.Array) -> tuple[Any, jax.Array]:
            carry = self.cell(x, carry)
            return carry, carry[0]

        start = jnp.zeros(LSTM_HIDDEN)
        _, hidden = jax.lax.scan(step, (start, start), jax.vmap(self.tokens)(indices))
        return jax.vmap(self.head)(hidden)  # (T, V)


class ResidualBlock(eqx.Module):
    convs: list[Any]
    norms: list[Any]

    def __init__(self, inner: int, outer: int, stride: int, load: Loader, name: str) -> None:
        self.convs = [
            load.conv(f"{name}.conv1", stride=stride, padding=1),
            load.conv(f"{name}.conv2", padding=1),
        ]
        self.norms = [load.batch_norm(f"{name}.bn1"), load.batch_norm(f"{name}.bn2")]
        if stride != 1 or inner != outer:
            self.convs.append(load.conv(f"{name}.shortcut.0", stride=stride))
            self.norms.append(load.batch_norm(f"{name}.shortcut.1"))

    def __call__(self, x: jax.Array, state: Any) -> tuple[jax.Array, Any]:  # (C, H, W)
        y, state = self.norms[0](self.convs[0](x), state)
        y, state = self.norms[1](self.convs[1](jax.nn.relu(y)), state)
        if len(self.convs) == 3:
            x, state = self.norms[2](self.convs[2](x), state)
        return jax.nn.relu(x + y), state


class ResNet(eqx.Module):
    conv: Any
    norm: Any
    blocks: list[ResidualBlock]
    head: Any

    def __init__(self, load: Loader) -> None:
        self.conv, self.norm = load.conv("conv", padding=1), load.batch_norm("bn")
        self.blocks, inner = [], 64
        for outer, first in RESNET_STAGES:
            for stride in (first, 1):
                self.blocks.append(ResidualBlock(inner, outer, stride, load, f"blocks.{len(self.blocks)}"))
                inner = outer
        self.head = load.linear("fc")

    def __call__(self, x: jax.Array, state: Any) -> tuple[jax.Array, Any]:  # (3, 32, 32)
        x, state = self.norm(self.conv(x), state)
        x = jax.nn.relu(x)
        for block in self.blocks:
            x, state = block(x, state)
        return self.head(x.mean((1, 2))), state


class Block(eqx.Module):
    """The pre-norm transformer block that GPT and ViT share."""

    norms: list[Any]
    qkv: Any
    proj: Any
    up: Any
    down: Any
    heads: int = eqx.field(static=True)
    causal: bool = eqx.field(static=True)

    def __init__(self, heads: int, causal: bool, load: Loader, name: str) -> None:
        self.heads, self.causal = heads, causal
        self.norms = [load.layer_norm(f"{name}.norm1"), load.layer_norm(f"{name}.norm2")]
        self.qkv, self.proj = load.linear(f"{name}.attention.qkv"), load.linear(f"{name}.attention.proj")
        self.up, self.down = load.linear(f"{name}.up"), load.linear(f"{name}.down")

    def __call__(self, x: jax.Array) -> jax.Array:  # (T, C)
        t, c = x.shape
        q, k, v = jnp.split(jax.vmap(self.qkv)(jax.vmap(self.norms[0])(x)).reshape(t, 3 * self.heads, -1), 3, 1)
        y = jax.nn.dot_product_attention(q, k, v, is_causal=self.causal)  # (T, H, C/H)
        x = x + jax.vmap(self.proj)(y.reshape(t, c))
        wide = jax.nn.gelu(jax.vmap(self.up)(jax.vmap(self.norms[1])(x)), approximate=False)
        return x + jax.vmap(self.down)(wide)


class GPT(eqx.Module):
    tokens: Any
    positions: Any
    blocks: list[Block]
    norm: Any

    def __init__(self, load: Loader) -> None:
        self.tokens, self.positions = load.embedding("tokens"), load.embedding("positions")
        self.blocks = [Block(SMALL.heads, True, load, f"blocks.{i}") for i in range(SMALL.layers)]
        self.norm = load.layer_norm("norm")

    def __call__(self, indices: jax.Array) -> jax.Array:  # (T,)
        x = jax.vmap(self.tokens)(indices) + jax.vmap(self.positions)(jnp.arange(indices.shape[0]))  # (T, C)
        for block in self.blocks:
            x = block(x)
        return jax.vmap(self.norm)(x) @ self.tokens.weight.T  # (T, V)


class ViT(eqx.Module):
    patches: Any
    class_token: jax.Array
    positions: jax.Array
    blocks: list[Block]
    norm: Any
    head: Any

    def __init__(self, load: Loader) -> None:
        self.patches = load.conv("patches", stride=VIT_PATCH)
        self.class_token, self.positions = (jnp.array(load.state[n])[0] for n in ("class_token", "positions"))
        self.blocks = [Block(VIT_HEADS, False, load, f"blocks.{i}") for i in range(VIT_LAYERS)]
        self.norm, self.head = load.layer_norm("norm"), load.linear("head")

    def __call__(self, x: jax.Array) -> jax.Array:  # (3, 32, 32)
        x = self.patches(x).reshape(VIT_WIDTH, -1).T  # (64, C)
        x = jnp.concatenate([self.class_token, x]) + self.positions  # (65, C)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[0]))  # (10,)


def _adamw() -> optax.GradientTransformation:
    return optax.adamw(3e-4, b1=0.9, b2=0.95, weight_decay=0.1, mask=lambda p: jax.tree.map(lambda x: x.ndim >= 2, p))


BUILDERS: dict[str, tuple[Callable[[Loader], Any], Callable[[], optax.GradientTransformation]]] = {
    "mlp": (MLP, lambda: optax.sgd(0.01, momentum=0.9)),
    "lenet": (LeNet, lambda: optax.sgd(0.01, momentum=0.9)),
    "gpt": (GPT, _adamw),
    "vit": (ViT, _adamw),
    "lstm": (LanguageModel, lambda: optax.adam(1e-3)),
    "resnet18": (ResNet, lambda: optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(1e-3, momentum=0.9))),
}


class Trainer:
    """A model with its optimizer."""

    def __init__(self, name: str, state: dict[str, np.ndarray]) -> None:
        build, make_optimizer = BUILDERS[name]
        self.model, self.statistics = eqx_nn.make_with_state(build)(Loader(state))
        optimizer = make_optimizer()
        self.state = optimizer.init(eqx.filter(self.model, eqx.is_inexact_array))
        normalised = name == "resnet18"

        def loss(model: Any, statistics: Any, inputs: jax.Array, targets: jax.Array) -> tuple[jax.Array, Any]:
            if normalised:
                mapped = jax.vmap(model, axis_name=BATCH, in_axes=(0, None), out_axes=(0, None))
                logits, statistics = mapped(inputs, statistics)
            else:
                logits = jax.vmap(model)(inputs)
            return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean(), statistics

        def train_step(batch: Any, model: Any, statistics: Any, state: Any) -> tuple[Any, Any, Any, jax.Array]:
            (value, statistics), grads = eqx.filter_value_and_grad(loss, has_aux=True)(model, statistics, *batch)
            updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_inexact_array))
            return eqx.apply_updates(model, updates), statistics, state, value

        self.train_step = eqx.filter_jit(train_step, donate="all-except-first")

    def step(self, inputs: jax.Array, targets: jax.Array) -> jax.Array:
        self.model, self.statistics, self.state, loss = self.train_step(
            (inputs, targets), self.model, self.statistics, self.state
        )
        return loss

    def parameters(self) -> Any:
        return jax.tree.leaves(eqx.filter(self.model, eqx.is_inexact_array))
