"""Large programs on the CPU that wait for each other: the temporary memory of one at a time.

XLA lets a program begin while the one before it still holds its temporary memory, even where it needs that one's results. For a
large training step there is nothing to gain: Python has recorded the next step by then.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from jax._src.array import ArrayImpl

Call = Callable[[list[Any]], list[Any]]

LARGE = 256 << 20
"""Bytes of results within a program, from which on it waits."""
_FREED = 5e-4  # seconds from a program's results being there until XLA has freed its temporary memory

_results_before: list[weakref.ref[Any]] = []


def are_large(avals: Iterable[Any]) -> bool:
    return sum(a.numel * a.dtype.itemsize for a in avals) >= LARGE


def waiting(call: Call) -> Call:
    """The call, which first waits for the results of the last such call, if any of them is still there."""

    def run(arrays: list[Any]) -> list[Any]:
        for result in _results_before:
            array = result()
            if array is not None and not array.is_deleted():
                array.block_until_ready()
                time.sleep(_FREED)
                break  # the results of a program are all there at once
        outs = call(arrays)
        _results_before[:] = [weakref.ref(o) for o in outs if type(o) is ArrayImpl]
        return outs

    return run
