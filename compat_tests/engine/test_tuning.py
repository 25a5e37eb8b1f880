"""The tuned constants stand in one table (`jaxtorch/_core/tuning.py`), each with what it is, and are all used."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import jaxtorch
from jaxtorch._core import tuning

PACKAGE = Path(jaxtorch.__file__).parent
ENGINE = PACKAGE / "_core"
FIXED = {
    # of PyTorch
    "DEFAULT_SEED", "LONG", "MOST_DIMENSIONS", "_BLOCK_WORDS", "_DEEPEST", "_KEY_START", "_KEY_STOP", "_RANDPERM_LIMIT", "_SCI_LARGE",
    "_SCI_RATIO", "_SCI_SMALL", "_SMALL", "_STATE_BYTES", "_WIDE_RANGE",
    # of number formats, of glibc, of Linux
    "_LARGEST", "_ADVISED", "_HUGE_PAGE", "_MADV_HUGEPAGE", "_ARENA_MAX", "_MMAP_MAX", "_MMAP_THRESHOLD", "_TOP_PAD",
    "_TRIM_THRESHOLD",
    # that are never reached, that count references, or that two parts agree on
    "FOR_EVER", "NEVER", "HELD", "_OURS", "VERSION", "_HEAD", "_OUT", "_OPERAND", "_READ", "_WORDS",
}  # fmt: skip
"""Numbers of the engine that are no matter of speed."""


def is_number(node: ast.expr) -> bool:
    """Is it a number, or made of numbers and names of numbers alone?"""
    match node:
        case ast.Constant():
            return type(node.value) in (int, float)
        case ast.UnaryOp():
            return is_number(node.operand)
        case ast.BinOp():
            sides = node.left, node.right
            return any(map(is_number, sides)) and all(is_number(s) or isinstance(s, ast.Name) for s in sides)
    return False


def defined(text: str) -> list[str]:
    """The upper-case names that are numbers in a file, outside functions and classes."""
    found: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            pairs: list[Any] = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        else:
            continue
        for target, value in pairs:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs += zip(target.elts, value.elts, strict=True)
            elif isinstance(target, ast.Name) and target.id.isupper() and is_number(value):
                found.append(target.id)
    return found


def test_no_file_of_the_engine_has_a_tuned_number_of_its_own() -> None:
    files = [f for f in ENGINE.rglob("*.py") if f.name != "tuning.py"]
    stray = {f"{f.relative_to(PACKAGE)}: {n}" for f in files for n in defined(f.read_text()) if n not in FIXED}
    assert len(files) > 50 and not stray, "these belong to jaxtorch/_core/tuning.py, with what they trade"


def test_what_is_fixed_is_still_there() -> None:
    there = {name for f in ENGINE.rglob("*.py") for name in defined(f.read_text())}
    assert there >= FIXED


def test_every_constant_of_the_table_says_what_it_is() -> None:
    lines = Path(tuning.__file__).read_text().splitlines()
    silent = [line for line in lines if re.match(r"[A-Z_]+ = ", line) and "  # " not in line]
    assert not silent
    assert not [line for line in lines if line.startswith(("import ", "from ")) and "__future__" not in line]


def test_every_constant_of_the_table_is_used() -> None:
    names = {name for name in vars(tuning) if name.isupper()}
    used: set[str] = set()
    for f in PACKAGE.rglob("*.py"):
        if f.name != "tuning.py":
            used |= names.intersection(re.findall(r"\b[A-Z][A-Z_]+\b", f.read_text()))
    assert len(names) > 100 and not names - used


@pytest.mark.parametrize(
    "text, names",
    [
        ("A = 3", ["A"]),
        ("_B: float = -1e3", ["_B"]),
        ("A, B = 1 << 4, x", ["A"]),
        ("A = 2 * B", ["A"]),
        ("a = 3", []),
        ("A = {1: 2}", []),
    ],
)
def test_numbers_are_found(text: str, names: list[str]) -> None:
    assert defined(text) == names
