"""A multilayer perceptron and LeNet, hand-written."""

from __future__ import annotations

import jax
import optax

from .layers import Net, channels_last, conv, cross_entropy, dense, max_pool, take_dense, take_kernel


def mlp() -> Net:
    def forward(params, statistics, x):
        for p in params[:-1]:
            x = jax.nn.relu(dense(p, x))
        return dense(params[-1], x)

    def loss(params, statistics, x, labels):
        return cross_entropy(forward(params, statistics, x), labels), statistics

    return Net(lambda state: [take_dense(state, n) for n in "024"], forward, loss, optax.sgd(0.01, momentum=0.9))


def lenet() -> Net:
    def parameters(state):
        fc1 = state["fc1.weight"].reshape(120, 16, 5, 5).transpose(2, 3, 1, 0).reshape(400, 120)
        return {
            "conv1": {"kernel": take_kernel(state, "conv1"), "bias": state["conv1.bias"]},
            "conv2": {"kernel": take_kernel(state, "conv2"), "bias": state["conv2.bias"]},
            "fc1": {"kernel": fc1, "bias": state["fc1.bias"]},
            "fc2": take_dense(state, "fc2"),
            "fc3": take_dense(state, "fc3"),
        }

    def forward(params, statistics, x):  # (N, 32, 32, 3)
        for p in (params["conv1"], params["conv2"]):
            x = max_pool(jax.nn.relu(conv(p["kernel"], x) + p["bias"]))
        x = x.reshape(x.shape[0], -1)  # (N, 400)
        x = jax.nn.relu(dense(params["fc1"], x))
        x = jax.nn.relu(dense(params["fc2"], x))
        return dense(params["fc3"], x)

    def loss(params, statistics, x, labels):
        return cross_entropy(forward(params, statistics, x), labels), statistics

    return Net(parameters, forward, loss, optax.sgd(0.01, momentum=0.9), batch=channels_last)
