"""The project's Python files, and what the tests of its rules read of them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from conftest import ROOT

PACKAGE = ROOT / "jaxtorch"


def sources(folder: Path) -> list[Path]:
    inside = [path.relative_to(folder) for path in folder.rglob("*.py")]
    return sorted(
        folder / path
        for path in inside
        if not any(part.startswith(".") or part in ("build", "dist", "node_modules") for part in path.parts)
    )


FILES = sources(ROOT)
PACKAGE_FILES = sources(PACKAGE)


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
