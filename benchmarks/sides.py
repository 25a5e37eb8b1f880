"""One side of the comparison, in a process of its own: `python sides.py SIDE MODEL STATE FD`.

The parent (`train_step.py`) sends commands down a pipe and this process answers each; between them it is
blocked on the pipe, so that only one side computes at a time. STATE is an .npz file of initial parameters, FD
the pipe's descriptor.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import models
import numpy as np

SIDES = {
    "jaxtorch": "jaxtorch, plain loop",
    "jaxtorch-compile": "jaxtorch compiled",
    "torch": "PyTorch eager",
    "torch-compile": "PyTorch torch.compile",
    "jax": "hand-written jax.jit",
}
"""Every side and the name it has in tables."""

EAGER_JAX = {"jax-eager": "JAX, operation by operation"}
"""A side for `shapes.py` alone: the hand-written step without its `jax.jit`."""

FRAMEWORKS = {"flax": "Flax NNX, nnx.jit", "equinox": "Equinox, eqx.filter_jit"}
"""Sides for `versus_jax.py` alone."""

NAMES = {**SIDES, **EAGER_JAX, **FRAMEWORKS}


DEVICE = os.environ.get("BENCHMARK_DEVICE", "cpu")


class Unavailable(Exception):
    """This side cannot run here; the message says why, in one line."""


class TorchSide:
    """PyTorch's text on real PyTorch or on jaxtorch, step by step or compiled."""

    def __init__(self, side: str, name: str, state: dict[str, np.ndarray]) -> None:
        library, _, compiled = side.partition("-")
        try:
            torch = self.torch = importlib.import_module(library)
        except ImportError as error:
            raise Unavailable(f"cannot import {library}: {error}") from None
        if library == "torch":
            torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        task = self.task = models.build(name, torch)
        task.model.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
        if DEVICE != "cpu":
            task.model.to(DEVICE)
        self.last = list(task.model.parameters())[-1]
        self.take(models.batches(name))
        self.step = models.train_step
        if compiled:
            self._compile(library)

    def _compile(self, library: str) -> None:
        """PyTorch's documented use compiles the model; jaxtorch's compiles the whole step."""
        if not hasattr(self.torch, "compile"):
            raise Unavailable(f"{library}.compile does not exist yet")
        if library == "torch":
            self.task.model = self.torch.compile(self.task.model)
        else:
            self.step = self.torch.compile(models.train_step)

    def take(self, batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """The batches that the next steps turn through."""
        tensor = self.torch.tensor
        self.batches = [(tensor(x, device=DEVICE), tensor(y, device=DEVICE)) for x, y in batches]

    def programs(self) -> int | None:
        """How many programs longer than one operation have been compiled, as far as the library tells."""
        if self.torch.__name__ != "jaxtorch":
            return None
        return sum(r.seconds > 0 for r in self.torch.explain_recompiles())

    def run(self, first: int, count: int) -> Any:
        """`count` steps of the plain loop from step `first`; returns the last loss, unread."""
        task, step, batches = self.task, self.step, self.batches
        loss = None
        for i in range(first, first + count):
            inputs, targets = batches[i % len(batches)]
            loss = step(task, inputs, targets)
        return loss

    def wait(self, loss: Any) -> float:
        """Read the loss and a parameter of the last layer: until then the step may still be under way."""
        value = loss.item()
        self.last.tolist()
        return value


class JaxSide:
    """The hand-written step."""

    def __init__(self, side: str, name: str, state: dict[str, np.ndarray]) -> None:
        import jax
        import jax_models

        self.jax = jax
        net = self.net = jax_models.NETS[name]()
        self.params = jax.tree.map(jax.numpy.array, net.parameters(state))
        self.statistics = jax.tree.map(jax.numpy.array, net.statistics(state))
        self.optimizer_state = net.optimizer.init(self.params)
        self.take(models.batches(name))
        self.step = jax_models.build_step(net, whole=side == "jax")
        jax.block_until_ready((self.params, self.optimizer_state))

    def take(self, batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
        array = self.jax.numpy.array
        self.batches = [(array(self.net.batch(x)), array(y)) for x, y in batches]
        self.jax.block_until_ready(self.batches)

    def programs(self) -> int:
        return self.step._cache_size() if hasattr(self.step, "_cache_size") else 0

    def run(self, first: int, count: int) -> Any:
        params, stats, optimizer_state = self.params, self.statistics, self.optimizer_state
        step, batches = self.step, self.batches
        loss = None
        for i in range(first, first + count):
            inputs, targets = batches[i % len(batches)]
            params, stats, optimizer_state, loss = step(params, stats, optimizer_state, inputs, targets)
        self.params, self.statistics, self.optimizer_state = params, stats, optimizer_state
        return loss

    def wait(self, loss: Any) -> float:
        self.jax.block_until_ready(self.params)
        return float(loss)


class FrameworkSide:
    """The model as one of JAX's neural network libraries has it, its training step under the library's own jit."""

    def __init__(self, side: str, name: str, state: dict[str, np.ndarray]) -> None:
        try:
            library = importlib.import_module(f"{side}_models")
        except ImportError as error:
            raise Unavailable(f"cannot import {side}: {error}") from None
        import jax

        self.jax, self.channels_last = jax, library.CHANNELS_LAST
        self.trainer = library.Trainer(name, state)
        self.take(models.batches(name))

    def take(self, batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
        array = self.jax.numpy.array
        turned = [(x.transpose(0, 2, 3, 1) if self.channels_last and x.ndim == 4 else x, y) for x, y in batches]
        self.batches = [(array(x), array(y)) for x, y in turned]
        self.jax.block_until_ready(self.batches)

    def run(self, first: int, count: int) -> Any:
        step, batches = self.trainer.step, self.batches
        loss = None
        for i in range(first, first + count):
            loss = step(*batches[i % len(batches)])
        return loss

    def wait(self, loss: Any) -> float:
        self.jax.block_until_ready(self.trainer.parameters())
        return float(loss)


def status(field: str) -> float | None:
    """A size in MiB from this process's status (VmRSS: memory now, VmHWM: its high-water mark), on Linux."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return None


def reset_high_water() -> bool:
    """Forget the high-water mark so far."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def grown(field: str, baseline: float | None) -> float | None:
    now = status(field)
    return None if now is None or baseline is None else now - baseline


class Worker:
    """Answers the parent's commands with one side."""

    def __init__(self, make: Callable[[], Any], name: str) -> None:
        self.side, self.name = make(), name
        self.position = 0
        reset_high_water()
        self.baseline = status("VmRSS")

    def _steps(self, count: int) -> float:
        loss = self.side.run(self.position, count)
        self.position += count
        return self.side.wait(loss)

    def first(self, count: int) -> dict[str, Any]:
        """The first steps, compilation included, the loss read after each."""
        losses, ends = [], []
        begun = time.perf_counter()
        for _ in range(count):
            losses.append(self._steps(1))
            ends.append(time.perf_counter() - begun)
        five = ends[min(4, count - 1)]
        peak = grown("VmHWM", self.baseline)
        return {"losses": losses, "first": ends[0], "five": five, "peak": peak, "baseline": self.baseline}

    def burst(self, count: int) -> float:
        """Seconds a step over `count` steps, after a tenth of that untimed to get warm."""
        self._steps(max(1, count // 10))
        begun = time.perf_counter()
        self._steps(count)
        return (time.perf_counter() - begun) / count

    def memory(self, count: int) -> float | None:
        """The high-water mark of memory over the baseline, in MiB, of steps long after compilation."""
        if not reset_high_water():
            return None
        self._steps(count)
        return grown("VmHWM", self.baseline)

    def shapes(self, sizes: list[int]) -> dict[str, Any]:
        """One step with each batch size in turn: its seconds, its loss, and how many programs were compiled whole."""
        self.side.take(models.batches(self.name, sizes))
        before, losses, seconds = self.side.programs(), [], []
        for i in range(len(sizes)):
            begun = time.perf_counter()
            losses.append(self.side.wait(self.side.run(i, 1)))
            seconds.append(time.perf_counter() - begun)
        whole = None if before is None else self.side.programs() - before
        return {"losses": losses, "seconds": seconds, "whole": whole}


def save_initial_state(name: str, path: str) -> None:
    """Write the parameters that every side starts from: PyTorch's own initialisation, seed 0."""
    import torch

    torch.manual_seed(0)
    state = models.build(name, torch).model.state_dict()
    np.savez(path, **{k: v.numpy() for k, v in state.items()})  # type: ignore[arg-type]


def serve(descriptor: str, make: Callable[[], Any]) -> None:
    """Make the worker, then answer the parent's commands, which name its methods, until it says None."""
    pipe = Connection(int(descriptor))
    try:
        worker = make()
        pipe.send(("ok", None))
        while (message := pipe.recv()) is not None:
            command, argument = message
            pipe.send(("ok", getattr(worker, command)(argument)))
    except Unavailable as error:
        pipe.send(("unavailable", str(error)))
    except (EOFError, KeyboardInterrupt):
        pass
    except BaseException:
        traceback.print_exc()
        pipe.send(("error", traceback.format_exc().strip().splitlines()[-1]))


class Recording:
    """Answers with what recording an operation costs."""

    def measure(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        import recording

        return recording.measure(**arguments)


def make_worker(side: str, name: str, path: str) -> Worker:
    state = dict(np.load(path))
    kind: Callable[..., Any] = TorchSide
    if side in ("jax", *EAGER_JAX):
        kind = JaxSide
    elif side in FRAMEWORKS:
        kind = FrameworkSide
    return Worker(lambda: kind(side, name, state), name)


def main() -> None:
    side, name, path, descriptor = sys.argv[1:]
    if side == "initial":
        save_initial_state(name, path)
    elif side == "recording":
        serve(descriptor, Recording)
    else:
        serve(descriptor, lambda: make_worker(side, name, path))


if __name__ == "__main__":
    main()
