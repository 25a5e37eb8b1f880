"""`torch.multiprocessing.spawn`: the same function in several processes, with their errors."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any


class ProcessException(Exception):
    """A process ended in error."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended with a Python exception."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal, or with an exit code other than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], error_file: str) -> None:
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent stops as well
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that `spawn(join=False)` has started."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Their process ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one has ended or `timeout` seconds are over; True when all have ended.

        Where one ended in error the others are stopped, and its error is raised.
        """
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(list(self.sentinels), timeout=timeout)
        failed = None
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        self._raise(failed)
        return False

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        file = self.error_files[index]
        if os.path.exists(file) and os.path.getsize(file):
            with open(file, "rb") as opened:
                text = pickle.load(opened)
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index, process.pid
            )
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, name
            )
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


class SpawnContext(ProcessContext):
    """Processes started by the method 'spawn'."""


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run `fn(i, *args)` in `nprocs` processes; wait for them, or return a `ProcessContext` where `join` is False."""
    context: Any = multiprocessing.get_context(start_method)
    folder = tempfile.mkdtemp(prefix="jaxtorch-spawn-")
    processes, files = [], []
    for i in range(nprocs):
        file = os.path.join(folder, f"error-{i}")
        process = context.Process(target=_run, args=(fn, i, args, file), daemon=daemon)
        process.start()
        processes.append(process)
        files.append(file)
    started = SpawnContext(processes, files) if start_method == "spawn" else ProcessContext(processes, files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """`start_processes` by the method 'spawn'."""
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
