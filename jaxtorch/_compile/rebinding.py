"""Places that a captured call rebinds: attributes, items and list slots that hold other tensors after it than before."""

from __future__ import annotations

from typing import Any

from .._core.tensor.tensor import Tensor
from .checking_guards import Guard, Guards, Inner, same

_REBINDABLE = ("item", "attribute", "cell", "slot")


class Uncapturable(Exception):
    """Why a call cannot be replayed."""


class Rebound:
    """The guards that a call has broken, as places that each replay reads and writes. Uncapturable for any other.

    places: where a tensor, or a tuple, list or dictionary of tensors, has been replaced by one like it.
    moved:  where the tensors that were there are found, by their ids.
    kept:   the guards that stay.
    """

    def __init__(self, guards: Guards) -> None:
        self.places: list[Guard] = []
        self.moved: dict[int, Any] = {}
        self._containers: dict[int, str] = {}
        self._held: list[Any] = []
        broken = {id(c) for c in guards.broken()}
        self.kept = []
        for c in guards.list:
            if id(c) not in broken:
                self.kept.append(c)
            elif c.kind == "sequence" and not isinstance(c.place, tuple) and len(c.place) == len(c.value):
                self._slots(c)
            else:
                self._place(c)
        if self.places:
            self._drop_replaced(broken)

    def _slots(self, c: Guard) -> None:
        """Single slots of a list that kept its length."""
        self.kept.append(Guard("length", c.place, None, len(c.value), c.path))
        for i, (before, now) in enumerate(zip(c.value, list(c.place), strict=True)):
            slot = Guard("slot", c.place, i, before, f"{c.path}[{i}]")
            if same(before, now):
                self.kept.append(slot)
            else:
                self._place(slot)

    def _place(self, c: Guard) -> None:
        if c.kind not in _REBINDABLE or not self._alike(c.value, c.now(), c, ()):
            raise Uncapturable(f"{c.path} changes at each call")
        self.places.append(c)

    def _alike(self, before: Any, now: Any, c: Guard, keys: tuple[Any, ...]) -> bool:
        """Is `now` built as `before` was, with other tensors? Notes where those from before were."""
        if isinstance(before, Tensor):
            self.moved[id(before)] = Inner(c, keys) if keys else c
            return isinstance(now, Tensor)
        if type(before) is not type(now):
            return False
        if isinstance(before, (tuple, list)):
            self._containers[id(before)] = c.path
            self._held.append(before)
            pairs = list(zip(before, now, strict=False))
            return len(before) == len(now) and all(
                [self._alike(a, b, c, (*keys, i)) for i, (a, b) in enumerate(pairs)]  # noqa: C419
            )
        if type(before) is dict:
            self._containers[id(before)] = c.path
            self._held.append(before)
            return list(before) == list(now) and all(
                [self._alike(before[k], now[k], c, (*keys, k)) for k in before]  # noqa: C419
            )
        return same(before, now)

    def _drop_replaced(self, broken: set[int]) -> None:
        """Leave out guards on containers that the call has replaced. Uncapturable where something else holds them too."""
        kept = []
        for c in self.kept:
            if id(c.place) in self._containers:
                continue
            if c.kind in _REBINDABLE and (id(c.value) in self.moved or id(c.value) in self._containers):
                raise Uncapturable(f"{c.path} holds the same as a place that the call rebinds")
            if c.kind == "sequence" and any(id(v) in self.moved for v in c.value):
                raise Uncapturable(f"{c.path} holds a tensor of a place that the call rebinds")
            kept.append(c)
        self.kept = kept
