"""What storages have under private names: reading from files and writing to them, bytes in reverse, shared memory."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .._core.types import dtypes
from .storage_types import TypedStorage, UntypedStorage


def byteswap(self: UntypedStorage, dtype: dtypes.dtype) -> None:
    """Reverse the bytes of each element of this type, or of each of the two parts of a complex one."""
    _byteswap(self, dtype.itemsize // (2 if dtype.is_complex else 1))


def _byteswap(self: UntypedStorage, element_size: int) -> None:
    self._put(np.ascontiguousarray(self._bytes().reshape(-1, element_size)[:, ::-1]).reshape(-1))


def _get_filename(self: UntypedStorage) -> Any:
    return self.filename


def _write_file(self: UntypedStorage, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
    """Write the bytes to a file; before them, with `save_size`, how many elements of so many bytes they are."""
    if save_size:
        f.write(struct.pack("<q", self.nbytes() // element_size))
    f.write(self._bytes().tobytes())


def _read(f: Any, element_size: int) -> np.ndarray[Any, Any]:
    (count,) = struct.unpack("<q", f.read(8))
    found = f.read(count * element_size)
    if len(found) != count * element_size:
        raise RuntimeError("unexpected EOF. The file might be corrupted.")
    return np.frombuffer(found, np.uint8).copy()


def _new_with_file(cls: Any, f: Any, element_size: int) -> UntypedStorage:
    """A storage of what `_write_file` wrote with its size."""
    content = _read(f, element_size)
    made = UntypedStorage(len(content))
    made._put(content)
    return made


def _set_from_file(
    self: UntypedStorage, f: Any, offset: int | None, is_real_file: bool, element_size: int
) -> UntypedStorage:
    """Read what `_write_file` wrote with its size into this storage, which must have that size."""
    if offset is not None:
        f.seek(offset)
    content = _read(f, element_size)
    if len(content) != self.nbytes():
        raise RuntimeError(f"storage has wrong byte size: expected {self.nbytes()} got {len(content)}")
    self._put(content)
    return self


def _new_shared(cls: Any, size: int, *, device: Any = "cpu") -> UntypedStorage:
    """A storage in memory that forked processes share."""
    return UntypedStorage(size, device=device).share_memory_()


def _new_shared_typed(cls: Any, size: int) -> TypedStorage:
    made = _new_shared(cls, size * cls.dtype.itemsize)
    return TypedStorage(wrap_storage=made, dtype=cls.dtype)


for _member in (byteswap, _byteswap, _get_filename, _write_file, _set_from_file):
    setattr(UntypedStorage, _member.__name__, _member)
setattr(UntypedStorage, "_new_with_file", classmethod(_new_with_file))  # noqa: B010
setattr(UntypedStorage, "_new_shared", classmethod(_new_shared))  # noqa: B010
setattr(TypedStorage, "_new_shared", classmethod(_new_shared_typed))  # noqa: B010
