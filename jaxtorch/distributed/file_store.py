"""`FileStore`: a store in a file that processes share."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from .store import Store, Table, until

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_LENGTHS = struct.Struct("<IIB")  # of the key and of the value; is the key removed?


class _FileTable:
    """A table whose changes are written behind one another into a file, under a lock."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.read = 0
        self.here = Table()

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        """The file, locked, once what others have written to it has been read."""
        with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self.read)
            rest, at = file.read(), 0
            while at < len(rest):
                key_length, value_length, gone = _LENGTHS.unpack_from(rest, at)
                at += _LENGTHS.size
                key = rest[at : at + key_length].decode()
                at += key_length
                if gone:
                    self.here.delete(key)
                else:
                    self.here.set(key, rest[at : at + value_length])
                at += value_length
            self.read += len(rest)
            yield file

    def _write(self, file: Any, key: str, value: bytes, gone: bool = False) -> None:
        name = key.encode()
        record = _LENGTHS.pack(len(name), len(value), gone) + name + value
        file.seek(0, os.SEEK_END)
        file.write(record)
        file.flush()
        self.read += len(record)

    def _changed(self, key: str, name: str, *given: Any) -> Any:
        """Do to the table here what `name` says, and write the key's new value."""
        with self._open() as file:
            before = self.here.items.get(key)
            result = getattr(self.here, name)(key, *given)
            now = self.here.items.get(key)
            if now is not None and (now is not before or name == "set"):
                self._write(file, key, now)
            elif now is None and before is not None:
                self._write(file, key, b"", True)
        return result

    def _fresh(self) -> Table:
        with self._open():
            return self.here

    def set(self, key: str, value: bytes) -> None:
        self._changed(key, "set", value)

    def add(self, key: str, amount: int) -> int:
        return self._changed(key, "add", amount)

    def append(self, key: str, value: bytes) -> None:
        self._changed(key, "append", value)

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        return self._changed(key, "compare_set", expected, desired)

    def delete(self, key: str) -> bool:
        return self._changed(key, "delete")

    def get(self, key: str) -> bytes:
        return self._fresh().get(key)

    def wait(self, keys: Sequence[str], timeout: float) -> bool:
        return until(lambda: self._fresh().check(keys), timeout)

    def check(self, keys: Sequence[str]) -> bool:
        return self._fresh().check(keys)

    def count(self) -> int:
        return self._fresh().count()

    def names(self) -> list[str]:
        return self._fresh().names()


class FileStore(Store):
    """A store in a file that all processes can open. The last one to let go removes the file."""

    __module__ = "jaxtorch.distributed"

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self._world_size = world_size
        self._table = _FileTable(file_name)
        self._table.add(_USERS, 1)

    def _late(self, keys: Sequence[str], limit: int) -> Exception:
        return RuntimeError(f"Timeout waiting for key: {keys[0]} after {limit} ms")

    def __del__(self) -> None:
        table = getattr(self, "_table", None)
        if table is not None and os is not None and os.path.exists(table.path):
            with contextlib.suppress(Exception):
                if table.add(_USERS, -1) == 0:
                    os.remove(table.path)


_USERS = "efcount/"
"""The key that counts who uses the file."""
