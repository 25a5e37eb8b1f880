"""One side of `inference.py`, in a process of its own: `python inference_sides.py SIDE MODEL:BATCH:MODE STATE FD`.

A pass is one forward pass whose output is then read as a NumPy array, as a program that predicts must do; so no
side can leave anything undone. BATCH 0 is the batch size of training.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import models
import numpy as np
from sides import JaxSide, TorchSide, serve


class TorchForward(TorchSide):
    """The model in evaluation mode, gradients off, step by step or compiled."""

    def __init__(self, side: str, name: str, state: dict[str, np.ndarray], mode: str) -> None:
        self.mode = mode
        super().__init__(side, name, state)
        self.model = self.task.model.eval()

    def _compile(self, library: str) -> None:
        self.task.model.eval()
        self.task.model = self.torch.compile(self.task.model)

    def run(self, first: int, count: int) -> Any:
        model, batches, out = self.model, self.batches, None
        with getattr(self.torch, self.mode)():
            for i in range(first, first + count):
                out = model(batches[i % len(batches)][0]).numpy()
        return out


class JaxForward(JaxSide):
    """The hand-written forward pass under `jax.jit`."""

    def __init__(self, side: str, name: str, state: dict[str, np.ndarray], mode: str) -> None:
        super().__init__(side, name, state)
        self.forward = self.jax.jit(self.net.forward)

    def run(self, first: int, count: int) -> Any:
        forward, params, stats, batches, out = self.forward, self.params, self.statistics, self.batches, None
        for i in range(first, first + count):
            out = np.asarray(forward(params, stats, batches[i % len(batches)][0]))
        return out


class Worker:
    """Answers the parent's commands with one side."""

    def __init__(self, side: str, name: str, path: str) -> None:
        model, size, mode = name.split(":")
        kind: Callable[..., Any] = JaxForward if side == "jax" else TorchForward
        self.side = kind(side, model, dict(np.load(path)), mode)
        if int(size):
            self.side.take(models.batches(model, [int(size)] * models.BATCHES))
        self.position = 0

    def outputs(self, count: int) -> dict[str, Any]:
        """The first passes, compilation included: their outputs, and the seconds of the first."""
        begun = time.perf_counter()
        found = [np.array(self.side.run(0, 1))]
        first = time.perf_counter() - begun
        found += [np.array(self.side.run(i, 1)) for i in range(1, count)]
        self.position = count
        return {"outputs": found, "first": first}

    def burst(self, count: int) -> float:
        """Seconds a pass over `count` passes, after a tenth of that untimed."""
        warm = max(1, count // 10)
        self.side.run(self.position, warm)
        begun = time.perf_counter()
        self.side.run(self.position + warm, count)
        seconds = time.perf_counter() - begun
        self.position += warm + count
        return seconds / count


if __name__ == "__main__":
    side, name, path, descriptor = sys.argv[1:]
    serve(descriptor, lambda: Worker(side, name, path))
