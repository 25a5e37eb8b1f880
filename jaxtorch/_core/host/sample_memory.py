"""Samples of a batch in neighbouring memory: what the kernels make for one sample lies behind what they made for the one before.

A DataLoader says that it makes a batch (`making`), and asks whether arrays are the beginning of one (`Batch.joined`): they need not
be copied then. Nobody writes to an array that is a value, so the samples stay what they are.
"""

from __future__ import annotations

import contextlib
import math
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from operator import is_
from typing import Any

import numpy as np

from ..tuning import SAMPLE_ELEMENTS, SAMPLE_SHAPES

_Array = np.ndarray[Any, Any]


class Batch:
    """The batch that a thread is making.

    allocate: `allocate(shape, dtype)`, its memory.
    """

    def __init__(self, count: int, allocate: Callable[[tuple[int, ...], Any], _Array]) -> None:
        self._count, self._allocate = count, allocate
        self._made: dict[tuple[int, ...], tuple[_Array, list[_Array], Iterator[_Array]]] = {}
        self.used = False

    def place(self, shape: tuple[int, ...]) -> _Array:
        """Memory for float32 results of this shape: behind the last ones of that shape, if there is any left."""
        if math.prod(shape) >= SAMPLE_ELEMENTS:
            found = self._made.get(shape)
            if found is None and len(self._made) < SAMPLE_SHAPES:
                whole = self._allocate((self._count, *shape), np.dtype(np.float32))
                rows = list(whole)
                found = self._made[shape] = whole, rows, iter(rows)
            row = None if found is None else next(found[2], None)
            if row is not None:
                return row
        return np.empty(shape, np.float32)

    def joined(self, arrays: Sequence[_Array]) -> _Array | None:
        """The array whose rows these are, if they are neighbours from the first on."""
        whole, rows, _ = self._made.get(arrays[0].shape, (None, (), None))
        if whole is None or len(arrays) > len(rows) or not all(map(is_, arrays, rows)):
            return None
        self.used = True
        return whole if len(arrays) == len(rows) else whole[: len(arrays)]

    def left(self) -> list[weakref.ref[_Array]]:
        """The samples' memory, to see later whether anybody has kept some: that keeps all of it."""
        return [weakref.ref(row) for _, rows, _ in self._made.values() for row in rows]

    def made_any(self) -> bool:
        return bool(self._made)


class _Thread(threading.local):
    batch: Batch | None = None


_thread = _Thread()


def current() -> Batch | None:
    """The batch that this thread is making."""
    return _thread.batch


@contextlib.contextmanager
def making(batch: Batch | None) -> Iterator[None]:
    """What runs meanwhile makes this batch's samples; None: nothing of the kind."""
    before, _thread.batch = _thread.batch, batch
    try:
        yield
    finally:
        _thread.batch = before
