"""Worker processes, one a side, as the measuring scripts start and ask them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOLERANCE = 2e-3
"""Relative, on the losses of the first steps: float32, sums in different orders."""
TOLERANCE_LARGE = 2e-2
"""The same for the models in bfloat16."""


class Failed(Exception):
    """A side stopped, with the reason in one line."""


class Side:
    """A worker process, running a script of this folder, and the pipe to it."""

    def __init__(
        self, side: str, model: str, state: str, env: dict[str, str], log: Path, script: str = "sides.py"
    ) -> None:
        self.name = side
        self.pipe, theirs = Pipe()
        command = [sys.executable, str(HERE / script), side, model, state, str(theirs.fileno())]
        with log.open("ab") as stderr:
            self.process = subprocess.Popen(
                command,
                env=env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
            )
        theirs.close()
        self.log = log

    def answer(self) -> Any:
        try:
            kind, value = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            kind, value = "error", f"process ended with status {self.process.wait()}"
        if kind != "ok":
            self.close()
            raise Failed(value)
        return value

    def ask(self, command: str, argument: Any) -> Any:
        self.pipe.send((command, argument))
        return self.answer()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.pipe.send(None)
        self.pipe.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def environment(threads: int, cache: Path | None, device: str = "cpu") -> dict[str, str]:
    """The workers' environment: threads for every library, a compilation cache of their own, and where they compute."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parent), env.get("PYTHONPATH", "")]))
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"):
        env[name] = str(threads)
    env["JAX_PLATFORMS"] = "cpu" if device == "cpu" else f"{device},cpu"
    env["BENCHMARK_DEVICE"] = device
    env["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # the sides share a GPU
    if cache is not None:
        env["JAX_COMPILATION_CACHE_DIR"] = str(cache / "jax")
        env["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        env["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        env["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "inductor")
        env["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "1"
        env["XDG_CACHE_HOME"] = str(cache / "xdg")
    return env


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def pin(threads: int) -> None:
    """Keep this process and its workers to as many cores; XLA sizes its thread pool by them."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def save_initial_state(model: str, path: Path, threads: int) -> None:
    """Write the parameters every side starts from."""
    arguments = [sys.executable, str(HERE / "sides.py"), "initial", model, str(path), "-1"]
    subprocess.run(arguments, check=True, env=environment(threads, None))


def deviation(losses: list[float], expected: list[float]) -> float:
    """The largest relative difference."""
    return max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))


def finish(wrong: list[str]) -> int:
    """Say what is wrong; the exit status."""
    for text in wrong:
        note("ERROR: " + text)
    return 1 if wrong else 0
