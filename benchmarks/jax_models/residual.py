"""ResNet-18, hand-written; it keeps BatchNorm's running statistics too."""

from __future__ import annotations

import jax
import optax
from jax import lax
from models.residual import RESNET_STAGES

from .layers import Net, channels_last, conv, cross_entropy, dense, take_dense, take_kernel, take_norm


def resnet18() -> Net:
    strides = [s for _, stride in RESNET_STAGES for s in (stride, 1)]
    plan = [(f"blocks.{i}", s, s != 1) for i, s in enumerate(strides)]  # name, stride, shortcut by convolution

    def parameters(state):
        blocks = []
        for name, _, cut in plan:
            p = {k: take_kernel(state, f"{name}.{k}") for k in ("conv1", "conv2")}
            p |= {k: take_norm(state, f"{name}.{k}") for k in ("bn1", "bn2")}
            if cut:
                p["cut"] = take_kernel(state, f"{name}.shortcut.0")
                p["cut_bn"] = take_norm(state, f"{name}.shortcut.1")
            blocks.append(p)
        return {
            "conv": take_kernel(state, "conv"),
            "bn": take_norm(state, "bn"),
            "blocks": blocks,
            "fc": take_dense(state, "fc"),
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

    def by_running(p, s, x):
        scale = p["scale"] * lax.rsqrt(s["var"] + 1e-5)
        return x * scale + (p["bias"] - s["mean"] * scale), s

    def block(p, s, x, stride, norm):
        same = ((1, 1), (1, 1))
        new = {}
        y, new["bn1"] = norm(p["bn1"], s["bn1"], conv(p["conv1"], x, stride, same))
        y, new["bn2"] = norm(p["bn2"], s["bn2"], conv(p["conv2"], jax.nn.relu(y), 1, same))
        if "cut" in p:
            x, new["cut_bn"] = norm(p["cut_bn"], s["cut_bn"], conv(p["cut"], x, stride))
        return jax.nn.relu(x + y), new

    def logits(params, stats, x, norm):  # (N, 32, 32, 3)
        x, bn = norm(params["bn"], stats["bn"], conv(params["conv"], x, 1, ((1, 1), (1, 1))))
        x, moved = jax.nn.relu(x), {"bn": bn, "blocks": []}
        for p, s, (_, stride, _) in zip(params["blocks"], stats["blocks"], plan, strict=True):
            x, new = block(p, s, x, stride, norm)
            moved["blocks"].append(new)
        return dense(params["fc"], x.mean((1, 2))), moved

    def forward(params, stats, x):
        return logits(params, stats, x, by_running)[0]

    def loss(params, stats, x, labels):
        x, moved = logits(params, stats, x, batch_norm)
        return cross_entropy(x, labels), moved

    optimizer = optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(1e-3, momentum=0.9))
    return Net(parameters, forward, loss, optimizer, statistics, channels_last)
