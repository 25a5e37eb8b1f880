"""`torch.load`: reads PyTorch's zip format and the two before it, by default without running anything the file names.

Whatever is wrong with a file is told as RuntimeError (the archive, a storage) or pickle.UnpicklingError (the pickle in it).
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from .._core.define.op import functions
from ..utils.serialization import config
from .rebuilding import LoadedStorage, StorageKind, StorageView, affordable, hand_out, place, shortened, typed
from .saving import MAGIC, PROTOCOL, skipping
from .unpickling import RestrictedUnpickler, unpickle

_NEWEST = 10  # the version of the zip format that PyTorch 2.13 still reads
_TEXT = 64 << 20  # bytes of a record other than a storage that may be compressed as strongly as it likes


def checked(pid: Any) -> Any:
    """A storage's persistent id: ('storage', kind, key, location, number of elements, ...)."""
    if not (isinstance(pid, tuple) and len(pid) >= 5 and pid[0] == "storage" and isinstance(pid[1], StorageKind)):
        raise pickle.UnpicklingError(
            f"Unknown typename for persistent_load, expected 'storage' but got {shortened(pid)}"
        )
    key, location, count = pid[2:5]
    if not (isinstance(key, str) and isinstance(location, str) and type(count) is int and count >= 0):
        raise pickle.UnpicklingError(f"{shortened(pid[2:5])} is no key, location and number of elements of a storage")
    return pid


def _refuse(pid: Any) -> Any:
    raise pickle.UnpicklingError(f"unexpected storage in the header: {shortened(pid)}")


def bytes_of(kind: StorageKind, count: int) -> int:
    return count * (1 if kind.dtype is None else kind.dtype.itemsize)


# -- the zip format


@contextlib.contextmanager
def _reading(what: str) -> Iterator[None]:
    """Context in which Python's errors for damaged archives become RuntimeErrors that say what was read."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, EOFError, OSError, NotImplementedError,
            OverflowError) as error:  # fmt: skip
        raise RuntimeError(
            f"PytorchStreamReader failed reading {what}: {error}. The file is corrupt or truncated"
        ) from error


class Archive:
    """The records of a zip file. is_scripted: it holds a module of TorchScript's, which `torch.jit.load` reads."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        with _reading("zip archive"):
            self.zip = zipfile.ZipFile(file)
            self.names = set(self.zip.namelist())
        text = next((n for n in self.zip.namelist() if n.endswith("data.pkl") and n.count("/") <= 1), None)
        if text is None:
            raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found")
        self.folder = text.removesuffix("data.pkl")
        strange = next((n for n in self.names if not n.startswith(self.folder)), None)
        if strange is not None:
            raise RuntimeError(
                f"PytorchStreamReader failed: {strange!r} is not in the folder {self.folder!r} of the archive"
            )
        if len(self.names) != len(self.zip.namelist()):
            raise RuntimeError("PytorchStreamReader failed: the archive has two records of one name")
        self.is_scripted = self.folder + "constants.pkl" in self.names

    def small(self, name: str, default: bytes | None = None) -> bytes:
        """A record other than a storage."""
        path = self.folder + name
        if path not in self.names and default is not None:
            return default
        with _reading(f"file {name}"):
            info = self.zip.getinfo(path)
            if info.file_size > max(_TEXT, 100 * info.compress_size):
                raise ValueError(f"{info.compress_size} bytes would expand to {info.file_size}")
            return self._read(info)

    def storage(self, name: str, nbytes: int, mmap: bool) -> Any:
        """The bytes of a storage's record, of which the pickle says how many there are."""
        if self.folder + name not in self.names:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        with _reading(f"file {name}"):
            info = self.zip.getinfo(self.folder + name)
            if info.file_size != nbytes:
                raise ValueError(f"record size ({info.file_size} bytes) does not match expected size ({nbytes} bytes)")
            affordable(nbytes, "a storage")
            if skipping.on:
                return bytes(nbytes)
            if not mmap:
                return self._read(info)
            if info.compress_type != zipfile.ZIP_STORED:
                raise ValueError("it is compressed and cannot be mapped into memory")
            return self._mapped(info)

    def _read(self, info: zipfile.ZipInfo) -> bytes:
        with self.zip.open(info) as record:
            if info.CRC == 0:  # PyTorch computed none (`skip_data`, `set_crc32_options(False)`)
                record._expected_crc = None  # pyright: ignore[reportAttributeAccessIssue]
            return record.read()

    def _mapped(self, info: zipfile.ZipInfo) -> Any:
        if not info.file_size:
            return b""
        self.file.seek(info.header_offset + 26)
        in_name, in_extra = struct.unpack("<HH", self.file.read(4))
        return np.memmap(self.file, np.uint8, "c", info.header_offset + 30 + in_name + in_extra, (info.file_size,))


