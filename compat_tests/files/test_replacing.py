"""Saving over what is there: links, owners, modes and attributes stay, nothing is left behind, and a failure loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jaxtorch
from parity import parity_test

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and owners are POSIX's")


def hard_link(t: Any, folder: Path) -> Any:
    t.save(t.ones(3), folder / "a.pt")
    os.link(folder / "a.pt", folder / "b.pt")
    before = os.stat(folder / "a.pt").st_ino
    t.save(t.zeros(2), folder / "a.pt")
    return t.load(folder / "b.pt"), os.stat(folder / "a.pt").st_ino == before


def symbolic_link(t: Any, folder: Path) -> Any:
    t.save(t.ones(3), folder / "a.pt")
    os.symlink("a.pt", folder / "l.pt")
    t.save(t.zeros(2), folder / "l.pt")
    os.symlink("new.pt", folder / "dangling.pt")
    t.save(t.zeros(2), folder / "dangling.pt")
    return t.load(folder / "a.pt"), os.path.islink(folder / "l.pt"), t.load(folder / "new.pt")


def mode(t: Any, folder: Path) -> Any:
    t.save(t.ones(3), folder / "a.pt")
    new = os.stat(folder / "a.pt").st_mode
    os.chmod(folder / "a.pt", 0o640)
    t.save(t.ones(3), folder / "a.pt")
    return new, os.stat(folder / "a.pt").st_mode


def owner(t: Any, folder: Path) -> Any:
    t.save(t.ones(3), folder / "a.pt")
    if not os.getuid():
        os.chown(folder / "a.pt", 1234, 4321)
    t.save(t.zeros(2), folder / "a.pt")
    found = os.stat(folder / "a.pt")
    return found.st_uid, found.st_gid, t.load(folder / "a.pt")


def attributes(t: Any, folder: Path) -> Any:
    t.save(t.ones(3), folder / "a.pt")
    try:
        os.setxattr(folder / "a.pt", "user.note", b"kept")
    except (OSError, AttributeError):
        return "the file system has none"
    t.save(t.ones(3), folder / "a.pt")
    return os.getxattr(folder / "a.pt", "user.note")


def refused(t: Any, folder: Path) -> Any:
    os.mkdir(folder / "there")
    told = []
    for name in ("there", "there/", "missing/a.pt"):
        with pytest.raises(RuntimeError) as error:
            t.save(t.ones(3), f"{folder}/{name}")
        told.append(type(error.value).__name__)
    with pytest.raises(RuntimeError):
        t.save(t.ones(3), "")
    return told


CASES: list[Callable[[Any, Path], Any]] = [hard_link, symbolic_link, mode, owner, attributes, refused]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@parity_test
def test_saved_over(torch: Any, case: Any, tmp_path: Path) -> Any:
    folder = tmp_path / torch.__name__
    folder.mkdir()
    return [case(torch, folder), sorted(os.listdir(folder))]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    for names in (("a.pt",), ("a.pt", "b.pt")):
        jaxtorch.save(jaxtorch.ones(3), tmp_path / "a.pt")
        for other in names[1:]:
            os.link(tmp_path / "a.pt", tmp_path / other)
        with pytest.raises(Exception, match=r"pickle|local"):
            jaxtorch.save([jaxtorch.zeros(2), lambda: 0], tmp_path / "a.pt")
        assert jaxtorch.load(tmp_path / "a.pt").tolist() == [1, 1, 1]
        assert sorted(os.listdir(tmp_path)) == list(names)


ENDLESS = """
import sys, jaxtorch as torch
torch.save(torch.ones(2), sys.argv[1])
large = torch.zeros(30_000_000)
print("begins", flush=True)
while True:
    torch.save(large, sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="there are no files without a name")
def test_a_killed_process_leaves_nothing_behind(tmp_path: Path) -> None:
    running = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path / "a.pt")], stdout=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.readline()
    time.sleep(0.2)
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    assert os.listdir(tmp_path) == ["a.pt"]
    assert len(jaxtorch.load(tmp_path / "a.pt")) in (2, 30_000_000)
