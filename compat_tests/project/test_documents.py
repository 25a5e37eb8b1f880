"""The documents: their links lead somewhere, the site shows every page, and the examples do what the pages say they do.

In a page of the site, blocks are run in order, in one namespace and one folder:

- a block marked `python` is run; where its first line is a comment with a file's name (`# train.py`) it is kept as that file instead;
- a block marked `sh` is run by bash, with jaxtorch importable;
- a block marked `text` right after one of these is what it prints, `...` standing for anything. Where a Python block ends in an
  exception, the last line of the text is its type and message.

The examples of the tutorial are run on PyTorch as well, and print the same there.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch as pytorch

import jaxtorch
from conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(str(p.relative_to(ROOT)) for p in DOCS.rglob("*.md"))
READMES = [
    str(p.relative_to(ROOT))
    for folder in ("jaxtorch", "compat_tests")
    for p in sorted((ROOT / folder).rglob("README.md"))
]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *READMES, *PAGES]
EXAMPLES = (
    "docs/index.md",
    "docs/tutorial/",
    "docs/how_to/",
    "docs/explanation/",
    "docs/reference/settings.md",
    "docs/reference/glossary.md",
)
SOURCES = [
    str(p.relative_to(ROOT))
    for folder in ("jaxtorch", "compat_tests", "benchmarks", "scripts", "examples", "setup.py")
    for p in [ROOT / folder, *(ROOT / folder).rglob("*.*")]
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)


def anchors(page: str) -> set[str]:
    """What headings are called in links, as GitHub calls them."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str):
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


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", *READMES, *PAGES])
def test_files_that_are_named_are_there(name: str):
    """As the end of a path, such as `_core/run/runner.py`. The journal names files of its day."""
    if name.startswith("docs/journal/"):
        pytest.skip("files of their day")
    text = FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    named = re.findall(r"`((?:[\w.]+/)*[a-z_0-9]+\.(?:py|c|inc|txt))`", text)
    assert [n for n in named if not any(f"/{path}".endswith(f"/{n}") for path in SOURCES)] == []


# -- the site


def script(name: str) -> ModuleType:
    """A file of `scripts` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_navigation_names_every_page_once():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", settings, re.MULTILINE)
    assert sorted(f"docs/{name}" for name in named) == PAGES


def test_the_api_reference_names_what_is_public():
    api = script("api_pages")
    functional = api.page("nn.functional")
    assert "## `torch.nn.functional.gelu` {#torch.nn.functional.gelu}" in functional
    assert "torch.nn.functional.gelu(input, *, approximate='none', out=None)" in functional
    assert "- [torch.nn](api/torch.nn.md): " in api.contents()
    assert len(api.public("")) > 700 and len(api.public("Tensor")) > 550
    for place in api.PLACES:
        assert api.page(place).count("\n## ") >= 5, place


def test_a_docstring_as_a_page():
    api = script("api_pages")
    text = "Input (*, in_features); `a*b` stays.\n\n    >>> 1 * 2\n    2\n\nLast:\n    code *here*"
    assert api.escaped(text).split("\n\n") == [
        r"Input (\*, in\_features); `a*b` stays.", "```pycon\n>>> 1 * 2\n2\n```", "Last:", "```text\ncode *here*\n```",
    ]  # fmt: skip
    links = "[a](b.md) [README](../README.md#x) ![p](images/loop.svg) [s](https://a.b)"
    assert api.inside(links, DOCS / "x.md") == "[a](b.md) README ![p](images/loop.svg) [s](https://a.b)"


def test_the_page_of_settings_names_them_all():
    read = set()
    for path in (ROOT / "jaxtorch").rglob("*.py"):
        read |= set(re.findall(r"""["'](JAXTORCH_[A-Z_]+)["']""", path.read_text(encoding="utf-8")))
    said = re.findall(
        r"^\| `(JAXTORCH_[A-Z_]+)=", (DOCS / "reference" / "settings.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert read == set(said)


def test_the_page_of_speeds_is_up_to_date():
    made = script("performance_page")
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "run scripts/performance_page.py"


def test_the_site_is_built(tmp_path: Path):
    pytest.importorskip("mkdocs", reason="the site's builder is not installed (scripts/docs installs it)")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (tmp_path / "reference" / "api" / "torch.nn.functional" / "index.html").exists()


# -- the examples


def blocks(page: str) -> list[tuple[str, str, str | None]]:
    """Kind, code, and the text that stands right below, of each example."""
    found: list[tuple[str, str, str | None]] = []
    end = -1
    for match in FENCE.finditer(page):
        kind, code = match[1], match[2]
        if kind == "text" and found and not page[end : match.start()].strip():
            found[-1] = (*found[-1][:2], code)
        elif kind in ("python", "sh"):
            found.append((kind, code, None))
        end = match.end() if kind in ("python", "sh") else -1
    return found


def in_python(code: str, names: dict[str, Any], name: str) -> str:
    """What the code prints, and the exception it ends with."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            exec(compile(code, name, "exec", dont_inherit=True), names)
        except Exception as error:
            said.write(f"{type(error).__name__}: {error}\n")
    return said.getvalue()


def in_shell(code: str, folder: Path) -> str:
    """What the commands print, errors too. `python` is this one; no setting of jaxtorch's comes from outside."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("JAXTORCH_")}
    env |= {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-c", code], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )  # fmt: skip
    return ran.stdout


def same(said: str, shown: str) -> bool:
    """Is the output as shown, `...` standing for anything?"""
    return doctest.OutputChecker().check_output(shown, said, doctest.ELLIPSIS)


def run_page(name: str, folder: Path, library: ModuleType = jaxtorch) -> list[str]:
    """Run a page's examples; what went otherwise than it says."""
    page = (ROOT / name).read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    wrong = []
    for kind, code, shown in blocks(page):
        if library is not jaxtorch:
            code = code.replace("import jaxtorch as torch", "import torch").replace("jaxtorch", "torch")
        file = re.match(r"# (\w+\.py)\n", code) if kind == "python" else None
        if file:
            (folder / file[1]).write_text(code, encoding="utf-8")
            continue
        said = in_shell(code, folder) if kind == "sh" else in_python(code, names, name)
        if not same(said, shown or ""):
            wrong.append(f"{code}\n--- shown:\n{shown or ''}\n--- printed:\n{said}")
    return wrong


WITH_EXAMPLES = [p for p in PAGES if p.startswith(EXAMPLES) and blocks((ROOT / p).read_text(encoding="utf-8"))]
ONE_BY_ONE = os.environ.get("JAXTORCH_EXECUTION") == "immediate"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name: str, folder: Path):
    if ONE_BY_ONE and name.startswith("docs/explanation/"):
        pytest.skip("is about operations that are recorded")
    wrong = run_page(name, folder)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("name", [p for p in WITH_EXAMPLES if p.startswith("docs/tutorial/")])
def test_the_tutorial_prints_the_same_on_pytorch(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pytorch, "compile", lambda function: function)  # it needs a compiler of C++, and minutes
    wrong = run_page(name, folder, pytorch)
    assert not wrong, "\n\n".join(wrong)