def swapped(archive: Archive) -> bool:
    """Are the bytes of the file in another order than this machine's?"""
    said = "little" if config.load.endianness is None else config.load.endianness.name.lower()
    order = archive.small("byteorder", (sys.byteorder if said == "native" else said).encode()).decode(errors="replace")
    if order not in ("little", "big"):
        raise ValueError(f"Unknown endianness type: {order}")
    return order != sys.byteorder


def check_version(archive: Archive) -> None:
    said = archive.small("version", b"3").strip()
    if not said.isdigit() or len(said) > 9 or int(said) > _NEWEST:
        raise RuntimeError(
            f"Attempted to read a PyTorch file with version {said[:20].decode(errors='replace')}, but the maximum supported "
            f"version for reading is {_NEWEST}"
        )


def read_zip(archive: Archive, map_location: Any, reader: type, mmap: bool, options: dict[str, Any]) -> Any:
    """Read an object in the zip format; with `mmap`, storages are mapped from the file as they are used."""
    check_version(archive)
    swap = swapped(archive)
    storages: dict[str, LoadedStorage] = {}

    def storage_of(pid: Any) -> LoadedStorage:
        _, kind, key, location, count = checked(pid)[:5]
        found = storages.get(key)
        if found is None:
            content = archive.storage(f"data/{key}", bytes_of(kind, count), mmap)
            found = storages[key] = LoadedStorage(typed(content, kind, count, swap), kind.dtype, location)
            place(found, map_location)
        return found

    result = unpickle(io.BytesIO(archive.small("data.pkl")), storage_of, reader, options)
    hand_out(storages)
    return result


# -- the format before PyTorch 1.6


def _exactly(file: IO[bytes], n: int) -> bytes:
    found = file.read(n)
    if len(found) != n:
        raise RuntimeError(f"unexpected EOF, expected {n - len(found)} more bytes. The file might be corrupted.")
    return found


def _size_of(file: IO[bytes]) -> int:
    here = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(here)
    return end


def _content(file: IO[bytes], kind: StorageKind, swap: bool, expected: int | None) -> np.ndarray[Any, Any]:
    """The next storage of a file: its number of elements, then its bytes."""
    (count,) = struct.unpack(">q" if swap else "<q", _exactly(file, 8))
    if count < 0 or (expected is not None and count != expected):
        raise RuntimeError(f"storage has wrong size: expected {expected} elements, got {count}")
    if bytes_of(kind, count) > _size_of(file):
        raise RuntimeError(
            f"unexpected EOF, expected a storage of {bytes_of(kind, count)} bytes. The file might be corrupted."
        )
    return typed(_exactly(file, bytes_of(kind, count)), kind, count, swap)


