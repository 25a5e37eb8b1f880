"""Files that are damaged or hostile: `torch.load` says so, and runs nothing."""

from __future__ import annotations

import io
import os
import pickle
import random
import signal
import struct
import subprocess
import sys
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_serialization import seen

import jaxtorch
from conftest import ROOT

CLEAR = (RuntimeError, pickle.UnpicklingError, EOFError)


def checkpoint(t: Any) -> Any:
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(4, 3), t.nn.BatchNorm1d(3), t.nn.Linear(3, 2))
    optimizer = t.optim.Adam(model.parameters())
    model(t.ones(2, 4)).sum().backward()
    optimizer.step()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": 3,
        "ema": t.nn.Parameter(t.ones(2)),
    }


def saved(obj: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    return buffer.getvalue()


def error_of(content: bytes, **options: Any) -> BaseException | None:
    """What `load` raises; AssertionError if it is nothing that a user could understand."""
    try:
        jaxtorch.load(io.BytesIO(content), **options)
    except CLEAR as error:
        assert len(str(error)) > 20, f"{type(error).__name__} says only {error}"
        return error
    return None


@pytest.mark.parametrize("content", [b"abc", b"a", b"hello world", b"\x80", b"\x80\x02.", b"\x00\x00\x00", b""])
def test_what_is_no_file_of_tensors(content: bytes) -> None:
    """The unpickler's own errors have the class that C's unpickler gives them."""
    with pytest.raises((pickle.UnpicklingError, EOFError)) as expected:
        torch.load(io.BytesIO(content), weights_only=False)
    with pytest.raises(expected.type):
        jaxtorch.load(io.BytesIO(content), weights_only=False)


# -- 200 damaged files


def contents(raw: bytes) -> list[tuple[int, int]]:
    """Where in a zip file the contents of records begin and end."""
    found = []
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        for info in archive.infolist():
            name, extra = struct.unpack("<HH", raw[info.header_offset + 26 : info.header_offset + 30])
            begin = info.header_offset + 30 + name + extra
            if info.file_size and "/." not in info.filename:
                found.append((begin, begin + info.file_size))
    return found


def damaged(raw: bytes, kind: str, r: random.Random) -> bytes:
    b = bytearray(raw)
    if kind == "cut off":
        return bytes(b[: r.randrange(1, len(b))])
    if kind == "a part missing":
        begin = r.randrange(len(b) - 200)
        del b[begin : begin + r.randrange(1, 200)]
        return bytes(b)
    begin, end = r.choice([(a, z) for a, z in contents(raw) if raw[a:z] != b"little"])
    place = r.randrange(begin, end)
    if kind == "a bit flipped":
        b[place] ^= 1 << r.randrange(8)
    else:
        n = r.randrange(2, 32)
        until = min(place + n, end)
        b[place:until] = bytes([x ^ r.randrange(1, 256) for x in b[place:until]])
    return bytes(b)


@pytest.mark.parametrize("kind", ["cut off", "a part missing", "a bit flipped", "bytes overwritten"])
def test_damaged_archives_are_refused(kind: str):
    r = random.Random(kind)
    ours = io.BytesIO()
    jaxtorch.save(checkpoint(jaxtorch), ours)
    for raw in (saved(checkpoint(torch)), ours.getvalue()):
        assert error_of(raw) is None
        for number in range(25):
            assert error_of(damaged(raw, kind, r)) is not None, (kind, number)


def test_damaged_files_of_the_old_format_are_refused():
    """That format has no checksums: damage to numbers and names cannot be told."""
    raw = saved(checkpoint(torch), _use_new_zipfile_serialization=False)
    r = random.Random(1)
    for _ in range(60):
        assert error_of(raw[: r.randrange(1, len(raw))]) is not None
    wanted = str(seen(jaxtorch.load(io.BytesIO(raw))))
    for _ in range(60):
        begin = r.randrange(len(raw) - 64)
        b = raw[:begin] + r.randbytes(r.randrange(1, 64)) + raw[begin + 32 :]
        assert error_of(b) is not None or str(seen(jaxtorch.load(io.BytesIO(b)))) != wanted


def test_files_that_are_none():
    for raw in (
        b"",
        b"PK\x03\x04",
        b"hello world, no pickle at all",
        b"\x80\x02.",
        bytes(600),
        b"\x89HDF\r\n\x1a\n" + bytes(99),
    ):
        assert error_of(raw) is not None, raw[:10]


def records(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name.removeprefix("archive/"): archive.read(name) for name in archive.namelist()}


def zipped(content: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(f"archive/{name}", data)
    return buffer.getvalue()


ALTERATIONS: dict[str, tuple[Callable[[dict[str, bytes]], Any], str]] = {
    "longer storage": (lambda f: f.update({"data/0": f["data/0"] + b"1234"}), r"20 bytes\) does not match expected size \(16"),
    "shorter storage": (lambda f: f.update({"data/0": f["data/0"][:8]}), r"8 bytes\) does not match expected size \(16"),
    "no storage": (lambda f: f.pop("data/0"), "failed locating file data/0"),
    "no pickle": (lambda f: f.pop("data.pkl"), "failed locating file data.pkl"),
    "other version": (lambda f: f.update(version=b"99\n"), "version 99, but the maximum supported version"),
    "more elements": (lambda f: f.update({"data.pkl": f["data.pkl"].replace(b"K\x04t", b"M\x00\x10t")}), "expected size .16384"),
    "far stride": (lambda f: f.update({"data.pkl": f["data.pkl"].replace(b"K\x01\x85", b"K\x09\x85")}), "do not fit a storage of 4"),
    "far offset": (lambda f: f.update({"data.pkl": f["data.pkl"].replace(b"QK\x00", b"QK\x02")}), "do not fit a storage of 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALTERATIONS)
@pytest.mark.parametrize("mmap", [False, True])
def test_archives_that_contradict_themselves(name: str, mmap: bool, tmp_path: Path):
    change, message = ALTERATIONS[name]
    content = records(saved(torch.arange(4.0)))
    before = dict(content)
    change(content)
    path = tmp_path / "a.pt"
    path.write_bytes(zipped(content))
    if content == before:
        pytest.skip("this version of PyTorch writes its pickle otherwise")
    with pytest.raises(RuntimeError, match=message):
        jaxtorch.load(path, mmap=mmap)


def test_compressed_archives():
    content = records(saved(torch.arange(4.0)))
    assert jaxtorch.load(io.BytesIO(zipped(content, zipfile.ZIP_DEFLATED))).tolist() == [0, 1, 2, 3]
    content["data.pkl"] = bytes(200 << 20)
    with pytest.raises(RuntimeError, match=f"would expand to {200 << 20}"):
        jaxtorch.load(io.BytesIO(zipped(content, zipfile.ZIP_DEFLATED)))


DIRECTORY = {  # place in an entry of the zip file's directory, bytes there, what they say instead
    "begins elsewhere": (42, 4, 0x7FFFFFFF),
    "begins where the first does": (42, 4, 0),
    "a huge record": (24, 4, 0xFFFFFFFE),
    "no such compression": (10, 2, 99),
    "compressed, it says": (10, 2, 14),
    "encrypted, it says": (8, 2, 1),
    "a long name": (28, 2, 0xFFFF),
    "long extras": (30, 2, 0xFFFF),
    "another checksum": (16, 4, 0x12345678),
}


@pytest.mark.parametrize("name", DIRECTORY)
def test_false_directories(name: str):
    at, size, value = DIRECTORY[name]
    raw = bytearray(saved(torch.arange(4.0)))
    begin = raw.find(b"PK\x01\x02")
    while begin >= 0:
        raw[begin + at : begin + at + size] = value.to_bytes(size, "little")
        begin = raw.find(b"PK\x01\x02", begin + 4)
    assert error_of(bytes(raw)) is not None


STRANGE = {
    "two folders": [("a/data.pkl", b"\x80\x02K\x01."), ("b/data.pkl", b"\x80\x02K\x02.")],
    "one name twice": [("a/data.pkl", b"\x80\x02K\x01."), ("a/data.pkl", b"\x80\x02K\x02.")],
    "a version without end": [("a/data.pkl", b"\x80\x02K\x01."), ("a/version", b"9" * 5000)],
    "a version that is no number": [("a/data.pkl", b"\x80\x02K\x01."), ("a/version", "\u00b2".encode())],
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_strange_archives(name: str):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for record in STRANGE[name]:
            archive.writestr(*record)
    assert error_of(buffer.getvalue()) is not None


KEYS = {"numbers": [0], "twice": ["0", "0"], "lists": [["0"]], "none": [], "a dictionary": {"0": 1}}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_the_old_format(name: str):
    old = saved(torch.arange(4.0), _use_new_zipfile_serialization=False)
    kept = pickle.dumps(next(iter(_storage_keys(old))), 2)
    assert old.count(kept) == 1
    keys = KEYS[name]
    assert error_of(old.replace(kept, pickle.dumps(keys, 2))) is not None


def _storage_keys(old: bytes) -> Any:
    """The last pickle in a file of the old format."""
    begin = max(i for i in range(len(old)) if old.startswith(b"\x80\x02]", i))
    yield pickle.loads(old[begin:])


# -- hostile pickles

touched: list[Any] = []


def touch(*args: Any) -> None:
    touched.append(args)


class Touching:
    def __init__(self, *args: Any) -> None:
        touch("init")

    def __setstate__(self, state: Any) -> None:
        touch("state")


def text(s: str) -> bytes:
    return b"X" + struct.pack("<I", len(s.encode())) + s.encode()


def doubled(seed: bytes, before: bytes, after: bytes) -> bytes:
    """Sixty containers, each of which holds the one before it twice: too many paths to print or to hash them all."""
    found = seed + b"q\x000"
    for i in range(1, 60):
        found += before + b"h" + bytes([i - 1]) + b"h" + bytes([i - 1]) + after + b"q" + bytes([i]) + b"0"
    return found + b"h" + bytes([59])


ME = f"c{__name__}\ntouch\n".encode()
KIND = f"c{__name__}\nTouching\n".encode()
STORAGE = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x04tQ"
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n("
TAIL = b"\x89ccollections\nOrderedDict\n)R"

HOSTILE = {
    "calls a function": ME + b")R.",
    "os.system": b"cposix\nsystem\n(" + text("exit 3") + b"tR.",
    "eval": b"c__builtin__\neval\n(" + text("__import__('os').system('exit 3')") + b"tR.",
    "exec": b"cbuiltins\nexec\n(" + text("touch()") + b"tR.",
    "import": b"cbuiltins\n__import__\n(" + text("antigravity") + b"tR.",
    "getattr": b"cbuiltins\ngetattr\n(ctorch\nTensor\n" + text("__class__") + b"tR.",
    "a name on the stack": b"\x80\x04" + text(__name__) + text("touch") + b"\x93)R.",
    "a dotted name": b"\x80\x04" + text("torch") + text("serialization.os.system") + b"\x93(" + text("exit 3") + b"tR.",
    "instance": f"(i{__name__}\nTouching\n.".encode(),
    "object": b"(" + KIND + b"o.",
    "new object": KIND + b")\x81.",
    "new object with keywords": b"\x80\x04" + KIND + b")}\x92.",
    "state of a class": KIND + b")\x81}b.",
    "state of a function": b"ctorch._utils\n_rebuild_tensor_v2\n}b.",
    "extension": b"\x80\x02\x82\x01.",
    "calls a tensor type": b"ctorch\nTensor\n)R.",
    "calls text": text("touch") + b")R.",
    "another function of torch": b"ctorch.hub\nload\n(" + text("a/b") + text("c") + b"tR.",
    "jaxtorch's own": b"cjaxtorch.serialization\nload\n(" + text("/etc/passwd") + b"tR.",
    "NumPy's loader": b"cnumpy\nload\n(" + text("/etc/passwd") + b"tR.",
    "rebuilds by a function of its own": b"ctorch._tensor\n_rebuild_from_type_v2\n(" + ME + b"ctorch\nTensor\n)}tR.",
    "rebuilds a parameter of nothing": b"ctorch._utils\n_rebuild_parameter\n(" + text("x") + b"\x88}tR.",
    "a tensor on text": REBUILD + text("x") + b"K\x00K\x01\x85K\x01\x85" + TAIL + b"tR.",
    "no such storage": REBUILD + STORAGE.replace(text("0"), text("../../etc/passwd")) + b"K\x00K\x01\x85K\x01\x85" + TAIL + b"tR.",
    "an id that is none": b"K\x01Q.",
    "an id of a class": b"(" + text("storage") + KIND + text("0") + text("cpu") + b"K\x04tQ.",
    "an id with a list as key": b"(" + text("storage") + b"ctorch\nFloatStorage\n]" + text("cpu") + b"K\x04tQ.",
    "a negative count": STORAGE.replace(b"K\x04tQ", b"J\xff\xff\xff\xfftQ") + b".",
    "a huge count": STORAGE.replace(b"K\x04tQ", b"\x8a\x08" + struct.pack("<q", 2**60) + b"tQ") + b".",
    "elements in one place": REBUILD + STORAGE + b"K\x00\x8a\x08" + struct.pack("<q", 2**50) + b"\x85K\x00\x85" + TAIL + b"tR.",
    "negative stride": REBUILD + STORAGE + b"K\x03K\x04\x85J\xff\xff\xff\xff\x85" + TAIL + b"tR.",
    "sizes that are text": REBUILD + STORAGE + b"K\x00" + text("a") + b"\x85K\x01\x85" + TAIL + b"tR.",
    "memory from a number": b"cbuiltins\nbytearray\n(\x8a\x06" + struct.pack("<q", 2**44)[:6] + b"tR.",
    "a length beyond the file": b"\x8e" + struct.pack("<Q", 2**62) + b"abc.",
    "nothing on the stack": b"R.",
    "an unknown memo": b"h\x07.",
    "no end": b"]",
    "deep": b"(" * 100000,
    "a deep key": b"})" + b"\x85" * 200000 + b"K\x01s.",
    "called, endless to print": doubled(b"]", b"](", b"e") + b")R.",
    "an id, endless to print": doubled(b"]", b"](", b"e") + b"Q.",
    "sizes, endless to print": REBUILD + STORAGE + b"K\x00" + doubled(b"]", b"](", b"e") + b"K\x01\x85" + TAIL + b"tR.",
    "an endless key": b"}" + doubled(b")", b"", b"\x86") + b"K\x01s.",
    "endless keys": b"}(" + doubled(b")", b"", b"\x86") + b"K\x01u.",
    "an endless element": b"cbuiltins\nset\n]" + doubled(b")", b"", b"\x86") + b"a\x85R.",
    "an endless key of an OrderedDict": b"ccollections\nOrderedDict\n](" + doubled(b")", b"", b"\x86") + b"K\x01ta\x85R.",
    "endless elements": b"\x80\x04(" + doubled(b")", b"", b"\x86") + b"\x91.",
    "writes into a tensor": REBUILD + STORAGE + b"K\x00K\x04\x85K\x01\x85" + TAIL + b"tRK\x00K\x01s.",
    "appends to no list": REBUILD + STORAGE + b"K\x00K\x04\x85K\x01\x85" + TAIL + b"tR(K\x01e.",
    "fills a class": b"cbuiltins\nset\n(K\x00K\x01u.",
    "requires_grad is a list": REBUILD + STORAGE + b"K\x00K\x04\x85K\x01\x85]" + TAIL[1:] + b"tR.",
    "digits without end": b"I" + b"9" * 100000 + b"\n.",
    "a frame beyond the file, no end": b"\x80\x04\x95" + struct.pack("<Q", 2**60) + b"]",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_run_nothing(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "system", touch)
    body = HOSTILE[name]
    body = body if body.startswith(b"\x80") else b"\x80\x02" + body
    content = {"data.pkl": body, "byteorder": b"little", "data/0": bytes(16), "version": b"3\n"}
    touched.clear()
    assert error_of(zipped(content)) is not None
    old = saved(1, _use_new_zipfile_serialization=False)
    head = old[: old.index(b"type_sizes")]
    head = old[: old.index(b"uu.", len(head)) + 3]
    assert error_of(head + body) is not None
    assert touched == []


def test_the_attacks_would_work_without_protection(monkeypatch: pytest.MonkeyPatch):
    """What is refused is so because it is refused: trusted, these files call what they name."""
    for name in ("calls a function", "a name on the stack", "state of a class"):
        body = HOSTILE[name]
        content = {"data.pkl": body if body.startswith(b"\x80") else b"\x80\x02" + body, "version": b"3\n"}
        touched.clear()
        jaxtorch.load(io.BytesIO(zipped(content)), weights_only=False)
        assert touched, name


def test_errors_of_the_users_own_code_are_theirs():
    class Mine(Exception):
        pass

    def places(storage: Any, location: str) -> Any:
        raise Mine(location)

    with pytest.raises(Mine, match="cpu"):
        jaxtorch.load(io.BytesIO(saved(torch.ones(1))), map_location=places)
    with jaxtorch.serialization.safe_globals([touch, Touching]):
        touched.clear()
        jaxtorch.load(io.BytesIO(zipped({"data.pkl": b"\x80\x02" + ME + b")R.", "version": b"3\n"})))
        assert touched == [()]


def test_unsafe_globals_are_listed(tmp_path: Path):
    for t in (jaxtorch, torch):
        obj = {"m": t.nn.Linear(1, 1), "c": Touching, "t": t.ones(1)}
        path = tmp_path / f"{t.__name__}.pt"
        t.save(obj, path)
        for reader in (jaxtorch, torch):
            found = reader.serialization.get_unsafe_globals_in_checkpoint(path)
            assert sorted(found) == [f"{__name__}.Touching", "torch.nn.modules.linear.Linear"]
    with pytest.raises(ValueError, match="checkpoint returned by"):
        jaxtorch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"abcdefg"))


def test_what_jaxtorch_has_not_is_named():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint4x2)
    with pytest.raises(NotImplementedError, match="quantized tensors"):
        jaxtorch.load(io.BytesIO(saved(quantized)))


# -- saving

SAVES_FOREVER = """
import itertools, sys, jaxtorch as torch
for n in itertools.count():
    torch.save({"n": n, "t": torch.full((300_000,), float(n))}, sys.argv[1])
    if n == 1:
        print("go", flush=True)
"""


def test_a_killed_save_leaves_a_whole_file(tmp_path: Path):
    path = tmp_path / "state.pt"
    root = str(ROOT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", SAVES_FOREVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"go\n"
        seen_while_running = []
        for _ in range(20):  # a reader beside the writer never finds half a file
            found = jaxtorch.load(path)
            seen_while_running.append(found["n"])
            assert set(found["t"].tolist()) == {float(found["n"])}
            time.sleep(0.003)
        process.send_signal(signal.SIGKILL)
    found = torch.load(path)
    assert found["n"] >= seen_while_running[-1] > 0
    assert set(found["t"].tolist()) == {float(found["n"])}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_mapped_storages_stay_in_the_file(tmp_path: Path):
    path = tmp_path / "large.pt"
    jaxtorch.save({"a": jaxtorch.arange(1e6), "b": jaxtorch.zeros(3)}, path)
    found = jaxtorch.load(path, mmap=True)
    assert str(path) in Path("/proc/self/maps").read_text()
    assert found["a"][-1].item() == 999999
    found["b"].add_(1)
    assert found["b"].tolist() == [1, 1, 1]
    assert jaxtorch.load(path)["b"].tolist() == [0, 0, 0]  # what is written stays in memory
