"""`torch._C.PyTorchFileWriter` and `PyTorchFileReader`: the zip archives of `torch.save`, record by record, for libraries that write
them themselves."""

from __future__ import annotations

import random
import sys
import zipfile
from pathlib import Path
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types.dtypes import uint8
from .saving import _record

_ALIGNMENT = 64


def _bytes(data: Any, size: int) -> bytes:
    """The first `size` bytes of what a record is to hold: bytes, a text, or the memory of a storage."""
    if isinstance(data, str):
        data = data.encode()
    if hasattr(data, "untyped"):  # a storage
        data = functions["empty"](0, dtype=uint8).set_(data.untyped()).numpy().tobytes()
    elif isinstance(data, Tensor) or not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"write_record(): data must be bytes, str or a storage, not {type(data).__name__}")
    return bytes(data)[:size]


class PyTorchFileWriter:
    """An archive that is being written, to a path or to an object with `write`. All records are in a folder of the archive's name.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> writer = torch._C.PyTorchFileWriter(buffer)
    >>> writer.write_record("numbers", b"123", 3)
    >>> writer.write_end_of_file()
    >>> torch._C.PyTorchFileReader(io.BytesIO(buffer.getvalue())).get_record("numbers")
    b'123'
    """

    __module__ = "jaxtorch._C"

    def __init__(self, file: Any, compute_crc32: bool = True, storage_alignment: int = _ALIGNMENT) -> None:
        named = isinstance(file, (str, Path))
        self._name = Path(file).stem if named else "archive"
        self._file = open(file, "wb") if named else None  # noqa: SIM115
        self._zip: Any = zipfile.ZipFile(self._file or file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._alignment = storage_alignment
        self._records: set[str] = set()
        self._id = f"{random.SystemRandom().randrange(10**19, 2 * 10**19):020d}" + f"{len(self._name):020d}"

    def archive_name(self) -> str:
        """The name of the folder that all records are in."""
        return self._name

    def serialization_id(self) -> str:
        """A number of this archive, as text."""
        return self._id

    def set_min_version(self, version: int) -> None:
        """Nothing to do: the version of the format is always 3."""

    def get_all_written_records(self) -> set[str]:
        """The names of the records so far."""
        return set(self._records)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Add `size` bytes under a name. RuntimeError once the archive is closed, or for a name that is there already."""
        if self._zip is None:
            raise RuntimeError("PyTorchFileWriter: the end of the file has been written")
        if name in self._records:
            raise RuntimeError(f"Tried to serialize file twice: {name}")
        _record(self._zip, f"{self._name}/{name}", _bytes(data, size), self._alignment)
        self._records.add(name)

    def write_end_of_file(self) -> None:
        """Add the records that every archive has, and close it."""
        written = self._records
        for name, content in (("version", "3\n"), ("byteorder", sys.byteorder), (".data/serialization_id", self._id)):
            if name not in written:
                self.write_record(name, content, len(content))
        self._zip.close()
        self._zip = None
        if self._file is not None:
            self._file.close()


class PyTorchFileReader:
    """An archive to read from, at a path or in a file object. RuntimeError where it is none."""

    __module__ = "jaxtorch._C"

    def __init__(self, file: Any) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {error}") from None
        names = self._zip.namelist()
        self._name = names[0].partition("/")[0] if names else "archive"

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(f"{self._name}/{name}")
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [name.removeprefix(self._name + "/") for name in self._zip.namelist()]

    def has_record(self, name: str) -> bool:
        """Is there a record of this name?"""
        return f"{self._name}/{name}" in self._zip.NameToInfo

    def get_record(self, name: str) -> bytes:
        """What a record holds. RuntimeError where there is none of that name."""
        return self._zip.read(self._info(name))

    def get_record_size(self, name: str) -> int:
        """How many bytes it holds."""
        return self._info(name).file_size

    def get_record_offset(self, name: str) -> int:
        """Where its bytes begin in the file."""
        info, file = self._info(name), self._zip.fp
        if file is None:
            raise RuntimeError("PytorchStreamReader: the file is closed")
        file.seek(info.header_offset + 26)
        header = file.read(4)
        return info.header_offset + 30 + int.from_bytes(header[:2], "little") + int.from_bytes(header[2:], "little")

    def serialization_id(self) -> str:
        """The number of the archive, as text; empty where it has none."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """A tensor of `numel` elements over the bytes of a record."""
        return functions["frombuffer"](bytearray(self.get_record(name)), dtype=dtype, count=numel)
