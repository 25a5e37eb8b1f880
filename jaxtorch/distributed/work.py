"""`Work`: a communication that is under way, or done."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from ..futures import Future
from .store import seconds


class Work:
    """A communication. result: what it gives, a list of tensors.

    It may be under way in a thread; its results come into their tensors in the thread that asks whether it is done.
    """

    __module__ = "jaxtorch.distributed"

    def __init__(self, result: Any = None) -> None:
        self._result = result
        self._source = -1

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is done, `timeout` at most; True. Raises its error."""
        return True

    def is_completed(self) -> bool:
        """Is it done?"""
        return True

    def is_success(self) -> bool:
        """Is it done, without an error?"""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """Its error, if there was one."""
        return None

    def synchronize(self) -> None:
        """Wait until it is done."""
        self.wait()

    def source_rank(self) -> int:
        """Who has sent what was received."""
        return self._source

    def result(self) -> Any:
        """The tensors it gave."""
        self.wait()
        return self._result

    def get_future(self) -> Future[Any]:
        """A future of the tensors."""
        made: Future[Any] = Future()
        made.set_result(self._result)
        return made


class ThreadWork(Work):
    """A collective in a thread of its own. `run()` communicates; `deliver(found)` puts what was found into tensors."""

    def __init__(self, run: Callable[[], Any], deliver: Callable[[Any], None], result: Any) -> None:
        super().__init__(result)
        self._run: Any = run
        self._deliver: Any = deliver
        self._found: Any = None
        self._error: BaseException | None = None
        self._lock = threading.RLock()
        self._future: Future[Any] | None = None
        self._delivered = False
        self._done = threading.Event()
        threading.Thread(target=self._work, daemon=True, name="collective").start()

    def _work(self) -> None:
        try:
            self._found = self._run()
        except Exception as error:
            self._error = error
        self._done.set()
        with self._lock:
            if self._future is not None:
                self._settle(self._future)

    def _bring(self) -> None:
        with self._lock:
            if self._delivered:
                return
            self._delivered = True
            try:
                if self._error is None:
                    self._deliver(self._found)
            except Exception as error:
                self._error = error
            self._found = self._run = self._deliver = None

    def _settle(self, future: Future[Any]) -> None:
        self._bring()
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result(self._result)

    def wait(self, timeout: Any = None) -> bool:
        if not self._done.wait(None if timeout is None else seconds(timeout)):
            raise RuntimeError("Wait timeout")
        self._bring()
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        if self._done.is_set():
            self._bring()
            return True
        return False

    def exception(self) -> BaseException | None:
        return self._error

    def get_future(self) -> Future[Any]:
        with self._lock:
            if self._future is None:
                self._future = Future()
                if self._done.is_set():
                    self._settle(self._future)
        return self._future


class ReceiveWork(Work):
    """A message that is awaited. deliver: puts it into the tensor; timeout: in seconds, when it is waited for."""

    def __init__(self, slot: Any, deliver: Callable[[], None], result: Any, timeout: float, rank_of: Any) -> None:
        super().__init__(result)
        self._slot, self._deliver, self._timeout, self._rank_of = slot, deliver, timeout, rank_of
        self._error: Exception | None = None
        self._lock = threading.Lock()
        self._delivered = False

    def wait(self, timeout: Any = None) -> bool:
        self._slot.wait(self._timeout if timeout is None else seconds(timeout))
        with self._lock:
            if not self._delivered:
                self._delivered = True
                self._source = self._rank_of(self._slot.source)
                try:
                    self._deliver()
                except Exception as error:
                    self._error = error
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        if self._slot.done():
            with contextlib.suppress(RuntimeError):
                self.wait()
        return self._slot.done()

    def exception(self) -> BaseException | None:
        return RuntimeError(self._slot.error) if self._slot.error is not None else self._error

    def get_future(self) -> Future[Any]:
        made: Future[Any] = Future()

        def settle() -> None:
            try:
                self.wait()
            except Exception as error:
                made.set_exception(error)
            else:
                made.set_result(self._result)

        if self._slot.done():
            settle()
        else:
            threading.Thread(target=settle, daemon=True, name="receive").start()
        return made
