"""The README's pictures are what `scripts/draw_pictures.py` draws from its table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import draw_pictures  # noqa: E402

sys.path.pop(0)


@pytest.mark.parametrize("name", ["loop.svg", "speed.svg"])
def test_a_picture_is_up_to_date(name: str):
    drawn = draw_pictures.pictures()[name]
    assert (ROOT / "docs" / "images" / name).read_text(encoding="utf-8") == drawn, "run scripts/draw_pictures.py"
    assert f"docs/images/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_is_read():
    found = draw_pictures.speeds((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(found) >= 6 and all(1e-6 < t < 10 for sides in found.values() for t in sides.values())
    assert draw_pictures.seconds("~4.32 ms") == pytest.approx(4.32e-3)
    assert draw_pictures.seconds("1.02e+03 ms") == pytest.approx(1.02) and draw_pictures.seconds("-") is None
