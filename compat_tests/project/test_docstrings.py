"""The examples in docstrings: what they show is what jaxtorch prints, and what PyTorch does."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path
from typing import Any

import pytest
import torch

import jaxtorch

SOURCES = Path(jaxtorch.__file__).parent


def examples() -> dict[str, str]:
    """The docstrings with examples in them, by file and name."""
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if ">>> " not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ">>> " in (text := ast.get_docstring(node) or ""):
                found[f"{path.relative_to(SOURCES)}:{node.name}"] = text
    return found


EXAMPLES = examples()
OURS_ALONE = ("_compile/", "interop/")  # PyTorch's compiler needs one of C++, and minutes


def outcome(package: Any, name: str) -> str:
    """What went otherwise than the docstring shows."""
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {"torch": package}, name, None, None)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return "".join(said)


def test_there_are_examples():
    assert len(EXAMPLES) >= 30


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str):
    assert outcome(jaxtorch, name) == ""


@pytest.mark.parametrize("name", [n for n in EXAMPLES if not n.startswith(OURS_ALONE)])
def test_example_in_pytorch(name: str):
    assert outcome(torch, name) == ""
