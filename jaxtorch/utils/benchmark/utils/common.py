"""What was timed, and what was measured."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Measurement", "TaskSpec", "select_unit", "trim_sigfig", "unit_to_english"]

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
