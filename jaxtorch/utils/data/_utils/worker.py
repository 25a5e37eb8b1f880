"""The life of a worker process: it seeds itself as PyTorch's do, then answers tasks until told to stop.

A forked worker must never run JAX (see `jaxtorch/_core/host/forked.py`). A worker started with "spawn" or
"forkserver" imports jaxtorch afresh and may use it freely, on the CPU.
"""

from __future__ import annotations

import contextlib
import gc
import os
import queue
import random
import threading
import traceback
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from .. import _engine
from . import fetch, transport

__all__ = ["Ended", "Failure", "Resumed", "WorkerInfo", "WorkerJob", "get_worker_info", "worker_main"]

_PARENT_CHECK_SECONDS = 5.0
RESUME = -1
"""Number of the task that starts a new epoch in a persistent worker."""


@dataclass(frozen=True)
class WorkerInfo:
    """What `get_worker_info()` tells: this worker's id, the number of workers, its seed, its dataset copy."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"

    def __repr__(self) -> str:
        return f"WorkerInfo({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Facts about the worker process this is called in; None in the main process."""
    return _worker_info


@dataclass
class WorkerJob:
    """What the workers of one iterator have in common."""

    iterable: bool
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    init_fn: Any
    base_seed: int
    num_workers: int
    forked: bool


class DeferredJob:
    """A job as bytes, unpickled only after the spawned worker has chosen its JAX platform."""

    def __init__(self, job: WorkerJob) -> None:
        self.job = job

    def __reduce__(self) -> Any:
        return _PickledJob, (bytes(ForkingPickler.dumps(self.job)),)


@dataclass
class _PickledJob:
    data: bytes

    @property
    def job(self) -> WorkerJob:
        import jax

        jax.config.update("jax_platforms", "cpu")
        return ForkingPickler.loads(self.data)  # pyright: ignore[reportAttributeAccessIssue]


@dataclass
class Ended:
    """Answer to a task: this worker's iterable dataset is exhausted."""


@dataclass
class Resumed:
    """Answer to `RESUME`."""


@dataclass(frozen=True)
class _ResumeIteration:
    """For loaders of other packages: a task that starts a new epoch, and the seed that the workers share."""

    seed: int | None = None


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """For loaders of other packages: the answer of a worker whose dataset is exhausted."""

    worker_id: int


class ManagerWatchdog:
    """For loaders of other packages: tells a worker whether the process that has started it is alive."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()
        self.manager_dead = False

    def is_alive(self) -> bool:
        """Is it? Once it is not, it never is again."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


class _Verbatim(str):
    """A message that `KeyError` shows with its line breaks."""

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """An exception on its way to the main process: its type, and its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.type = type(error)
        self.where = where
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        self.text = "".join(lines)

    def reraise(self) -> None:
        """Raises an exception of the original type, or RuntimeError where that type takes other arguments."""
        message = f"Caught {self.type.__name__} {self.where}.\nOriginal {self.text}"
        if self.type is KeyError:
            raise KeyError(_Verbatim(message))
        try:
            error = self.type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


def _read_tasks(connection: Any, tasks: queue.SimpleQueue[Any]) -> None:
    """Reads tasks as they come, so that the main process never waits on a full pipe; None at the end."""
    parent = parent_process()
    try:
        while True:
            if connection.poll(_PARENT_CHECK_SECONDS):
                tasks.put(connection.recv())
            elif parent is not None and not parent.is_alive():
                os._exit(1)
    except (EOFError, OSError):
        tasks.put(None)


def _seed(base_seed: int, worker_id: int) -> None:
    """Seeds Python, jaxtorch and NumPy with the numbers PyTorch gives its workers."""
    random.seed(base_seed + worker_id)
    _engine.seed_worker(base_seed + worker_id)
    np.random.seed(_generate_state(base_seed, worker_id))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The four words that NumPy's generator of a worker is seeded with."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


def worker_main(deferred: Any, worker_id: int, tasks_in: Any, results_out: Any, parents_ends: list[Any] | None) -> None:
    """Runs in the worker process. `parents_ends` are pipe ends of the parent that a fork has duplicated."""
    global _worker_info
    for connection in parents_ends or ():
        connection.close()
    job: WorkerJob = deferred.job
    if job.forked:
        _engine.forked.active = True
        _engine.forget_all()
        gc.freeze()  # leaves the parent's objects alone: no page copies, no JAX buffer freed here
        _engine.allocator.keep_freed_memory_of_worker()
    transport.use_shared_memory()
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_tasks, args=(tasks_in, tasks), daemon=True).start()
    _seed(job.base_seed, worker_id)
    _worker_info = WorkerInfo(worker_id, job.num_workers, job.base_seed + worker_id, job.dataset)
    # Interrupted, or the main process has closed its end: the main process speaks for us.
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        _serve(job, worker_id, tasks, results_out)


def _serve(job: WorkerJob, worker_id: int, tasks: queue.SimpleQueue[Any], results: Any) -> None:
    where = f"in DataLoader worker process {worker_id}"
    failure: Failure | None = None
    fetcher: Any = None
    try:
        if job.init_fn is not None:
            job.init_fn(worker_id)
        fetcher = _make_fetcher(job)
    except Exception as error:
        failure = Failure(error, where)
    ended = False
    while (task := tasks.get()) is not None:
        number, index, (free, forgotten) = task
        transport.came_back(free, forgotten)
        answer: Any
        if number == RESUME:
            ended, failure, answer = False, None, Resumed()
            try:
                fetcher = _make_fetcher(job)
            except Exception as error:
                failure = Failure(error, where)
        elif ended:
            continue
        elif failure is not None:
            answer = failure
        else:
            try:
                answer = fetcher.fetch(index)
            except Exception as error:
                if isinstance(error, StopIteration) and job.iterable:
                    ended, answer = True, Ended()
                else:
                    answer = Failure(error, where)
        _answer(results, number, answer, where)
        del answer


def _make_fetcher(job: WorkerJob) -> Any:
    return fetch.create_fetcher(job.iterable, job.dataset, job.auto_collation, job.collate_fn, job.drop_last)


def _answer(results: Any, number: int, answer: Any, where: str) -> None:
    try:
        transport.send(results, (number, answer))
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        failure = answer if isinstance(answer, Failure) else Failure(error, where)
        if isinstance(answer, Failure):
            failure.type = RuntimeError  # its own type cannot be pickled
        transport.send(results, (number, failure))
