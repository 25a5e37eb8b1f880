"""`Timer`: times a statement, each run of it with what it recorded."""

from __future__ import annotations

import ast
import sys
import textwrap
import timeit
from collections.abc import Callable
from time import perf_counter as timer
from typing import Any

from ...._core.record.program import flush_all
from .common import Measurement, TaskSpec

__all__ = ["Timer", "timer"]


class Timer:
    """Times `stmt`, which sees `globals` and what `setup` has made.

    num_threads is noted and has no effect: XLA's threads are set when a process begins.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py", "language.python"):
            raise NotImplementedError("torch.utils.benchmark.Timer: jaxtorch has no statements in C++")
        if global_setup:
            raise ValueError("global_setup is only for statements in C++")
        stmt, setup = (textwrap.dedent(s).strip("\n").rstrip() for s in (stmt, setup))
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        scope = {"torch": sys.modules[__name__.partition(".")[0]], **(globals or {}), "_run_recorded": flush_all}
        self._timer = timeit.Timer(_kept(stmt), setup, timer, globals=scope)

    def _seconds(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of `number` runs, after a hundredth as many (at least four, which compile it) that do not count."""
        self._seconds(max(number // 100, 4))
        return Measurement(number, [self._seconds(number)], self._task_spec)

    def _block(self, min_run_time: float) -> int:
        """How many runs take at least a thousandth of `min_run_time`."""
        number = 1
        self._seconds(4)  # compiles it
        while self._seconds(number) < min_run_time / 1000:
            number *= 10
        return number

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements of equally many runs each, until they have taken `min_run_time` seconds."""
        number = self._block(min_run_time)
        return self._until(number, callback, lambda times: sum(times) >= min_run_time)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measurements until their spread is below `threshold` of their median, or `max_run_time` seconds have gone."""
        number = self._block(min_run_time)

        def enough(times: list[float]) -> bool:
            settled = Measurement(number, times, self._task_spec).meets_confidence(threshold)
            return sum(times) >= max_run_time or (settled and sum(times) >= min_run_time)

        return self._until(number, callback, enough)

    def _until(self, number: int, callback: Any, enough: Callable[[list[float]], bool]) -> Measurement:
        times: list[float] = []
        while not times or not enough(times):
            times.append(self._seconds(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind: jaxtorch does not count instructions")


def _kept(stmt: str) -> str:
    """The statement, with the value of its last expression kept while what was recorded is run."""
    tree = ast.parse(stmt)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("_kept", ast.Store())], last.value)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n_run_recorded()"
