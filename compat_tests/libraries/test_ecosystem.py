"""Libraries written for PyTorch run on jaxtorch: each program of `ecosystem/` prints what it prints on PyTorch.

Numbers may differ by 1e-3, relatively. The libraries are in no list of dependencies (`pip install --no-deps` them where PyTorch is
absent); the program of a library that is not installed is skipped.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from conftest import ROOT, Run
from printed import REFERENCE, assert_same_text

PROGRAMS = sorted((ROOT / "compat_tests" / "libraries" / "ecosystem").glob("*.py"))


def libraries(path: Path) -> list[str]:
    """What a program imports from elsewhere, but for what jaxtorch's own tests need."""
    found = re.findall(r"^(?:from|import) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [name for name in found if name not in ("torch",)]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_library_prints_what_it_prints_on_pytorch(path: Path, run_python: Run):
    for name in libraries(path):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    ours = run_python("-m", "jaxtorch", str(path)).stdout
    theirs = run_python("-c", REFERENCE, str(path)).stdout
    assert len(theirs.splitlines()) > 3
    assert_same_text(ours, theirs, rtol=1e-3, atol=2e-5)
