"""Writes the tables of README.md: of coverage from docs/coverage.md, of speed from benchmarks/results.

    scripts/op_db_score                             # docs/coverage.md
    python benchmarks/train_step.py --save avx2     # benchmarks/results/avx2/train_step.json
    python scripts/fill_readme.py

The numbers in the README's tables are only ever written this way. The pictures are drawn anew.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import draw_pictures

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import report  # noqa: E402
import summary  # noqa: E402

sys.path.pop(0)

MACHINE = "avx2"
SIDES = [
    "jaxtorch, plain loop", "jaxtorch compiled", "PyTorch eager", "PyTorch torch.compile", "hand-written jax.jit",
]  # fmt: skip
TYPES = ["float32", "float64", "complex64", "bfloat16", "float16", "int64", "int32", "bool"]
OTHER_CHECKS = {
    "second": "second derivatives", "method": "as a method", "inplace": "in place", "out": "`out=`", "errors": "errors of bad calls",
}  # fmt: skip


def table() -> str:
    """The times of training steps: one row for each model, one column for each side."""
    _, steps = summary.rows(MACHINE, "train_step")
    times = {(row["model"], row["side"]): row["step"] for row in steps}
    rows = ["| model | " + " | ".join(SIDES) + " |", "|---|" + "---:|" * len(SIDES)]
    for model in dict.fromkeys(row["model"] for row in steps):
        rows.append(f"| {model} | " + " | ".join(times.get((model, side), "-") for side in SIDES) + " |")
    found = report.load(MACHINE, "train_step")
    on = f"{found['date']}, {found['machine'].split(',')[0]}" if found else ""
    notes = (
        f"Measured {on}. `~`: disturbed while it was measured. "
        "Everything else about the run is on the [performance page](docs/reference/performance.md)."
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


def filled(readme: str) -> str:
    """The README with its tables as the files have them."""
    text = put(readme, "coverage", coverage((ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")))
    return put(text, "train_step", table())


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8")), encoding="utf-8")
    draw_pictures.draw()


if __name__ == "__main__":
    main()
