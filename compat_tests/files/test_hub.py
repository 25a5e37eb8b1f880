"""`torch.hub`: repositories from folders, archives (as GitHub's) and the cache; whether they are trusted; state dicts."""

from __future__ import annotations

import builtins
import contextlib
import email.message
import hashlib
import importlib
import io
import json
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch as reference

from parity import attempt, candidate

HUBCONF = '''
dependencies = ["math"]
from helper_of_hub import VALUE

def entry(x=1):
    """What it does."""
    import late_helper_of_hub  # while the entry runs, its folder is where modules are found
    return VALUE * x + late_helper_of_hub.MORE

def _hidden():
    pass
'''


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "own-repo-abc123"
    folder.mkdir(parents=True)
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "helper_of_hub.py").write_text("VALUE = 20\n")
    (folder / "late_helper_of_hub.py").write_text("MORE = 1\n")
    shutil.make_archive(str(tmp_path / "archive"), "zip", folder.parent, folder.name)
    return folder


def seen(torch: Any, tmp_path: Path, monkeypatch: Any, call: Callable[[Any], Any], answer: str = "") -> list[Any]:
    """What a call gives, what it prints, whether it asks, and what is in the cache then."""
    hub = importlib.import_module(torch.__name__ + ".hub")
    cache = tmp_path / f"cache_{torch.__name__}"
    asked: list[str] = []
    monkeypatch.setattr(hub, "_hub_dir", str(cache))
    monkeypatch.setattr(hub, "_git_archive_link", lambda owner, name, ref: (tmp_path / "archive.zip").as_uri())
    monkeypatch.setattr(builtins, "input", lambda text="": (asked.append(text), answer)[1])
    for name in ("hubconf", "helper_of_hub", "late_helper_of_hub"):
        sys.modules.pop(name, None)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        found = attempt(lambda: call(hub))
    listed = sorted(p.name for p in cache.iterdir()) if cache.is_dir() else []
    trusted = (cache / "trusted_list").read_text().split() if "trusted_list" in listed else []
    printed = [text.getvalue().strip().replace(str(cache), "CACHE") for text in (out, err)]
    printed[0] = printed[0][printed[0].find("Downloading") :] if "Downloading" in printed[0] else ""
    return [getattr(found, "kind", found), len(asked) == 1, printed, listed, trusted]


def load(hub: Any, name: str = "own/repo:v1", **options: Any) -> Any:
    return hub.load(name, "entry", x=2, skip_validation=True, **options)


STEPS: dict[str, list[tuple[Callable[[Any], Any], str]]] = {
    "asked, no": [(load, "n"), (load, "")],
    "asked, yes, then known": [(load, "y"), (load, "n"), (lambda hub: load(hub, "own/repo:v2/x"), "n")],
    "trusted": [(lambda hub: load(hub, trust_repo=True), ""), (lambda hub: load(hub, verbose=False), "")],
    "asked in any case": [(lambda hub: load(hub, trust_repo=True), ""), (lambda hub: load(hub, trust_repo=False), "n")],
    "trusted owner": [(lambda hub: load(hub, "pytorch/vision:v1"), "")],
    "again": [(lambda hub: load(hub, trust_repo=True), ""), (lambda hub: load(hub, force_reload=True), "")],
    "help and list": [
        (lambda hub: hub.help("own/repo:v1", "entry", skip_validation=True, trust_repo=True), ""),
        (lambda hub: hub.list("own/repo:v1"), ""),
        (lambda hub: hub.help("own/repo:v1", "nothing"), ""),
    ],
    "no such thing": [
        (lambda hub: hub.load("own", "entry"), ""),
        (lambda hub: hub.load("own", "entry", source="else"), ""),
        (lambda hub: load(hub, trust_repo=True) and hub.load("own/repo:v1", 3), ""),
    ],
}


