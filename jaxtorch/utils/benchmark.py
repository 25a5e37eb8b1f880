"""`torch.utils.benchmark`: repeated timings of a statement, and tables of them.

Every run of a statement runs what it recorded, and the last result is waited for: otherwise a result that nobody reads would cost
nothing. Statements in C++ and callgrind raise `NotImplementedError`.
"""

from __future__ import annotations

import ast
import itertools
import math
import sys
import textwrap
import timeit
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter as timer
from typing import Any

import numpy as np

from .._absent import absent
from .._core.program import flush_all

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig", "unit_to_english"]

globals().update(
    absent(
        __name__,
        "CallgrindStats FunctionCounts Fuzzer FuzzedTensor FuzzedSparseTensor FuzzedParameter",
        "not supported",
    )
)

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1.0)}
_FEWEST = 4
"""Measurements below which nothing is said about their spread."""
_QUIET, _NOISY = 0.1, 0.25
"""Interquartile ranges, as parts of the median, up to which a measurement is trusted, and from which it is warned about."""


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which `t` seconds are best shown, and its length in seconds."""
    power = min(max(math.floor(math.log10(t) // 3) if t > 0 else 0, -3), 0)
    name = ("ns", "us", "ms", "s")[power + 3]
    return name, _UNITS[name][1]


def unit_to_english(u: str) -> str:
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """`x` with `n` significant figures."""
    magnitude = math.ceil(math.log10(abs(x))) if x else 0
    scale = 10.0 ** (magnitude - n)
    return float(np.round(x / scale) * scale)


@dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was timed. `title` is how a measurement names it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt:\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, each on a line of its own."""
        found = [self.title, self.description or "", self.setup_str()]
        return "\n".join(s + "\n" * ("\n" in s) for s in found if s)


@dataclass(repr=False)
class Measurement:
    """Times of a statement: `raw_times` are seconds for `number_per_run` runs each, `times` for one."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    @property
    def times(self) -> list[float]:
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    @property
    def mean(self) -> float:
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """The interquartile range of `times`."""
        low, high = np.percentile(self.times, (25, 75))
        return float(high - low)

    @property
    def significant_figures(self) -> int:
        """How many figures the spread of the times leaves meaningful."""
        n = len(self.raw_times)
        relative = 2 * 1.645 * self.iqr / 1.35 / math.sqrt(n) / max(self.median, 1e-300)
        return max(1, min(5, math.floor(-math.log10(relative)) if relative > 0 else 5)) if n >= _FEWEST else 1

    @property
    def has_warnings(self) -> bool:
        return not self.meets_confidence(_NOISY)

    def meets_confidence(self, threshold: float = _QUIET) -> bool:
        """Are there enough times, and is their interquartile range less than this part of their median?"""
        return len(self.raw_times) >= _FEWEST and self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str:
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__ and name != "env":
            return getattr(self.task_spec, name)
        raise AttributeError(name)

    def __repr__(self) -> str:
        n, runs = len(self.raw_times), self.number_per_run
        unit, length = select_unit(self.median)

        def shown(seconds: float) -> str:
            return f"{seconds / length:.2f} {unit}"

        if n == 1:
            times = [shown(self.median)]
        elif n < _FEWEST:
            times = [f"Median: {shown(self.median)}"]
        else:
            low, high = np.percentile(self.times, (25, 75))
            spread = f"{shown(self.iqr)} ({low / length:.2f} to {high / length:.2f})"
            times = [f"Median: {shown(self.median)}", f"IQR:    {spread}"]
        counts = [f"{n} measurement{'s' if n > 1 else ''}", f"{runs} runs {'per measurement' if n > 1 else ''}"]
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        lines = [super().__repr__(), self.task_spec.summarize()]
        lines += [f"  {line}" for line in [*times, f"{', '.join(counts)}, {threads}"]]
        part = self.iqr / self.median
        if n > 1 and part > _NOISY:
            lines.append(f"  WARNING: Interquartile range is {part * 100:.1f}% of the median measurement.")
            lines.append("           This suggests significant environmental influence.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of one task made into one, each time of which is that of a single run."""
        found: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            found.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, times, spec) for spec, times in found.items()]


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
            raise NotImplementedError("torch.utils.benchmark.Timer: statements in C++ are not supported")
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
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind: not supported")


