"""ResNet-18 and ResNet-50, hand-written; they keep BatchNorm's running statistics too."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from models.residual import BOTTLENECK_STAGES, RESNET_STAGES

from .layers import Net, channels_last, conv, cross_entropy, dense, halved, take_dense, take_kernel, take_norm


class _Block(NamedTuple):
    """Where a block's parameters stand, its convolutions as (stride, padding), and whether its shortcut is one."""

    name: str
    convolutions: tuple[tuple[int, int], ...]
    cut: bool


def resnet18() -> Net:
    strides = [s for _, stride in RESNET_STAGES for s in (stride, 1)]
    plan = [_Block(f"blocks.{i}", ((s, 1), (1, 1)), s != 1) for i, s in enumerate(strides)]
    optimizer = optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(1e-3, momentum=0.9))
    return _resnet(plan, ((1, 1), (1, 1)), 1, False, False, optimizer)


def resnet50() -> Net:
    first = [(stride if i == 0 else 1, i == 0) for _, count, stride in BOTTLENECK_STAGES for i in range(count)]
    plan = [_Block(f"blocks.{i}", ((1, 0), (s, 1), (1, 0)), cut) for i, (s, cut) in enumerate(first)]
    optimizer = optax.chain(optax.add_decayed_weights(5e-5), optax.sgd(1e-3, momentum=0.9))
    return _resnet(plan, ((3, 3), (3, 3)), 2, True, True, optimizer)


def _resnet(
    plan: list[_Block], padding: tuple[tuple[int, int], ...], stride: int, pooled: bool, half: bool,
    optimizer: optax.GradientTransformation,
) -> Net:  # fmt: skip
    """`padding` and `stride` of the stem; `pooled`: is it followed by a 3x3 maximum? `half`: computed in bfloat16."""

    def parameters(state):
        blocks = []
        for name, convolutions, cut in plan:
            p = {}
            for k in range(1, len(convolutions) + 1):
                p |= {f"conv{k}": take_kernel(state, f"{name}.conv{k}"), f"bn{k}": take_norm(state, f"{name}.bn{k}")}
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
        for name, convolutions, cut in plan:
            s = {f"bn{k}": running(state, f"{name}.bn{k}") for k in range(1, len(convolutions) + 1)}
            if cut:
                s["cut_bn"] = running(state, f"{name}.shortcut.1")
            blocks.append(s)
        return {"bn": running(state, "bn"), "blocks": blocks}

    def batch_norm(p, s, x):  # (N, H, W, C)
        wide = x.astype(jnp.float32)
        mean, var = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
        count = x.size // x.shape[-1]
        moved = {
            "mean": 0.9 * s["mean"] + 0.1 * lax.stop_gradient(mean),
            "var": 0.9 * s["var"] + 0.1 * lax.stop_gradient(var) * (count / (count - 1)),
        }
        scale = p["scale"] * lax.rsqrt(var + 1e-5)
        return (wide * scale + (p["bias"] - mean * scale)).astype(x.dtype), moved

    def by_running(p, s, x):
        scale = p["scale"] * lax.rsqrt(s["var"] + 1e-5)
        return (x * scale + (p["bias"] - s["mean"] * scale)).astype(x.dtype), s

    def block(p, s, x, convolutions, norm):
        new, y = {}, x
        for k, (stride, pad) in enumerate(convolutions, 1):
            y = conv(p[f"conv{k}"], y if k == 1 else jax.nn.relu(y), stride, ((pad, pad), (pad, pad)))
            y, new[f"bn{k}"] = norm(p[f"bn{k}"], s[f"bn{k}"], y)
        if "cut" in p:
            strides = [stride for stride, _ in convolutions]
            x, new["cut_bn"] = norm(p["cut_bn"], s["cut_bn"], conv(p["cut"], x, max(strides)))
        return jax.nn.relu(x + y), new

    def logits(params, stats, x, norm):  # (N, H, W, 3)
        if half:
            params, x = halved(params), x.astype(jnp.bfloat16)
        x, bn = norm(params["bn"], stats["bn"], conv(params["conv"], x, stride, padding))
        x, moved = jax.nn.relu(x), {"bn": bn, "blocks": []}
        if pooled:
            same = ((0, 0), (1, 1), (1, 1), (0, 0))
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), same)
        for p, s, (_, convolutions, _) in zip(params["blocks"], stats["blocks"], plan, strict=True):
            x, new = block(p, s, x, convolutions, norm)
            moved["blocks"].append(new)
        return dense(params["fc"], x.mean((1, 2))).astype(jnp.float32), moved

    def forward(params, stats, x):
        return logits(params, stats, x, by_running)[0]

    def loss(params, stats, x, labels):
        x, moved = logits(params, stats, x, batch_norm)
        return cross_entropy(x, labels), moved

    return Net(parameters, forward, loss, optimizer, statistics, channels_last)