@pytest.mark.parametrize("name", STEPS)
def test_repositories(name: str, repository: Path, tmp_path: Path, monkeypatch: Any) -> None:
    for call, answer in STEPS[name]:
        theirs, ours = (seen(torch, tmp_path, monkeypatch, call, answer) for torch in (reference, candidate()))
        assert ours == theirs


def test_folders(repository: Path, tmp_path: Path, monkeypatch: Any) -> None:
    calls = [
        lambda hub: hub.load(str(repository), "entry", 3, source="local"),
        lambda hub: hub.load(str(tmp_path), "entry", source="local"),
        lambda hub: hub.load(str(repository), "_missing", source="local"),
    ]
    for call in calls:
        theirs, ours = (seen(torch, tmp_path, monkeypatch, call) for torch in (reference, candidate()))
        assert ours == theirs
    (repository / "hubconf.py").write_text("dependencies = ['no_such_module_anywhere']\ndef entry(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_module_anywhere"):
        candidate().hub.load(str(repository), "entry", source="local")


def _patched(torch: Any, monkeypatch: Any, answer: Callable[[str], Any]) -> None:
    def opened(request: Any, *args: Any, **kwargs: Any) -> Any:
        return answer(request if isinstance(request, str) else request.full_url)

    monkeypatch.setattr(urllib.request, "urlopen", opened)
    if torch is reference:
        monkeypatch.setattr(torch.hub, "urlopen", opened)


class Response(io.BytesIO):
    headers = email.message.Message()


def test_without_a_connection(repository: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """The main branch is what the cache has."""

    def fails(url: str) -> Any:
        raise urllib.error.URLError("no connection")

    found = []
    for torch in (reference, candidate()):
        first = seen(torch, tmp_path, monkeypatch, lambda hub: load(hub, "own/repo:master", trust_repo=True))
        with monkeypatch.context() as patch:
            _patched(torch, patch, fails)
            cached = seen(torch, tmp_path, monkeypatch, lambda hub: load(hub, "own/repo"))
            absent = seen(torch, tmp_path, monkeypatch, lambda hub: load(hub, "own/other"))
        found.append([first, cached, absent])
    assert found[0] == found[1] and found[0][1][0] == 41 and found[0][2][0] == "RuntimeError"


def test_branches_of_forks_are_refused(repository: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """GitHub is asked for branches and tags, a hundred at a time."""
    pages = {"branches": [["main", "a1"]], "tags": [["v1", "b2"], ["v2", "c3"]]}

    def answer(url: str) -> Any:
        if url.startswith("file:"):
            return urllib.request.build_opener().open(url)
        kind, page = url.split("?")[0].rsplit("/", 1)[1], int(url.rsplit("page=", 1)[1])
        names = [pages[kind][page - 1]] if page <= len(pages[kind]) else []
        return Response(json.dumps([{"name": n, "commit": {"sha": sha}} for n, sha in names]).encode())

    for ref, fine in (("v2", True), ("a1", True), ("stranger", False)):
        found = []
        for torch in (reference, candidate()):
            with monkeypatch.context() as patch:
                _patched(torch, patch, answer)
                call = lambda hub, ref=ref: hub.load(f"own/repo:{ref}", "entry", trust_repo=True)  # noqa: E731
                found.append(seen(torch, tmp_path, monkeypatch, call))
        assert found[0] == found[1] and (found[1][0] == 21) == fine


def test_state_dicts(tmp_path: Path) -> None:
    torch = candidate()
    content = io.BytesIO()
    torch.save({"w": torch.arange(3)}, content)
    digest = hashlib.sha256(content.getvalue()).hexdigest()
    for name, fine in ((f"net-{digest[:8]}.pt", True), ("net-00000000.pt", False)):
        (tmp_path / name).write_bytes(content.getvalue())
        found = attempt(
            lambda name=name: torch.hub.load_state_dict_from_url(
                (tmp_path / name).as_uri(), str(tmp_path / "cache"), progress=False, check_hash=True
            )
        )
        assert found["w"].tolist() == [0, 1, 2] if fine else found.kind == "RuntimeError"
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [f"net-{digest[:8]}.pt"]
