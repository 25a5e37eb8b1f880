"""What an installation has, what it says of what it lacks, and what it takes from its folder."""

from __future__ import annotations

import re
import runpy
import shutil
import struct
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import jaxtorch
from conftest import ROOT, Run
from jaxtorch._core import native
from jaxtorch._core.dispatch import recorder
from jaxtorch._core.record import program

FOLDER = Path(native.__file__).parent
built = pytest.mark.skipif(not native.available(), reason="the kernels in C++ were not built here")


def found_in(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "__file__", str(folder / "__init__.py"))
    return native._found.__wrapped__()


@built
def test_kernels_of_another_python_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    own = f"kernels{EXTENSION_SUFFIXES[0]}"
    shutil.copy(FOLDER / own, tmp_path / "kernels.cpython-39-x86_64-linux-gnu.so")
    shutil.copy(FOLDER / own, tmp_path / "kernels.so")
    library, why = found_in(tmp_path, monkeypatch)
    assert library is None
    assert "built for another Python (kernels.cpython-39-x86_64-linux-gnu.so, kernels.so)" in why
    shutil.copy(FOLDER / own, tmp_path / own)
    monkeypatch.setattr(
        native.jax.ffi, "register_ffi_target", lambda *_, **__: None
    )  # XLA knows those of the first copy
    assert found_in(tmp_path, monkeypatch)[0]._name == str(tmp_path / own)


def test_what_is_missing_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert found_in(tmp_path, monkeypatch) == (None, native.not_built("kernels"))
    assert native.not_built("kernels").startswith("not built: ")
    (tmp_path / f"kernels{EXTENSION_SUFFIXES[0]}").write_text("not a library")
    assert found_in(tmp_path, monkeypatch)[1].startswith("they cannot be loaded: ")


@built
def test_kernels_of_another_version_say_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "VERSION", -1)
    assert "another version of jaxtorch" in native._found.__wrapped__()[1]


@built
@pytest.mark.skipif(program.IMMEDIATE, reason="nothing is recorded")
def test_the_recorder_of_another_version_says_so(monkeypatch: pytest.MonkeyPatch):
    assert recorder.missing() == ""
    recorder.end()
    try:
        monkeypatch.setattr(recorder, "VERSION", -1)
        assert "another version of jaxtorch" in recorder.missing()
    finally:
        monkeypatch.undo()
        recorder.begin()


def test_the_configuration_names_the_parts():
    lines = jaxtorch.__config__.show().splitlines()
    assert lines[0].startswith("PyTorch")
    parts = {line[4:].split(":")[0] for line in lines[1:] if ":" in line}
    assert parts == {"kernels in C++", "recording in C"}


def test_the_information_is_short_and_names_everything(run_python: Run):
    done = run_python("-m", "jaxtorch.info", env={"JAXTORCH_NATIVE": "0"})
    lines = dict(re.split(r":\s+", line, maxsplit=1) for line in done.stdout.splitlines())  # name: value
    assert {"Python", "jax", "jaxlib", "numpy", "devices", "C++ compiler", "settings"} <= lines.keys()
    assert lines["kernels in C++"] == lines["recording in C"] == "no: left out by JAXTORCH_NATIVE=0"
    assert "JAXTORCH_NATIVE=0" in lines["settings"]


@pytest.mark.parametrize("log, count", [("compile", 1), ("", 0)])
def test_the_log_says_once_what_is_missing(run_python: Run, log: str, count: int):
    program = "import jaxtorch as torch; torch.ones(2).sum().item()"
    done = run_python("-c", program, env={"JAXTORCH_NATIVE": "0", "JAXTORCH_LOG": log})
    assert done.stderr.count("no kernels in C++") == done.stderr.count("no recording in C") == count


def sections(path: Path) -> set[str]:
    """The names of the sections of an ELF file of 64 bits."""
    data = path.read_bytes()
    start, size, count, names = *struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<II4Q", data, start + size * i) for i in range(count)]
    table = data[headers[names][4] :]
    return {table[h[0] : table.index(b"\0", h[0])].decode() for h in headers}


@pytest.mark.parametrize("name", ["kernels", "recorder"])
def test_no_symbols_of_debuggers_are_built(name: str):
    path = FOLDER / f"{name}{EXTENSION_SUFFIXES[0]}"
    if not path.exists() or path.read_bytes()[:5] != b"\x7fELF\x02":
        pytest.skip("not built here, or not for a system with such files")
    assert ".text" in sections(path)
    assert not [s for s in sections(path) if s.startswith(".debug")]


def long_description() -> str:
    """What the installed or built package says of itself, made afresh from the README."""
    made = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
    return made["on_an_index"]((ROOT / "README.md").read_text(encoding="utf-8"), None)


def targets(text: str) -> list[str]:
    return re.findall(r"\]\(([^()\s]+)\)", text) + re.findall(r"(?:src|href)=\"([^\"]+)\"", text)


def test_links_of_the_long_description_lead_somewhere():
    assert [t for t in targets((ROOT / "README.md").read_text(encoding="utf-8")) if not t.startswith("http")]
    assert not [t for t in targets(long_description()) if not t.startswith(("http", "#"))]
    assert "The performance page has all of it" in long_description()


def test_links_are_absolute_where_the_project_has_a_home():
    made = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["on_an_index"]
    readme = "See [the docs](docs/x.md#y), [a site](https://a.b/c), [here](#z).\n\n![bars](docs/x.svg)\n"
    home = "https://host/project"
    assert made(readme, home) == (
        "See [the docs](https://host/project/blob/main/docs/x.md#y), [a site](https://a.b/c), [here](#z).\n\n"
        "![bars](https://host/project/raw/main/docs/x.svg)\n"
    )
    assert made(readme, None) == "See the docs, [a site](https://a.b/c), [here](#z).\n\n"


def test_the_tested_pythons_are_those_that_are_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r"Python :: 3\.\d+$", c)}
    lowest, highest = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", project["requires-python"]).groups()
    assert named == {f"3.{n}" for n in range(int(lowest), int(highest))}