def _kept(stmt: str) -> str:
    """The statement, with the value of its last expression kept while what was recorded is run."""
    tree = ast.parse(stmt)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("_kept", ast.Store())], last.value)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n_run_recorded()"


@dataclass
class _Table:
    """The measurements of one label: a row for each environment, number of threads and name, a column for each description."""

    results: list[Measurement]
    figures: bool
    colour: bool

    def rows(self) -> Iterator[tuple[int, list[Measurement | None]]]:
        self.columns = list(dict.fromkeys(m.task_spec.description for m in self.results))
        keys = dict.fromkeys((m.task_spec.num_threads, m.task_spec.env or "", m.as_row_name) for m in self.results)
        for key in sorted(keys, key=lambda key: key[0]):
            mine = [m for m in self.results if (m.task_spec.num_threads, m.task_spec.env or "", m.as_row_name) == key]
            by_column = {m.task_spec.description: m for m in mine}
            yield key[0], [by_column.get(c) for c in self.columns]

    def text(self) -> str:
        rows = list(self.rows())
        unit, length = select_unit(min(m.median for m in self.results))

        def shown(m: Measurement | None) -> str:
            if m is None:
                return ""
            value = m.median / length
            if not self.figures:
                return f"{value:.1f}"
            trimmed = trim_sigfig(value, m.significant_figures)
            return f"{trimmed:.{max(0, m.significant_figures - 1 - math.floor(math.log10(max(trimmed, 1e-12))))}f}"

        cells = [[shown(m) for m in ms] for _, ms in rows]
        heads = [c or "" for c in self.columns]
        names = [f"      {next(m for m in ms if m is not None).as_row_name}  " for _, ms in rows]
        widths = [max(len(h), *[len(row[k]) for row in cells]) + 2 for k, h in enumerate(heads)]
        first = max(map(len, names))
        titles = "  |".join(["", *[f"  {h:^{w - 2}}" for h, w in zip(heads, widths)]]).removeprefix("  ")
        head = " " * first + titles
        label = f" {self.results[0].task_spec.label or self.results[0].task_spec.stmt} "
        lines = [f"[{label:-^{len(head)}}]", head]
        for threads, group in itertools.groupby(range(len(rows)), key=lambda n: rows[n][0]):
            lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            for n in group:
                line = "  |".join(
                    [f"{names[n].rstrip():<{first}}".removesuffix("  "), *self._cells(cells[n], widths, rows[n][1])]
                )
                lines.append(line)
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit}).", ""]
        return "\n".join(lines)

    def _cells(self, row: list[str], widths: list[int], measured: list[Measurement | None]) -> list[str]:
        best = min(m.median for m in self.results if m is not None)
        found = []
        for cell, width, m in zip(row, widths, measured):
            text = f"  {cell:>{width - 2}}"
            if self.colour and m is not None and m.median <= 1.05 * best:
                text = text.replace(cell, f"\033[92m\033[1m{cell}\033[0m\033[0m")
            found.append(text)
        return found


class Compare:
    """Prints measurements as tables, one for each label."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results = list(results)
        self._figures = self._colour = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show no more figures than the spread of the times supports."""
        self._figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour what is quickest."""
        self._colour = True

    def highlight_warnings(self) -> None:
        """Has no effect: a measurement's own text has its warnings."""

    def print(self) -> None:
        """Print all tables."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(m.task_spec.label for m in merged)
        tables = [[m for m in merged if m.task_spec.label == label] for label in labels]
        return "\n".join(_Table(t, self._figures, self._colour).text() for t in tables)
