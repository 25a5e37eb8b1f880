"""The documents' links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *[f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))],
]


def anchors(page: str) -> set[str]:
    """What headings are called in links, as GitHub calls them."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    page = ROOT / name
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        other = page if not path else (page.parent / path).resolve()
        if not other.exists() or (anchor and anchor not in anchors(other.read_text(encoding="utf-8"))):
            broken.append(target)
    assert not broken
