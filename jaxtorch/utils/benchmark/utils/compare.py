"""`Compare`: measurements as tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .common import Measurement, select_unit, trim_sigfig, unit_to_english

__all__ = ["Compare"]


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
