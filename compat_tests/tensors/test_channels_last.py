"""Strides of what is computed from channels-last tensors, next to PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from parity import candidate

CHANNELS: dict[str, Callable[[Any, Any], Any]] = {
    "conv2d": lambda t, x: t.nn.functional.conv2d(x, t.ones(2, 4, 3, 3)), "pad": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1)),
    "conv_transpose2d": lambda t, x: t.nn.functional.conv_transpose2d(x, t.ones(4, 2, 2, 2), stride=2),
    "a kernel's": lambda t, x: t.conv2d(x.contiguous(), t.ones(2, 4, 3, 3).to(memory_format=t.channels_last)),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2, return_indices=True), "roll": lambda t, x: x.roll(1, -1),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x, 2), "lp_pool2d": lambda t, x: t.nn.functional.lp_pool2d(x, 2, 2),
    "adaptive_avg_pool2d": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 3),
    "adaptive_max_pool2d": lambda t, x: t.nn.functional.adaptive_max_pool2d(x, 3, return_indices=True),
    "nearest": lambda t, x: t.nn.functional.interpolate(x, (9, 12)), "pixel_shuffle": lambda t, x: t.pixel_shuffle(x, 2),
    "bilinear": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
    "reflect": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
    "circular": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="circular"),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 2), "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (6, 6)),
    "local_response_norm": lambda t, x: t.nn.functional.local_response_norm(x, 2), "softmax": lambda t, x: x.softmax(1),
    "a network": lambda t, x: t.nn.Sequential(t.nn.Conv2d(4, 8, 1), t.nn.BatchNorm2d(8), t.nn.ReLU(), t.nn.MaxPool2d(2))(x),
    "to": lambda t, x: t.ones(2, 4, 1, 1).to(memory_format=t.channels_last),
    "contiguous": lambda t, x: t.ones(2, 4, 1, 1).contiguous(memory_format=t.channels_last),
    "a module": lambda t, x: tuple(t.nn.Conv2d(4, 2, 1).to(memory_format=t.channels_last).parameters()),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANNELS)
def test_results_are_channels_last_where_the_input_is(name: str) -> None:
    def strides_in(module: Any) -> Any:
        x = module.arange(288.0).reshape(2, 4, 6, 6).to(memory_format=module.channels_last)
        plain = CHANNELS[name](module, x.contiguous())
        result = CHANNELS[name](module, x)
        return [[(tuple(r.shape), r.stride()) for r in (t if isinstance(t, tuple) else (t,))] for t in (plain, result)]

    assert strides_in(candidate()) == strides_in(torch)
