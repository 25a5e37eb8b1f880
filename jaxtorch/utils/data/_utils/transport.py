"""How a worker's batch reaches the main process.

Everything is pickled with protocol 5; the data of arrays and tensors stays out of the pickle. Small arrays go
through the pipe. Each big one lies in an anonymous shared memory file whose descriptor is sent: with no name,
nothing leaks when a process dies. `allocate` lets a worker collate straight into such a file, without a copy.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from collections import deque
from math import prod
from multiprocessing import reduction
from sys import getrefcount
from typing import Any

import numpy as np

from .. import _engine

__all__ = ["SHARED_MINIMUM", "allocate", "receive", "send", "use_shared_memory"]

SHARED_MINIMUM = 1 << 22
"""Bytes from which an array is worth a shared memory file: below, the pipe costs less."""

KEPT_MINIMUM, KEPT_MAXIMUM = 1 << 22, 1 << 26
"""Bytes of an array between which the memory of batches is kept for the next ones, three of one size at most."""
_HELD_HERE = 2  # references to a block that nobody else holds, where it is counted

_kept: deque[np.ndarray] = deque(maxlen=3)
_sharing = False
_worker = False
_blocks: dict[int, tuple[int, int]] = {}
"""In a worker, the shared arrays of the batch being made: address -> (file descriptor, bytes)."""


def use_shared_memory() -> None:
    """Called once in a worker: from now on `allocate` returns shared memory for big arrays."""
    global _sharing, _worker
    _worker = True
    _sharing = hasattr(os, "memfd_create") and hasattr(reduction, "sendfds")


def in_worker() -> bool:
    return _worker


def _map_shared(descriptor: int, size: int) -> np.ndarray:
    return np.frombuffer(mmap.mmap(descriptor, size), dtype=np.uint8)


def _new_shared(size: int) -> tuple[int, np.ndarray]:
    descriptor = os.memfd_create("jaxtorch-batch")
    try:
        os.ftruncate(descriptor, size)
        return descriptor, _map_shared(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise


def _kept_block(size: int) -> np.ndarray:
    """Bytes of a block that nobody holds any more, or of a new one: the system would give and clear its pages for each batch anew."""
    for _ in range(len(_kept)):
        try:
            block = _kept.popleft()  # nobody else's until it is there again
        except IndexError:
            break
        if len(block) == size:
            taken = block[:] if getrefcount(block) == _HELD_HERE else None
            _kept.append(block)
            if taken is not None:
                return taken
    block = np.empty(size, np.uint8)
    _kept.append(block)
    return block[:]


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An uninitialised array; in a worker a big one lies in shared memory, elsewhere where a batch lay before that nobody holds."""
    size = prod(shape) * dtype.itemsize
    if not _worker and KEPT_MINIMUM <= size <= KEPT_MAXIMUM and not dtype.hasobject:
        return _kept_block(size).view(dtype).reshape(shape)
    if not _sharing or size < SHARED_MINIMUM or dtype.hasobject:
        return np.empty(shape, dtype)
    descriptor, data = _new_shared(size)
    _blocks[data.ctypes.data] = (descriptor, size)
    return data.view(dtype).reshape(shape)


def forget_blocks() -> None:
    """Closes the files of `allocate`; what is mapped stays readable."""
    for descriptor, _ in _blocks.values():
        os.close(descriptor)
    _blocks.clear()


def _rebuild_array(data: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint8).view(dtype).reshape(shape)


def _rebuild_tensor(array: np.ndarray, requires_grad: bool) -> Any:
    tensor = _engine.from_host(array)
    return tensor.requires_grad_() if requires_grad else tensor


class _BatchPickler(pickle.Pickler):
    """Sends tensors as NumPy arrays, and the bytes of arrays out of band, whatever their dtype."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is np.ndarray and not obj.dtype.hasobject and obj.dtype.names is None:
            contiguous = np.ascontiguousarray(obj)
            flat = contiguous.reshape(-1).view(np.uint8) if obj.size else np.empty(0, np.uint8)
            return _rebuild_array, (pickle.PickleBuffer(flat), obj.dtype, obj.shape)  # pyright: ignore[reportArgumentType]
        if type(obj) is _engine.Tensor:
            if obj.grad_fn is not None:
                raise RuntimeError(
                    "A DataLoader worker returned a tensor that is not a leaf and requires grad; "
                    "call detach() on it in the dataset or in collate_fn"
                )
            array = obj._host_array()
            if array is None:
                array = obj.detach().cpu().numpy()
            return _rebuild_tensor, (array, obj.requires_grad)
        return NotImplemented


def send(connection: Any, message: Any) -> None:
    """Sends one message; big arrays as descriptors of shared memory."""
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    try:
        _BatchPickler(stream, protocol=5, buffer_callback=buffers.append).dump(message)
        descriptors: list[int] = []
        parts: list[Any] = []
        layout: list[tuple[bool, int]] = []
        for buffer in buffers:
            data = np.frombuffer(buffer.raw(), dtype=np.uint8)
            shared = _sharing and data.nbytes >= SHARED_MINIMUM
            layout.append((shared, data.nbytes))
            if not shared:
                parts.append(data)
                continue
            block = _blocks.get(data.ctypes.data)
            if block is None or block[1] != data.nbytes:
                descriptor, target = _new_shared(data.nbytes)
                target[:] = data
                _blocks[target.ctypes.data] = block = (descriptor, data.nbytes)
            descriptors.append(block[0])
        connection.send_bytes(pickle.dumps((layout, stream.getvalue()), protocol=5))
        for part in parts:
            if part.nbytes:
                connection.send_bytes(part)
        for descriptor in descriptors:
            reduction.send_handle(connection, descriptor, os.getppid())
    finally:
        forget_blocks()


def receive(connection: Any) -> Any:
    """Receives one message of `send`; EOFError when the sender has died. Array data is not copied."""
    layout, body = pickle.loads(connection.recv_bytes())
    small = [bytearray(connection.recv_bytes()) if not shared and size else b"" for shared, size in layout]
    buffers: list[Any] = []
    for (shared, size), part in zip(layout, small, strict=True):
        if not shared:
            buffers.append(part)
            continue
        descriptor = reduction.recv_handle(connection)
        try:
            buffers.append(_map_shared(descriptor, size))
        finally:
            os.close(descriptor)
    return pickle.loads(body, buffers=buffers)
