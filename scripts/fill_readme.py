"""Writes the table of speeds in README.md from the figures that `benchmarks/train_step.py` has measured.

    python benchmarks/train_step.py --markdown docs/performance.md --json figures.json
    python scripts/fill_readme.py figures.json

The numbers in the README are only ever written this way. The picture of them is drawn anew.
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
BEGIN, END = "<!-- train_step: begin -->", "<!-- train_step: end -->"


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


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise SystemExit(f"{readme.name} has to contain {BEGIN} ... {END} once")
    new = f"{BEGIN}\n{table(json.loads(Path(sys.argv[1]).read_text(encoding='utf-8')))}\n{END}"
    readme.write_text(pattern.sub(lambda _: new, text), encoding="utf-8")
    draw_pictures.draw()


if __name__ == "__main__":
    main()
