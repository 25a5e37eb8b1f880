"""The pictures of the README and of `docs/explanation` are what `scripts/draw_pictures.py` draws."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "scripts"))
import draw_pictures  # noqa: E402
import fill_readme  # noqa: E402

sys.path.pop(0)


PICTURES = draw_pictures.pictures()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str):
    assert (DOCS / "images" / name).read_text(encoding="utf-8") == PICTURES[name], "run scripts/draw_pictures.py"
    pages = [ROOT / "README.md", *(DOCS / "explanation").glob("*.md")]
    assert any(f"images/{name})" in page.read_text(encoding="utf-8") for page in pages)


def test_every_picture_is_drawn_by_the_script():
    assert sorted(p.name for p in (DOCS / "images").iterdir()) == sorted(PICTURES)


def test_the_table_is_read():
    found = draw_pictures.speeds((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(found) >= 6 and all(1e-6 < t < 10 for sides in found.values() for t in sides.values())
    assert draw_pictures.seconds("~4.32 ms") == pytest.approx(4.32e-3)
    assert draw_pictures.seconds("1.02e+03 ms") == pytest.approx(1.02) and draw_pictures.seconds("-") is None


def test_the_readme_has_the_tables_of_the_files():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert fill_readme.filled(readme) == readme, "run scripts/fill_readme.py"
