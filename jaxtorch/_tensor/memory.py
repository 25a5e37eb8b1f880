"""The memory behind storages: how much there is, its content, its address, and growing it.

A tensor's memory is a value that XLA holds, so a storage has no address to read from: its bytes are copied out on demand, and
what is written into it is put back whole. What a value cannot do, such as growing under the tensors that view it, moves
the memory to the host for good, where every tensor is a window on flat memory (`_core/tensor/numpy_sharing.py`).
"""

from __future__ import annotations

import os
import weakref
from typing import Any

import numpy as np

from .._core.record.program import force
from .._core.run.runner import is_tracer
from .._core.tensor import numpy_sharing
from .._core.tensor.storage import Alias, Storage, Version, alias_of
from .._core.tensor.tensor import Tensor, wrap
from .._core.transforms import forward_mode
from .._core.types.device import cpu
from .._core.types.value import Value


class PinnedMemory(numpy_sharing.HostMemory):
    """Flat memory that stays the truth for good."""

    __slots__ = ()

    def shared(self) -> bool:
        return True


def extent_of(storage: Storage) -> int:
    """How many bytes of memory a storage has."""
    if storage.host is not None:
        return storage.host.flat.nbytes
    aval, count = storage.value.aval, storage.value.aval.numel
    if storage.layout is not None and count:
        stride, offset = storage.layout
        count = offset + 1 + sum((n - 1) * s for n, s in zip(aval.shape, stride, strict=True))
    return count * aval.dtype.itemsize


def flat_of(storage: Storage) -> np.ndarray[Any, Any]:
    """The content as flat memory: the memory itself where it is on the host, else a copy."""
    if storage.host is not None:
        return storage.host.flat
    return numpy_sharing._laid_out(np.asarray(force(storage.value)), storage.layout)


def pin(storage: Storage, flat: np.ndarray[Any, Any]) -> None:
    """Make host memory the truth of a storage, for good."""
    if storage.value.aval.slot is not cpu.slot:
        raise NotImplementedError("jaxtorch: a storage on an accelerator cannot be resized or read as another type")
    forward_mode.refuse(storage.value, "the memory cannot be resized or replaced")
    storage.host = PinnedMemory(flat, None)
    storage.version.n += 1
    storage.version.hidden += 1


def whole_of(storage: Storage) -> Tensor:
    """A tensor that reads and writes all of the storage, without counting as a modification."""
    t = wrap(storage.value)
    t._layout = storage.layout
    t._alias = Alias(storage, (), None, 0)
    t._alias.silent = Version(0)
    return t


_copies: weakref.WeakKeyDictionary[Storage, Any] = weakref.WeakKeyDictionary()
"""For storages whose address was asked for: memory with their content, and the version it has."""


def address(storage: Storage) -> int:
    """Where the content is in memory: the same place for as long as the storage lives.

    On the CPU it can be read there, as it is at the moment of the question: XLA's own memory moves with each write, so it
    is a copy, unless NumPy shares the memory. On other devices, and under JAX's transformations, it only names the storage.
    """
    storage.addressed = True
    if storage.host is not None:
        return int(storage.host.flat.__array_interface__["data"][0])
    extent = extent_of(storage)
    if not extent or storage.value.aval.slot.is_meta:
        return 0
    if storage.value.aval.slot is not cpu.slot or is_tracer(storage.value.array):
        return id(storage) << 8
    memory, version = _copies.get(storage, (None, None))
    if memory is None or memory.nbytes != extent:
        memory = np.empty(extent + 64, np.uint8)
        memory = memory[-memory.ctypes.data % 64 :][:extent]  # aligned as PyTorch's is
    if version != storage.version.n:
        memory[:] = np.ascontiguousarray(flat_of(storage)).view(np.uint8)
        _copies[storage] = memory, storage.version.n
    return memory.ctypes.data


def can_grow(storage: Storage) -> bool:
    """Is the memory a storage's own, so that it may have another size?"""
    return storage.host is None or not storage.host.fixed


def grow(storage: Storage, size: int) -> None:
    """Give a storage another number of bytes: on the host, where tensors that view it need not agree on a shape."""
    if not can_grow(storage):
        raise RuntimeError("Trying to resize storage that is not resizable")
    old = flat_of(storage)
    item = old.itemsize
    flat = np.zeros(-(-size // item), old.dtype)
    flat[: min(len(old), len(flat))] = old[: len(flat)]
    pin(storage, flat)


def copied(storage: Storage, memo: dict[int, Any]) -> Storage:
    """A copy of the memory, one for all that a `deepcopy` finds on it."""
    found = memo.get(id(storage))
    if found is None:
        aval = storage.value.aval
        if storage.host is None:
            whole = wrap(storage.value).clone()
        else:
            whole = wrap(Value(aval, np.array(numpy_sharing.whole(storage))))
        whole._layout, whole._ver = storage.layout, 1
        found = memo[id(storage)] = alias_of(whole).storage
        if storage.host is not None and type(storage.host) is not numpy_sharing.HostMemory:
            flat = storage.host.flat.copy()  # longer than the value, or of another type
            found.host = type(storage.host)(flat, None)
    return found


def shared_file(filename: Any, dtype: Any, count: int) -> np.ndarray[Any, Any]:
    """The first elements of a file, whose memory is the file; it is made, or grown, to hold them."""
    needed = count * dtype.itemsize
    if not os.path.exists(filename) or os.path.getsize(filename) < needed:
        with open(filename, "ab") as file:
            file.truncate(needed)
    return np.asarray(np.memmap(filename, dtype, "r+", shape=(count,)))
