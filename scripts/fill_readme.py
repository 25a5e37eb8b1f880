"""Writes the tables of README.md: of coverage from docs/coverage.md, and, where figures are given, of speed.

    scripts/op_db_score                                                                         # docs/coverage.md
    python benchmarks/train_step.py --markdown docs/performance.md --json figures.json
    python scripts/fill_readme.py [figures.json]

The numbers in the README's tables are only ever written this way. The picture of the speeds is drawn anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import draw_pictures

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
from report import duration  # noqa: E402

SIDES = {
    "jaxtorch": "jaxtorch, plain loop", "jaxtorch-compile": "jaxtorch compiled", "torch": "PyTorch eager",
    "torch-compile": "PyTorch torch.compile", "jax": "hand-written jax.jit",
}  # fmt: skip
TYPES = ["float32", "float64", "complex64", "bfloat16", "float16", "int64", "int32", "bool"]
OTHER_CHECKS = {
    "second": "second derivatives", "method": "as a method", "inplace": "in place", "out": "`out=`", "errors": "errors of bad calls",
}  # fmt: skip


def table(figures: dict[str, Any]) -> str:
    """One row for each model, one column for each side."""
    rows = ["| model | " + " | ".join(SIDES.values()) + " |", "|---|" + "---:|" * len(SIDES)]
    for model, sides in figures["models"].items():
        cells = []
        for side in SIDES:
            found = sides.get(side, {})
            cells.append(("~" if found.get("noisy") else "") + duration(found["median"]) if "median" in found else "-")
        rows.append(f"| {model} | " + " | ".join(cells) + " |")
    notes = (
        "`-`: not in this run. `~`: disturbed while it was measured. "
        "Everything else about the run is in [docs/performance.md](docs/performance.md)."
    )
    return "\n".join([*rows, "", notes])


def coverage(page: str) -> str:
    """The shares of docs/coverage.md's "What passes", of those run in %."""
    shares = {
        cells[0]: cells[4]
        for line in page.split("## What passes")[1].split("## ")[0].splitlines()
        if len(cells := [c.strip() for c in line.strip("|").split("|")]) == 6
    }
    rows = ["| | " + " | ".join(TYPES) + " |", "|---|" + "---:|" * len(TYPES)]
    for check in ("forward", "gradient"):
        rows.append(f"| {check} | " + " | ".join(shares.get(f"{check}, {t}", "-") for t in TYPES) + " |")
    others = ", ".join(f"{name} {shares[check]}" for check, name in OTHER_CHECKS.items())
    return "\n".join([*rows, "", f"The other checks: {others}."])


def put(text: str, name: str, new: str) -> str:
    """The README with this between the marks of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise SystemExit(f"README.md has to contain {begin} ... {end} once")
    return pattern.sub(lambda _: f"{begin}\n{new}\n{end}", text)


def main() -> None:
    if len(sys.argv) > 2:
        raise SystemExit(__doc__)
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    text = put(text, "coverage", coverage((ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")))
    if len(sys.argv) == 2:
        text = put(text, "train_step", table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
    readme.write_text(text, encoding="utf-8")
    draw_pictures.draw()


if __name__ == "__main__":
    main()
