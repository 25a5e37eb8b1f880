"""What the hand-written models share: the type of a model, layers, and how each takes PyTorch's parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

Tree = Any
State = dict[str, np.ndarray]


@dataclass
class Net:
    """A model in JAX: how it takes PyTorch's state and batches over, its loss and its optimizer.

    `forward` is inference: parameters, statistics and inputs to the outputs, laid out as PyTorch's.
    """

    parameters: Callable[[State], Tree]
    forward: Callable[[Tree, Tree, jax.Array], jax.Array]
    loss: Callable[[Tree, Tree, jax.Array, jax.Array], tuple[jax.Array, Tree]]
    optimizer: optax.GradientTransformation
    statistics: Callable[[State], Tree] = lambda state: {}
    batch: Callable[[np.ndarray], np.ndarray] = lambda inputs: inputs


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def dense(p: Tree, x: jax.Array) -> jax.Array:
    y = x @ p["kernel"]
    return y + p["bias"].astype(y.dtype) if "bias" in p else y


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
    if q.dtype == jnp.bfloat16:
        return jax.nn.dot_product_attention(q, k, v, is_causal=causal, implementation="cudnn")
    scores = jnp.einsum("bthd,bshd->bhts", q * q.shape[-1] ** -0.5, k)
    if causal:
        scores = jnp.where(jnp.tri(q.shape[1], dtype=bool), scores, -jnp.inf)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)


def layer_norm(p: Tree, x: jax.Array) -> jax.Array:
    kind = x.dtype
    x = x.astype(jnp.float32)
    x = x - x.mean(-1, keepdims=True)
    y = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p["scale"]  # faster than by `jnp.var`
    return (y + p["bias"] if "bias" in p else y).astype(kind)


def halved(tree: Tree) -> Tree:
    """Matrices and kernels in bfloat16; norms and biases stay as they are."""
    return jax.tree.map(lambda p: p.astype(jnp.bfloat16) if p.ndim >= 2 else p, tree)


def take_dense(state: State, name: str) -> Tree:
    p = {"kernel": state[f"{name}.weight"].T}
    if f"{name}.bias" in state:
        p["bias"] = state[f"{name}.bias"]
    return p


def take_norm(state: State, name: str) -> Tree:
    p = {"scale": state[f"{name}.weight"]}
    if f"{name}.bias" in state:
        p["bias"] = state[f"{name}.bias"]
    return p


def take_kernel(state: State, name: str) -> np.ndarray:
    return state[f"{name}.weight"].transpose(2, 3, 1, 0)  # OIHW -> HWIO


def channels_last(inputs: np.ndarray) -> np.ndarray:
    return inputs.transpose(0, 2, 3, 1)
