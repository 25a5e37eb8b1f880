"""Programs as people write them, which print on jaxtorch what they print on PyTorch; numbers to 1e-3 relative."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, Run
from printed import assert_same_text

PROGRAMS = sorted((ROOT / "compat_tests" / "programs" / "scripts").glob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_what_it_prints_on_pytorch(path: Path, run_python: Run):
    ours = run_python("-m", "jaxtorch", str(path)).stdout
    theirs = run_python(str(path)).stdout
    assert len(theirs.splitlines()) > 5
    assert_same_text(ours, theirs, rtol=1e-3, atol=2e-5)
