"""Puts a measured table, read from standard input, between the two marks of a section of README.md.

    python benchmarks/train_step.py --markdown | python scripts/fill_readme.py train_step

The numbers in the README are only ever written this way.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def fill(text: str, section: str, table: str) -> str:
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise SystemExit(f"{README.name} has to contain {begin} ... {end} once")
    return pattern.sub(lambda _: f"{begin}\n{table.strip()}\n{end}", text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    table = sys.stdin.read()
    if not table.strip():
        raise SystemExit("no table on standard input")
    README.write_text(fill(README.read_text(encoding="utf-8"), sys.argv[1], table), encoding="utf-8")
