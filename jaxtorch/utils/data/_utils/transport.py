"""How a worker's batch reaches the main process.

Everything is pickled with protocol 5; the data of arrays and tensors stays out of the pickle. Small arrays go
through the pipe. Each big one lies in a block of shared memory (blocks.py). `allocate` lets a worker collate straight into
one, without a copy.
"""

from __future__ import annotations

import io
import os
import pickle
from collections import deque
from math import prod
from multiprocessing import reduction
from typing import Any

import numpy as np

from .. import _engine
from .._engine import LISTED, counted
from .blocks import Block, Borrowed, Lent

__all__ = ["SHARED_MINIMUM", "allocate", "receive", "send", "use_shared_memory"]

SHARED_MINIMUM = 1 << 18
"""Bytes from which an array is worth a shared memory file: below, the pipe costs less."""

KEPT_MINIMUM, KEPT_MAXIMUM = 1 << 22, 1 << 26
"""Bytes of an array between which the memory of batches is kept for the next ones, three of one size at most."""

_kept: deque[np.ndarray] = deque(maxlen=3)
_sharing = False
_worker = False
_lent = Lent()
"""In a worker, its shared memory."""


def use_shared_memory() -> None:
    """Called once in a worker: from now on `allocate` returns shared memory for big arrays."""
    global _sharing, _worker
    _worker = True
    _sharing = hasattr(os, "memfd_create") and hasattr(reduction, "sendfds")


def in_worker() -> bool:
    return _worker


def _kept_block(size: int) -> np.ndarray:
    """Bytes of a block that nobody holds any more, or of a new one: the system would give and clear its pages for each batch anew."""
    for _ in range(len(_kept)):
        try:
            block = [_kept.popleft()]  # nobody else's until it is there again
        except IndexError:
            break
        taken = block[0][:] if len(block[0]) == size and next(counted(block)) == LISTED else None
        if len(block[0]) == size:
            _kept.append(block[0])
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
    return _lent.take(size).data.view(dtype).reshape(shape)


def came_back(free: list[int], forgotten: list[int]) -> None:
    """In a worker: the main process holds these blocks no more (see `Borrowed.news`)."""
    _lent.came_back(free, forgotten)


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
    """Sends one message; big arrays as blocks of shared memory."""
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    _BatchPickler(stream, protocol=5, buffer_callback=buffers.append).dump(message)
    parts: list[Any] = []
    blocks: list[Block] = []
    descriptors: list[int] = []
    # By the addresses of what they hold: arrays that share memory do so when they arrive.
    in_message: dict[int, Block] = {}
    layout: list[tuple[bool, int, int | None, bool]] = []
    for buffer in buffers:
        data = np.frombuffer(buffer.raw(), dtype=np.uint8)
        shared = _sharing and data.nbytes >= SHARED_MINIMUM
        if not shared:
            layout.append((False, data.nbytes, None, False))
            parts.append(data)
            continue
        block = in_message.get(data.ctypes.data)
        if block is None or len(block.data) != data.nbytes:
            block = in_message[data.ctypes.data] = _lent.holding(data)
        descriptor = block.descriptor if block.number is None or block not in blocks else None
        if descriptor is not None:
            descriptors.append(descriptor)
        layout.append((True, data.nbytes, block.number, descriptor is not None))
        blocks.append(block)
    connection.send_bytes(pickle.dumps((layout, _lent.dropped(), stream.getvalue()), protocol=5))
    for part in parts:
        if part.nbytes:
            connection.send_bytes(part)
    for descriptor in descriptors:
        reduction.send_handle(connection, descriptor, os.getppid())
    _lent.sent(blocks)


def receive(connection: Any, borrowed: Borrowed) -> Any:
    """Receives one message of `send`; EOFError when the sender has died. Array data is not copied."""
    layout, dropped, body = pickle.loads(connection.recv_bytes())
    borrowed.dropped(dropped)
    small = [bytearray(connection.recv_bytes()) if not shared and size else b"" for shared, size, _, _ in layout]
    buffers: list[Any] = []
    for (shared, size, number, new), part in zip(layout, small, strict=True):
        if not shared:
            buffers.append(part)
            continue
        descriptor = reduction.recv_handle(connection) if new else None
        buffers.append(borrowed.arrived(number, size, descriptor))
    return pickle.loads(body, buffers=buffers)
