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

PROGRAMS = sorted((ROOT / "compat_tests" / "ecosystem").glob("*.py"))
NUMBER = re.compile(r"-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b|\bnan\b|-?\binf\b")

# torchvision's compiled operations, which its Python declares at import, are absent where it was built for another PyTorch.
REFERENCE = """
import runpy, sys, torch
library = torch.library.Library("torchvision", "FRAGMENT")
try:
    import importlib.util
    if importlib.util.find_spec("torchvision") is not None:
        for name in ("nms", "qnms"):
            library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
except RuntimeError:
    pass
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def libraries(path: Path) -> list[str]:
    """What a program imports from elsewhere, but for what jaxtorch's own tests need."""
    found = re.findall(r"^(?:from|import) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [name for name in found if name not in ("torch",)]


def assert_same_text(ours: str, theirs: str, rtol: float, atol: float) -> None:
    """Line by line the same text, with numbers that are close."""
    assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
    for line, wanted in zip(ours.splitlines(), theirs.splitlines(), strict=True):
        got = [float(n) for n in NUMBER.findall(line)]
        assert got == pytest.approx([float(n) for n in NUMBER.findall(wanted)], rel=rtol, abs=atol, nan_ok=True), line


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_library_prints_what_it_prints_on_pytorch(path: Path, run_python: Run):
    for name in libraries(path):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    ours = run_python("-m", "jaxtorch", str(path)).stdout
    theirs = run_python("-c", REFERENCE, str(path)).stdout
    assert len(theirs.splitlines()) > 3
    assert_same_text(ours, theirs, rtol=1e-3, atol=2e-5)
