"""What a whole program prints, on PyTorch and on jaxtorch: the same text, with numbers that are close."""

from __future__ import annotations

import re

import pytest

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
"""Runs the program that is named after it with PyTorch."""


def assert_same_text(ours: str, theirs: str, rtol: float, atol: float) -> None:
    """Line by line the same text, with numbers that are close."""
    assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
    for line, wanted in zip(ours.splitlines(), theirs.splitlines(), strict=True):
        got = [float(n) for n in NUMBER.findall(line)]
        assert got == pytest.approx([float(n) for n in NUMBER.findall(wanted)], rel=rtol, abs=atol, nan_ok=True), line
