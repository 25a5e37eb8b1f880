"""The same models hand-written in JAX: pytrees of parameters, pure functions, optax, one donated `jax.jit`.

Each `Net` turns the PyTorch initial state into its own layout (kernels as (in, out), images and convolution
kernels with channels last) and computes the loss. This is the yardstick, so it is written to be fast, not to
resemble PyTorch: where two natural ways of writing something differed in speed, the faster one stands here.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import optax

from .layers import Net, Tree
from .recurrent import lstm
from .residual import resnet18, resnet50
from .small import lenet, mlp
from .transformers import gpt, gpt2, vit

NETS: dict[str, Callable[[], Net]] = {
    "mlp": mlp,
    "lenet": lenet,
    "gpt": gpt,
    "vit": vit,
    "lstm": lstm,
    "resnet18": resnet18,
    "gpt2": gpt2,
    "resnet50": resnet50,
}


def build_step(net: Net, whole: bool = True) -> Callable[..., tuple[Tree, Tree, Tree, jax.Array]]:
    """The whole training step as one program that updates its state in place; else operation by operation."""

    def step(params, statistics, optimizer_state, inputs, targets):
        value_and_grad = jax.value_and_grad(net.loss, has_aux=True)
        (loss, statistics), grads = value_and_grad(params, statistics, inputs, targets)
        updates, optimizer_state = net.optimizer.update(grads, optimizer_state, params)
        return optax.apply_updates(params, updates), statistics, optimizer_state, loss

    return jax.jit(step, donate_argnums=(0, 1, 2)) if whole else step
