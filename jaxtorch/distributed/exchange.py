"""Collectives on NumPy arrays: who sends what to whom.

Every process of the group calls the same method of its `Exchange`. Results are the same in all processes, bit by bit: where
numbers are combined, they are combined in one order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import DistBackendError
from .reduce_op import combining, scaled

Array = np.ndarray[Any, Any]

RING = 1 << 16
"""Bytes from which on all_reduce sends parts round in a ring, and not everything to everybody."""


class Exchange:
    """The messages of one collective of a group, which carry its number."""

    def __init__(self, group: Any, timeout: float | None = None) -> None:
        self.mesh, self.ranks, self.rank, self.size = group.mesh, group.ranks, group.rank(), group.size()
        self.channel, self.tag = group.channel, group.next_number()
        self.limit = group.seconds if timeout is None else timeout
        self.end = time.monotonic() + self.limit

    def others(self) -> list[int]:
        """The other processes' numbers in the group, beginning behind this one's."""
        return [(self.rank + k) % self.size for k in range(1, self.size)]

    def send(self, to: int, payload: Any) -> None:
        """Send an array's elements, or bytes."""
        self.mesh.send(self.ranks[to], self.channel, self.tag, payload)

    def take(self, source: int) -> bytearray:
        """The next bytes from a process."""
        left = max(self.end - time.monotonic(), 0.0)
        return self.mesh.take(self.ranks[source], self.channel, self.tag, left, self.limit).payload

    def receive(self, source: int, like: Array) -> Array:
        """An array of the same type and shape as `like`. RuntimeError where it has another number of bytes."""
        payload = self.take(source)
        if len(payload) != like.nbytes:
            raise DistBackendError(
                f"rank {self.ranks[source]} has sent {len(payload)} bytes, and rank {self.ranks[self.rank]} expected {like.nbytes}: "
                "tensors must have the same size and type in all processes"
            )
        return as_array(payload, like)

    # -- collectives

    def broadcast(self, array: Array, source: int) -> Array:
        """The array of one process, in all."""
        if self.rank != source:
            return self.receive(source, array)
        for other in self.others():
            self.send(other, array)
        return array

    def all_gather(self, array: Array) -> list[Array]:
        """The arrays of all processes."""
        for other in self.others():
            self.send(other, array)
        return [array if r == self.rank else self.receive(r, array) for r in range(self.size)]

    def gather(self, array: Array, to: int) -> list[Array]:
        """The arrays of all processes, in one; in the others nothing."""
        if self.rank != to:
            self.send(to, array)
            return []
        return [array if r == to else self.receive(r, array) for r in range(self.size)]

    def scatter(self, arrays: Sequence[Array], like: Array, source: int) -> Array:
        """To each process its own of one process's arrays."""
        if self.rank != source:
            return self.receive(source, like)
        for other in self.others():
            self.send(other, arrays[other])
        return arrays[source]

    def all_to_all(self, arrays: Sequence[Array], like: Sequence[Array]) -> list[Array]:
        """To each process its own of this one's arrays; what the others have for this one, of the shapes of `like`."""
        for other in self.others():
            self.send(other, arrays[other])
        return [arrays[r] if r == self.rank else self.receive(r, like[r]) for r in range(self.size)]

    def reduce(self, array: Array, op: Any, to: int) -> Array | None:
        """The arrays of all processes combined, in one; in the others nothing."""
        parts = self.gather(array, to)
        return self._total(parts, op) if parts else None

    def reduce_scatter(self, arrays: Sequence[Array], op: Any) -> Array:
        """This process's own of the arrays, combined over all processes."""
        parts = self.all_to_all(arrays, [arrays[self.rank]] * self.size)
        return self._total(parts, op)

    def all_reduce(self, array: Array, op: Any) -> Array:
        """The arrays of all processes combined, in all."""
        if self.size <= 2 or array.nbytes < RING:
            return self._total(self.all_gather(array), op)
        total = self._ring(array, combining(op))
        return scaled(total, 1 / self.size) if op.name == "AVG" else total

    def _total(self, parts: Sequence[Array], op: Any) -> Array:
        total = _combined(parts, combining(op))
        return scaled(total, 1 / self.size) if op.name == "AVG" else total

    def _ring(self, array: Array, combine: Callable[[Array, Array], Array]) -> Array:
        """Each process combines one part, which goes round; then the parts go round once more."""
        rank, size = self.rank, self.size
        after, before = (rank + 1) % size, (rank - 1) % size
        parts = np.array_split(array.reshape(-1), size)
        for step in range(size - 1):
            self.send(after, parts[(rank - step) % size])
            k = (rank - step - 1) % size
            with np.errstate(all="ignore"):
                parts[k] = combine(self.receive(before, parts[k]), parts[k])
        for step in range(size - 1):
            self.send(after, parts[(rank + 1 - step) % size])
            k = (rank - step) % size
            parts[k] = self.receive(before, parts[k])
        return np.concatenate(parts).reshape(array.shape)

    def barrier(self) -> None:
        """Wait until all processes have come here."""
        distance = 1
        while distance < self.size:
            self.send((self.rank + distance) % self.size, b"")
            self.take((self.rank - distance) % self.size)
            distance *= 2

    def all_gather_bytes(self, payload: bytes) -> list[Any]:
        """The bytes of all processes, of any lengths."""
        for other in self.others():
            self.send(other, payload)
        return [payload if r == self.rank else self.take(r) for r in range(self.size)]


def as_array(payload: Any, like: Array) -> Array:
    """Bytes as an array of the type and shape of `like`."""
    return np.frombuffer(payload, np.uint8).view(like.dtype).reshape(like.shape)


def _combined(parts: Sequence[Array], combine: Callable[[Array, Array], Array]) -> Array:
    total = parts[0]
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            total = combine(total, part)
    return total
