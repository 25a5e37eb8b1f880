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

from .. import native
from ..tuning import FREED_LOOK, FREED_TRIES, FREED_WITHIN, GATED_PROGRAM

Call = Callable[[list[Any]], list[Any]]


_results_before: list[weakref.ref[Any]] = []


def are_large(avals: Iterable[Any]) -> bool:
    return sum(a.numel * a.dtype.itemsize for a in avals) >= GATED_PROGRAM


def waiting(call: Call) -> Call:
    """The call, which first waits until the last such call has run, if any of its results is still there."""
    in_vain = 0  # times in a row that its largest block stayed: that is a result, then

    def run(arrays: list[Any]) -> list[Any]:
        nonlocal in_vain
        for result in _results_before:
            array = result()
            if array is not None and not array.is_deleted():
                array.block_until_ready()
                if in_vain < FREED_TRIES:
                    in_vain = 0 if _freed() else in_vain + 1
                break  # the results of a program are all there at once
        native.largest_is_free(from_now=True)
        outs = call(arrays)
        _results_before[:] = [weakref.ref(o) for o in outs if type(o) is ArrayImpl]
        return outs

    return run


def _freed() -> bool:
    end = time.monotonic() + FREED_WITHIN
    while not (gone := native.largest_is_free()) and time.monotonic() < end:
        time.sleep(FREED_LOOK)
    return gone
