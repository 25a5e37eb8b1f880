"""Iteration with worker processes.

Each worker has two pipes of its own: tasks to it, results from it. There are no helper threads on this side
and no shared locks, so a worker that dies at any point is seen as the end of its pipe and blocks no other.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import sys
import time
import warnings
import weakref
from collections.abc import Iterable
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from . import _engine
from ._iterators import _BaseDataLoaderIter, _DatasetKind
from ._utils import blocks, transport
from ._utils.worker import RESUME, DeferredJob, Ended, Failure, Resumed, WorkerJob, worker_main

if TYPE_CHECKING:
    from .dataloader import DataLoader

__all__ = ["_MultiProcessingDataLoaderIter"]

_SHUTDOWN_SECONDS = 5.0
_SETTLE_DEPTH = 6

_open_ends: weakref.WeakSet[Any] = weakref.WeakSet()
"""This process's ends of all workers' pipes. A forked worker closes its copies: while it held one, another
worker would not see this process die."""


class _ForkedJob:
    """A job that a forked worker finds in its memory."""

    def __init__(self, job: WorkerJob, arrays: list[Any]) -> None:
        self.job = job
        self.arrays = arrays  # held on to: while they live, their tensors are read on the host


class _Worker:
    """One worker process, and this process's ends of its pipes."""

    def __init__(self, context: Any, deferred: Any, worker_id: int) -> None:
        forked = isinstance(deferred, _ForkedJob)
        tasks_in, self.tasks = context.Pipe(duplex=False)
        # A socket pair, since descriptors of shared memory travel through it.
        self.results, results_out = context.Pipe(duplex=True)
        _open_ends.update((self.tasks, self.results))
        parents_ends = [end for end in _open_ends if not end.closed] if forked else None
        self.process = context.Process(
            target=worker_main,
            args=(deferred, worker_id, tasks_in, results_out, parents_ends),
            daemon=True,
        )
        try:
            with warnings.catch_warnings():
                # JAX and Python 3.12 warn of fork with threads; a forked worker stays away from JAX.
                warnings.filterwarnings("ignore", message=r".*fork\(\)")
                self.process.start()
        finally:
            tasks_in.close()
            results_out.close()
        self.active = True
        self.outstanding = 0
        self.blocks = blocks.Borrowed()

    def put(self, task: tuple[int, Any]) -> None:
        """Sends a task; a dead worker is noticed when its result is awaited."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.tasks.send((*task, self.blocks.news()))

    def close(self) -> None:
        self.active = False
        self.tasks.close()
        self.results.close()
        self.blocks.clear()

    def death(self) -> RuntimeError:
        """The error for a worker whose pipe ended."""
        self.process.join(timeout=1.0)
        code = self.process.exitcode
        if code is not None and code < 0:
            name = signal.strsignal(-code) or str(-code)
            return RuntimeError(f"DataLoader worker (pid {self.process.pid}) is killed by signal: {name}. ")
        return RuntimeError(f"DataLoader worker (pid(s) {self.process.pid}) exited unexpectedly")


def _default_context() -> Any:
    """The start method the user has set for this process, else fork where there is one (Linux): from Python 3.14 on, too, where
    multiprocessing's own is forkserver, and says so to whoever has not set any once somebody has asked."""
    method = multiprocessing.get_start_method(allow_none=True)
    if sys.platform.startswith("linux") and (method is None or method == multiprocessing.get_all_start_methods()[0]):
        method = "fork"
    return multiprocessing.get_context(method)


def _settle_tensors(root: Any) -> list[Any]:
    """Brings the tensors that a dataset holds to the host, since a forked child cannot.

    Looks through containers and the attributes of objects, a few levels deep; returns the arrays.
    """
    arrays: list[Any] = []
    seen: set[int] = set()
    layer: list[Any] = [root]
    for _ in range(_SETTLE_DEPTH):
        below: list[Any] = []
        for value in layer:
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, _engine.Tensor):
                arrays.append(_engine.settle(value))
            elif isinstance(value, dict):
                below.extend(_worth_following(value.values()))
            elif isinstance(value, list | tuple | set):
                below.extend(_worth_following(value))
            else:
                below.extend(_worth_following(getattr(value, "__dict__", {}).values()))
                below.extend(_worth_following(cell.cell_contents for cell in _filled_cells(value)))
        layer = below
    return arrays


def _worth_following(values: Iterable[Any]) -> list[Any]:
    plain = (str, bytes, int, float, complex, bool, type(None), type, type(sys))
    return [value for value in values if not isinstance(value, plain)]


