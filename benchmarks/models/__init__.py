"""The benchmark's models, written once as PyTorch text: `build(name, torch)` takes real PyTorch or jaxtorch.

Everything here uses only the `torch` module it is handed, so both sides run the same program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .recurrent import LSTM_VOCABULARY, lstm
from .residual import resnet18, resnet50
from .small import lenet, mlp
from .task import Task
from .task import train_step as train_step
from .transformers import GPT2, SMALL, gpt, gpt2, vit

BATCHES = 4
"""How many different batches a loop turns through."""


def _images(count: int, shape: tuple[int, ...]):
    def draw(rng: np.random.Generator, count: int = count) -> tuple[np.ndarray, np.ndarray]:
        return rng.standard_normal((count, *shape), np.float32), rng.integers(0, 10, count)

    return draw


def _text(count: int, length: int, vocabulary: int):
    def draw(rng: np.random.Generator, count: int = count) -> tuple[np.ndarray, np.ndarray]:
        text = rng.integers(0, vocabulary, (count, length + 1))
        return text[:, :-1].copy(), text[:, 1:].copy()

    return draw


MODELS: dict[str, tuple[Any, Any, str]] = {
    "mlp": (mlp, _images(64, (32,)), "MLP 32-64-64-10, batch 64, SGD momentum"),
    "lenet": (lenet, _images(64, (3, 32, 32)), "LeNet 3x32x32, batch 64, SGD momentum"),
    "gpt": (
        gpt,
        _text(8, SMALL.context, SMALL.vocabulary),
        "GPT 4 layers, width 128, 128 tokens, batch 8, AdamW",
    ),
    "vit": (vit, _images(32, (3, 32, 32)), "ViT 4 layers, width 128, 65 tokens, batch 32, AdamW"),
    "lstm": (lstm, _text(16, 64, LSTM_VOCABULARY), "LSTM 1 layer of 256, 64 tokens, batch 16, Adam"),
    "resnet18": (resnet18, _images(32, (3, 32, 32)), "ResNet-18 3x32x32, batch 32, SGD momentum"),
}
"""Name -> how to build the task, how to draw a batch, description."""

LARGE = {
    "gpt2": (gpt2, _text(8, GPT2.context, GPT2.vocabulary), "GPT-2 124M, 1,024 tokens, batch 8, bfloat16, AdamW"),
    "resnet50": (
        resnet50,
        _images(128, (3, 224, 224)),
        "ResNet-50 3x224x224, batch 128, bfloat16, channels last, SGD momentum",
    ),
}
"""The same for a GPU."""


def build(name: str, torch: Any) -> Task:
    """The task of that name, on real PyTorch or on jaxtorch."""
    return (MODELS | LARGE)[name][0](torch)


def batches(name: str, sizes: Sequence[int] = ()) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same batches for every side: a few of the model's own size, or one of each of the `sizes`."""
    rng, draw = np.random.default_rng(0), (MODELS | LARGE)[name][1]
    return [draw(rng, size) for size in sizes] if sizes else [draw(rng) for _ in range(BATCHES)]
