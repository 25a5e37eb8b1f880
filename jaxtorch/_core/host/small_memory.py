"""The scratch memory of small programs (small_code.py): which blocks of it may be used again, and how much all programs hold."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from typing import Any

import numpy as np

from ..tuning import SMALL_SCRATCH_IN_ALL

_held = [0]


class Full(Exception):
    """The process's small programs hold as much memory as they may."""


def held_memory(size: int) -> np.ndarray[Any, Any]:
    """So many bytes for a program, which count until it is gone."""
    if _held[0] + size > SMALL_SCRATCH_IN_ALL:
        raise Full
    made = np.empty(size, np.uint8)
    _held[0] += size
    weakref.finalize(made, _give_back, size).atexit = False
    return made


def _give_back(size: int) -> None:
    _held[0] -= size


class Blocks:
    """Blocks of a memory in the order in which a program's steps need them. A block counts the arrays that lie in it; where these
    are none after a step, a later step may have it."""

    def __init__(self) -> None:
        self.used = 0
        self._starts: list[int] = []
        self._sizes: list[int] = []
        self._counts: list[int] = []
        self._idle: list[bool] = []
        self._free: dict[int, list[int]] = {}
        self._new: list[int] = []

    def take(self, size: int, lasting: bool) -> int:
        """Where so many bytes are, that nothing alive lies in; lasting: and nothing ever did or will."""
        size = _rounded(size)
        free = None if lasting else self._free.get(size)
        if free:
            k = free.pop()
        else:
            k = len(self._starts)
            self._starts.append(self.used)
            self._sizes.append(size)
            self._counts.append(int(lasting))
            self._idle.append(False)
            self.used += size
        self._idle[k] = False
        self._new.append(k)
        return self._starts[k]

    def _block(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1

    def hold(self, at: int) -> None:
        """One more array lies in the block of this place."""
        self._counts[self._block(at)] += 1

    def release(self, at: int) -> None:
        """One less."""
        k = self._block(at)
        self._counts[k] -= 1
        self._end(k)

    def sweep(self) -> None:
        """A step is written: what it took and no array lies in was for itself alone."""
        for k in self._new:
            self._end(k)
        self._new.clear()

    def _end(self, k: int) -> None:
        if not self._counts[k] and not self._idle[k]:
            self._idle[k] = True
            self._free.setdefault(self._sizes[k], []).append(k)


def _rounded(size: int) -> int:
    """Multiples of 16, and of an eighth of the power of two below where it is larger, so that blocks are alike."""
    step = max(16, 1 << max(size.bit_length() - 4, 0))
    return -(-max(size, 1) // step) * step
