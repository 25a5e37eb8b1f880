"""Options that the measuring scripts share, and where their results go: terminal, data files of tables, JSON, a picture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import report
from workers import HERE, note

Bars = dict[str, dict[str, float]]
"""Group (a model, say) -> side -> height."""


def common(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the options that every script has."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--threads", type=int, default=2, help="threads a side, and cores they share (2)")
    parser.add_argument("--quick", action="store_true", help="few short rounds: a rough look")
    parser.add_argument("--check", action="store_true", help="only compare the sides' results")
    parser.add_argument("--save", metavar="MACHINE", help="keep the tables in benchmarks/results/MACHINE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure")
    parser.add_argument(
        "--plot", type=Path, nargs="?", const=Path(), metavar="FILE", help="draw a picture (output/NAME.png)"
    )
    return parser


def chosen(parser: argparse.ArgumentParser, given: str, known: Iterable[str]) -> list[str]:
    """The names in a comma list, or all of them; ends with an error for one that is not known."""
    known = list(known)
    names = known if given == "all" else given.split(",")
    for name in names:
        if name not in known:
            parser.error(f"unknown name {name!r}; known are {', '.join(known)}")
    return names


def deliver(
    options: argparse.Namespace,
    name: str,
    about: dict[str, Any],
    how: list[str],
    tables: list[report.Table],
    figures: Any,
    bars: Bars,
    unit: str,
) -> None:
    """Print the tables, and write what the options ask for."""
    print("\n".join([*report.describe(about), *how]))
    for table in tables:
        print("\n" + "\n".join(report.aligned(table)))
    if options.save:
        report.save(options.save, name, about, how, tables)
    if options.json:
        options.json.write_text(json.dumps({"machine": about, "figures": figures}, indent=1) + "\n")
    if options.plot is not None:
        plot(options.plot, name, bars, unit)


def plot(path: Path, name: str, bars: Bars, unit: str) -> None:
    """Draw a picture at a path, `output/NAME.png` where it is empty."""
    draw(path if path.name else HERE.parent / "output" / f"{name}.png", name, bars, unit)


def draw(path: Path, title: str, bars: Bars, unit: str) -> None:
    """Bars in groups, one colour a side, on a logarithmic axis where heights differ widely."""
    try:
        import matplotlib
    except ImportError as error:
        note(f"no picture: cannot import matplotlib: {error}")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sides = list(dict.fromkeys(side for group in bars.values() for side in group))
    figure, axes = plt.subplots(figsize=(max(6.0, 1.2 + 0.22 * len(bars) * (len(sides) + 1)), 4.2))
    width = 1 / (len(sides) + 1)
    for i, side in enumerate(sides):
        places = [j for j, group in enumerate(bars.values()) if side in group]
        heights = [group[side] for group in bars.values() if side in group]
        axes.bar([j + (i - (len(sides) - 1) / 2) * width for j in places], heights, width, label=side)
    found = [height for group in bars.values() for height in group.values() if height > 0]
    if found and max(found) > 20 * min(found):
        axes.set_yscale("log")
    turned = {"rotation": 30, "ha": "right"} if len(bars) > 4 else {}
    axes.set_xticks(range(len(bars)), list(bars), **turned)
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.legend(fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    note(f"drew {path}")
