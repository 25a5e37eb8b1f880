"""`torch.futures`: results that may come later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A result, or an exception, that is set once. devices: accepted; XLA orders the work on a device."""

    __module__ = "jaxtorch.jit"

    def __init__(self, *, devices: Any = None) -> None:
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def done(self) -> bool:
        """Has a result or an exception been set?"""
        return self._done.is_set()

    def value(self) -> Any:
        """The result; RuntimeError while there is none."""
        if not self.done():
            raise RuntimeError("Future.value(): the future has no result yet; use wait()")
        return self.wait()

    def wait(self) -> Any:
        """Wait for the result. The exception, where one was set, is raised."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Set the result; RuntimeError the second time."""
        if self.done():
            raise RuntimeError("Future.set_result(): a result has been set already")
        self._value = result
        self._finish()

    def set_exception(self, result: BaseException) -> None:
        """Set an exception, which `wait` then raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._error = result
        self._finish()

    def _finish(self) -> None:
        self._done.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Have `callback(future)` called when there is a result, at once where there is one."""
        if self.done():
            callback(self)
        else:
            self._callbacks.append(callback)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of `callback(this future)`."""
        made: Future[Any] = Future()

        def run(finished: Any) -> None:
            try:
                made.set_result(callback(finished))
            except Exception as error:
                said = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                made.set_exception(RuntimeError(said))

        self.add_done_callback(run)
        return made


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list, done when all of them are."""
    made: Future[list[Future[Any]]] = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def one(_: Any) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            made.set_result(list(futures))

    if not futures:
        made.set_result([])
    for future in futures:
        future.add_done_callback(one)
    return made


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all of them."""
    return [future.wait() for future in collect_all(futures).wait()]
