"""`torch.serialization`'s settings and `torch.utils.serialization.config`, next to PyTorch's, and files across."""

from __future__ import annotations

import importlib
import io
import struct
import zipfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from parity import candidate, reference


def config_of(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.utils.serialization").config


def saved(t: Any, obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    t.save(obj, file, **options)
    file.seek(0)
    return file


def load_skipping(t: Any) -> Any:
    file = saved(t, {"a": t.arange(3), "b": t.ones(2)})
    with t.serialization.skip_data():
        return {k: (v.shape, v.dtype) for k, v in t.load(file).items()}


def save_skipping(t: Any, **options: Any) -> Any:
    x = t.arange(3.0)
    with t.serialization.skip_data():
        file = saved(t, {"a": x, "b": x[1:]}, **options)
    return {k: v.tolist() for k, v in t.load(file).items()}


def aligned(t: Any) -> Any:
    with config_of(t).patch({"save.storage_alignment": 4096}):
        file = saved(t, t.arange(3.0))
    info = zipfile.ZipFile(file).getinfo("archive/data/0")
    file.seek(info.header_offset + 26)
    return (info.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))) % 4096


def mapped(t: Any) -> Any:
    with config_of(t).patch("load.mmap", True):
        return t.load(saved(t, t.ones(2)))


def patched(t: Any, name: str) -> Any:
    with config_of(t).patch(name, 1):
        return None


def endianness(t: Any) -> Any:
    s = t.serialization
    s.set_default_load_endianness(s.LoadEndianness.BIG)
    try:
        return str(config_of(t).load.endianness), str(s.get_default_load_endianness())
    finally:
        s.set_default_load_endianness(None)


def checksums(t: Any) -> Any:
    t.serialization.set_crc32_options(False)
    try:
        return config_of(t).save.compute_crc32, t.serialization.get_crc32_options()
    finally:
        t.serialization.set_crc32_options(True)


def mapping_flags(t: Any) -> Any:
    with t.serialization.set_default_mmap_options(2):
        return t.serialization.get_default_mmap_options()


CASES = {
    "skip_data, save": save_skipping,
    "skip_data, load": load_skipping,
    "skip_data, old format": lambda t: save_skipping(t, _use_new_zipfile_serialization=False),
    "alignment": aligned,
    "mmap": mapped,
    "unknown setting": lambda t: setattr(config_of(t).load, "nothing", 1),
    "unknown setting read": lambda t: config_of(t).save.nothing,
    "unknown setting patched": lambda t: patched(t, "load.nothing"),
    "unknown group patched": lambda t: patched(t, "nothing"),
    "endianness": endianness,
    "checksums": checksums,
    "mapping": mapping_flags,
    "location": lambda t: t.serialization.location_tag(t.ones(2).untyped_storage()),
    "restored": lambda t: t.serialization.default_restore_location(t.ones(2).untyped_storage(), "cpu").nbytes(),
    "restored from nowhere": lambda t: t.serialization.default_restore_location(t.ones(2).untyped_storage(), "nowhere"),
    "hpu": lambda t: t.serialization.validate_hpu_device("hpu:0"),
    "storage type": lambda t: str(t.serialization.StorageType("HalfStorage")),
    "storage class": lambda t: t.serialization.normalize_storage_type(t.FloatStorage) is t.FloatStorage,
    "numbers": lambda t: [getattr(t.serialization, n) for n in (
        "MAGIC_NUMBER", "PROTOCOL_VERSION", "LONG_SIZE", "INT_SIZE", "SHORT_SIZE", "STORAGE_KEY_SEPARATOR", "MAP_SHARED")],
    "public names": lambda t: [n for n in reference().serialization.__all__ if not hasattr(t.serialization, n)],
    **{f"version {v} {strict}": lambda t, v=v, strict=strict: t.serialization.check_module_version_greater_or_equal(
        SimpleNamespace(__name__="m", __version__=v), (1, 10, 2), strict)
       for v in ("1.9.7", "1.10.2", "2", "1.x") for strict in (True, False)},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_settings(case: str) -> None:
    found = []
    for t in (reference(), candidate()):
        try:
            found.append(str(CASES[case](t)).replace("jaxtorch", "torch"))
        except Exception as error:
            found.append((type(error), str(error).split(" nothing")[0][:60].replace("jaxtorch", "torch")))
    assert found[0] == found[1]


@pytest.mark.parametrize("writer", [reference, candidate])
def test_files_without_checksums_or_contents(writer: Any) -> None:
    t, other = writer(), candidate() if writer is reference else reference()
    t.serialization.set_crc32_options(False)
    try:
        assert other.load(saved(t, t.arange(3.0))).tolist() == [0, 1, 2]
    finally:
        t.serialization.set_crc32_options(True)
    with t.serialization.skip_data():
        file = saved(t, t.arange(3.0))
    assert other.load(file).tolist() == [0, 0, 0]


@pytest.fixture
def registered() -> Iterator[dict[str, list[Any]]]:
    """A place of the user's own, 'shelf', in both."""
    calls: dict[str, list[Any]] = {}
    for t in (reference(), candidate()):
        mine = calls[t.__name__] = []

        def tag(storage: Any, mine: list[Any] = mine) -> str:
            mine.append(storage.nbytes())
            return "shelf"

        def restore(storage: Any, location: str, mine: list[Any] = mine) -> Any:
            mine.append(location)
            return storage if location == "shelf" else None

        t.serialization.register_package(5, tag, restore)
    yield calls
    reference().serialization._package_registry.pop(0)
    importlib.import_module(f"{candidate().__name__}._serialization.saving").packages.clear()


def test_register_package(registered: dict[str, list[Any]]) -> None:
    found = []
    for t in (reference(), candidate()):
        file = saved(t, t.arange(3.0))
        first = t.load(file).tolist()
        file.seek(0)
        found.append([first, t.load(file, map_location="cpu").tolist(), registered[t.__name__]])
    assert found[0] == found[1]


def test_unknown_places() -> None:
    t = candidate()
    packages = importlib.import_module(f"{t.__name__}._serialization.saving").packages
    t.serialization.register_package(5, lambda storage: "shelf", lambda storage, location: None)
    try:
        file = saved(t, t.arange(3.0))
    finally:
        packages.clear()
    with pytest.raises(RuntimeError, match=r"don't know how to restore data location .* \(tagged with shelf\)"):
        t.load(file)
    file.seek(0)
    assert t.load(file, map_location="cpu").tolist() == [0, 1, 2]