def read_legacy(file: IO[bytes], map_location: Any, reader: type, options: dict[str, Any]) -> Any:
    """Read an object in the format that PyTorch wrote before 1.6: pickles, then the storages one after another."""
    if unpickle(file, _refuse, reader, options) != MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = unpickle(file, _refuse, reader, options)
    if version != PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {shortened(version)}")
    system = unpickle(file, _refuse, reader, options)
    if not isinstance(system, dict):
        raise RuntimeError("Invalid system information; corrupt file?")
    swap = bool(system.get("little_endian", True)) != (sys.byteorder == "little")
    storages: dict[str, LoadedStorage] = {}
    limit = _size_of(file)

    def storage_of(pid: Any) -> Any:
        if reader is not RestrictedUnpickler and isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "module":
            return pid[1]  # a class, with its file's name and text
        _, kind, key, location, count, *view = checked(pid)
        if key not in storages:
            if bytes_of(kind, count) > limit:
                raise RuntimeError(f"a storage of {bytes_of(kind, count)} bytes in a file of {limit}: it is corrupt")
            storages[key] = LoadedStorage(typed(bytes(bytes_of(kind, count)), kind, count, swap), kind.dtype, location)
            place(storages[key], map_location)
        if view and view[0] is not None:
            _, begin, size = view[0]
            return StorageView(storages[key], begin, size)
        return storages[key]

    # The bytes come after the pickle whose tensors they fill: read it once to learn the storages, then again with them there.
    begin = file.tell()
    unpickle(file, storage_of, reader, options)
    keys = unpickle(file, _refuse, reader, options)
    if not isinstance(keys, list) or any(type(k) is not str for k in keys) or sorted(keys) != sorted(storages):
        raise RuntimeError("the file does not have the storages that its tensors name; corrupt file?")
    for key in keys:
        storage = storages[key]
        storage.flat, storage.owner = _content(file, StorageKind(storage.dtype), swap, storage.flat.size), None
    end = file.tell()
    file.seek(begin)
    result = unpickle(file, storage_of, reader, options)
    file.seek(end)  # where the next object may begin
    hand_out(storages)
    return result


# -- the tar format, of before PyTorch 0.1.10


def is_tar(file: IO[bytes]) -> bool:
    """Is the file a tar archive? One that follows something else is none."""
    start = file.tell()
    if start:
        return False
    try:
        with tarfile.open(fileobj=file, mode="r:"):
            return True
    except tarfile.TarError:
        return False
    finally:
        file.seek(start)


def read_tar(file: IO[bytes], map_location: Any, reader: type, options: dict[str, Any]) -> Any:
    """Read an object from a tar archive of storages, tensors on them, and a pickle that names the tensors by key."""
    with tarfile.open(fileobj=file, mode="r:") as archive:
        records = []
        for name in ("storages", "tensors", "pickle"):
            try:
                records.append(archive.extractfile(name))
            except KeyError:
                raise RuntimeError(f"the tar archive has no record {name!r}: it is no file of tensors") from None
        storages, tensors, text = records
        if storages is None or tensors is None or text is None:
            raise RuntimeError("the tar archive has a link or folder where a record should be")

        def read(record: IO[bytes], refer: Any = _refuse) -> Any:
            return unpickle(record, refer, reader, options)

        known: dict[Any, Any] = {}
        for _ in range(read(storages)):
            key, location, kind = read(storages)
            flat = _content(storages, kind, sys.byteorder != "little", None)
            known[key] = LoadedStorage(flat, kind.dtype, location)
            place(known[key], map_location)
        for target, root, offset, count in read(storages):
            known[target] = StorageView(known[root], offset, count)
        for _ in range(read(tensors)):
            key, storage, _ = read(tensors)
            (ndim,) = struct.unpack("<i4x", _exactly(tensors, 8))
            size, stride = (struct.unpack(f"<{ndim}q", _exactly(tensors, 8 * ndim)) for _ in range(2))
            (offset,) = struct.unpack("<q", _exactly(tensors, 8))
            made = functions["empty"](0) if storage is None else known[storage]
            known[key] = made if storage is None else made.tensor(made.dtype, offset, size, stride)

        def referred(pid: Any) -> Any:
            return pid[0] if isinstance(pid, tuple) else known[int(pid)]

        return read(text, referred)


def is_zip(file: IO[bytes]) -> bool:
    """Does the file begin as a zip archive does?"""
    start = file.tell()
    magic = file.read(4)
    file.seek(start, os.SEEK_SET)
    return magic == b"PK\x03\x04"
