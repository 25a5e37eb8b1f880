"""Who holds an object: the one place that reads reference counts.

They tell which values a program must keep, whose memory may be written again, and which results a caller has let go of. What
`sys.getrefcount(x)` says of a variable or an argument is another thing in each Python: from 3.14 on, what is passed on may be
borrowed, and is not counted. So nobody asks about variables. An object is put on a list (or is on one already), and `counted`
goes along it without any Python code: there each variable, attribute, item and cell that holds the object counts once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import compress

if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(f"jaxtorch needs CPython with its global lock; this is {sys.version}")

counted: Callable[[Iterable[object]], Iterator[int]] = partial(map, sys.getrefcount)
"""For each object on a list or tuple how many references there are to it. Compare it with `LISTED`, and with nothing else."""


class _Place:
    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held


def _begun(held: object) -> Iterator[object]:
    yield held


def _closed_over(held: object) -> Callable[[], object]:
    return lambda: held


def _in_dict(held: object) -> dict[int, object]:
    return {0: held}


def _itself(held: object) -> object:
    return held


def calibrated(counted: Callable[[Iterable[object]], Iterator[int]]) -> int:
    """What `counted` says of an object that only the list holds. ImportError where one that something else holds too could be
    taken for it: memory would be written to that is in use."""
    ways = next(counted([object()])), next(counted((object(),))), next(counted(compress([object()], [True])))
    listed, asked = ways[0], [object()]
    found = [next(counted(asked))]
    holders: list[object] = []
    for holder in (_Place, _begun, _closed_over, _in_dict, _itself):
        holders.append(holder(asked[0]))
        found.append(next(counted(asked)))
    variable = asked[0]
    found.append(next(counted(asked)))
    another = variable
    found.append(next(counted(asked)))
    least = range(listed, listed + len(found))
    if len({*ways}) != 1 or any(count < n for count, n in zip(found, least, strict=True)) or another is not holders[-1]:
        raise ImportError(
            f"jaxtorch does not understand how this Python counts references: {ways}, {found}, {sys.version}"
        )
    return listed


LISTED = calibrated(counted)
"""What `counted` says of an object that nothing but the list holds; one more for each that holds it too."""