def _filled_cells(value: Any) -> list[Any]:
    cells = getattr(value, "__closure__", None) or ()
    filled = []
    for cell in cells:
        try:
            cell.cell_contents  # noqa: B018
        except ValueError:
            continue
        filled.append(cell)
    return filled


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps `prefetch_factor` tasks per worker under way, and yields results in the order of the tasks."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._owner = os.getpid()
        self._prefetch_factor = loader.prefetch_factor or 0
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._workers: list[_Worker] = []
        self._shutdown = False
        context = loader.multiprocessing_context or _default_context()
        forked = context.get_start_method() == "fork"
        job = WorkerJob(
            self._dataset_kind == _DatasetKind.Iterable,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            loader.worker_init_fn,
            self._base_seed,
            self._num_workers,
            forked,
        )
        deferred: Any = DeferredJob(job)
        if forked:
            arrays = _settle_tensors([self._dataset, self._collate_fn, loader.worker_init_fn])
            deferred = _ForkedJob(job, arrays)
        try:
            for worker_id in range(self._num_workers):
                self._workers.append(_Worker(context, deferred, worker_id))
        except BaseException:
            self._shutdown_workers()
            raise
        self._start_epoch()

    def _reset(self, loader: DataLoader[Any]) -> None:
        super()._reset(loader)
        if self._shutdown:
            raise RuntimeError("DataLoader workers have been shut down; make a new DataLoader")
        for worker in self._workers:
            worker.put((RESUME, None))
        waiting = set(self._workers)
        while waiting:
            worker, (_, answer) = self._next_message(waiting)
            if isinstance(answer, Resumed):  # what came before belongs to the epoch that was left
                waiting.discard(worker)
                worker.active = True
        self._start_epoch()

    def _start_epoch(self) -> None:
        self._sent = 0
        self._next_number = 0
        self._owners: dict[int, _Worker] = {}
        self._arrived: dict[int, Any] = {}
        self._turn = itertools.cycle(self._workers)
        for worker in self._workers:
            worker.outstanding = 0
        for _ in range(self._prefetch_factor * self._num_workers):
            self._send_task()

    def _send_task(self) -> None:
        """Gives the next index to the next active worker, unless enough is under way."""
        if len(self._owners) >= self._prefetch_factor * self._num_workers:
            return
        one_round = itertools.islice(self._turn, self._num_workers)
        worker = next((worker for worker in one_round if self._takes_task(worker)), None)
        if worker is None:
            return
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        worker.put((self._sent, index))
        worker.outstanding += 1
        self._owners[self._sent] = worker
        self._sent += 1

    def _takes_task(self, worker: _Worker) -> bool:
        if not worker.active:
            return False
        if self._in_order:
            return True
        active = sum(w.active for w in self._workers)
        return worker.outstanding < self._prefetch_factor * self._num_workers // active

    def _next_message(self, workers: Iterable[_Worker]) -> tuple[_Worker, Any]:
        """Waits for one message from any of these workers; raises when one has died or time is up."""
        by_connection = {worker.results: worker for worker in workers}
        ready = wait(list(by_connection), timeout=self._timeout or None)
        if not ready:
            self._shutdown_workers(grace=0.0)
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        worker = by_connection[ready[0]]
        try:
            return worker, transport.receive(worker.results, worker.blocks)
        except (EOFError, ConnectionResetError):
            error = worker.death()
            self._shutdown_workers(grace=0.0)
            raise error from None

    def _next_data(self) -> Any:
        if self._shutdown:
            raise StopIteration
        while True:
            number = self._ready_number()
            if number is not None:
                answer = self._arrived.pop(number)
                self._owners.pop(number)
                self._send_task()
                if isinstance(answer, Failure):
                    answer.reraise()
                return answer
            if not self._owners:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            self._receive_one()

    def _ready_number(self) -> int | None:
        """The task whose result is to be yielded now, if it has arrived."""
        if not self._in_order:
            return next(iter(self._arrived), None)
        while self._next_number < self._sent and self._next_number not in self._owners:
            self._next_number += 1  # given to a worker whose dataset had ended
        return self._next_number if self._next_number in self._arrived else None

    def _receive_one(self) -> None:
        busy = [worker for worker in self._workers if worker.active and worker.outstanding]
        worker, (number, answer) = self._next_message(busy)
        worker.outstanding -= 1
        if not isinstance(answer, Ended):
            self._arrived[number] = answer
            return
        worker.active = False
        worker.outstanding = 0
        unanswered = [n for n, owner in self._owners.items() if owner is worker and n not in self._arrived]
        for dropped in unanswered:
            del self._owners[dropped]
        if not self._persistent_workers:
            worker.close()
        for _ in unanswered:
            self._send_task()

    def _shutdown_workers(self, grace: float = _SHUTDOWN_SECONDS) -> None:
        """Ends all workers: asks, waits for `grace` seconds, then terminates, then kills."""
        if self._shutdown or self._owner != os.getpid():
            return  # a forked child holds copies of its parent's iterators
        self._shutdown = True
        for worker in self._workers:
            worker.close()
        deadline = time.monotonic() + grace
        for stop in (None, "terminate", "kill"):
            for worker in self._workers:
                if stop is not None and worker.process.is_alive():
                    getattr(worker.process, stop)()
                worker.process.join(timeout=max(0.0, deadline - time.monotonic()))
            deadline = time.monotonic() + 1.0

    def __del__(self, _finalizing: Any = sys.is_finalizing) -> None:
        if not _finalizing() and hasattr(self, "_shutdown"):
            self._shutdown_workers()
