"""What stays in packs (`_core/run/state_packing.py`) from replay to replay: a call's state, and the gradients that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from .._core.compile.kernel import function_from_text
from .._core.record.program import force
from .._core.run.state_packing import Layout, Pack
from .._core.tensor.storage import owned_again
from .._core.tensor.tensor import Tensor
from .._core.types.reference_counts import LISTED, counted
from .._core.types.value import Value

_HELD = LISTED + 1  # a value that a tensor and a list hold, and a gradient so held


class _Residence:
    """Values in one pack, replaced together by giving the pack another array.

    That needs nothing to be the same as before but who holds them: so `here` asks whether only their tensors do.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.pack = Pack(layout, None)
        self.values: list[Value] = []
        self.held = [_HELD] * len(layout.avals)

    def alone(self) -> bool:
        """Are the values still in the pack, and does nothing but one tensor hold each?"""
        values = self.values
        return [v.pack for v in values].count(self.pack) == len(values) and list(counted(values)) == self.held

    def renew(self, vector: Any) -> list[Value]:
        """A new pack, and the values in it."""
        pack = self.pack = Pack(self.layout, vector)
        self.values = []
        for k, aval in enumerate(self.layout.avals):
            v = Value(aval)
            v.pack, v.part = pack, k
            self.values.append(v)
        return self.values


class State(_Residence):
    """Tensors that a call reads and writes, each with the number of writes to it."""

    def __init__(self, layout: Layout, tensors: Sequence[Tensor], writes: Sequence[int]) -> None:
        super().__init__(layout)
        self.tensors, self.writes = list(tensors), list(writes)
        scope = {f"t{k}": t for k, t in enumerate(tensors)} | {f"w{k}": t._written for k, t in enumerate(tensors)}
        found = ", ".join(f"t{k}._value" for k in range(len(self.tensors)))
        free = " and ".join(f"t{k}._alias is None" for k in range(len(self.tensors)))
        self._now = function_from_text(f"def now():\n    return [{found}], {free}", scope, "now")
        lines = [f"t{k}._ver = w{k}.n = t{k}._ver + {n}" for k, n in enumerate(writes)]
        self._count = function_from_text("def count():\n    " + "\n    ".join(lines), scope, "count")

    def here(self) -> bool:
        """Do the tensors hold what the last replay gave them, and does nothing else?"""
        found, free = self._now()
        same = free and len(self.values) == len(found) and all(map(is_, found, self.values))
        found = None
        return same and self.alone()

    def vector(self, here: bool) -> Any:
        """The content of all of them."""
        if here:
            return self.pack.array
        for t in self.tensors:
            owned_again(t)
        values = [t._read() for t in self.tensors]
        for v in values:
            if v.pack is None:
                force(v)
        return self.layout.joined(values)

    def put(self, vector: Any, here: bool, write: Callable[[Tensor, Value, int], None]) -> None:
        """Give them this content; `write(tensor, value, writes)` where not all of them were here."""
        if here:
            self.pack.array = vector
            self._count()
            return
        for t, v, n in zip(self.tensors, self.renew(vector), self.writes, strict=True):
            write(t, v, n)


class Gradients(_Residence):
    """The gradients that a call puts on `owners`."""

    def __init__(self, layout: Layout, owners: Sequence[Tensor]) -> None:
        super().__init__(layout)
        self.owners = list(owners)
        self.tensors: list[Any] = []
        self.tensors_held = [_HELD] * len(self.owners)

    def here(self) -> bool:
        """Do the owners have the gradients that the last replay gave them, untouched, and does nothing else hold them?"""
        tensors = self.tensors
        found = [p._grad for p in self.owners]
        same = len(tensors) == len(found) and all(map(is_, found, tensors))
        found = None
        return (
            same
            and all(map(is_, [g._value for g in tensors], self.values))
            and list(counted(tensors)) == self.tensors_held
            and not any([g._ver or g._rg or g._alias or g._layout or g.__dict__ for g in tensors])  # noqa: C419
            and self.alone()
        )

    def renew(self, vector: Any) -> list[Value]:
        self.tensors = []
        return super().renew(vector)

    def settle(self) -> None:
        """The owners have been given the values of this pack, if they were given a new one."""
        if not self.tensors:
            self.tensors = [p._grad for p in self.owners]
