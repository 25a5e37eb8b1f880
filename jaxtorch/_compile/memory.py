"""Which tensors of a captured call share memory: a replay writes each in its own place, so it must be as it was."""

from __future__ import annotations

from typing import Any

from .._core.tensor.tensor import Tensor
from .capturing import Captured, Source
from .checking_guards import Guard


def _place(t: Tensor) -> tuple[Any, Any]:
    """Whose memory a tensor reads (of its own: the tensor stands for it), and by what views."""
    alias = t._alias
    return (t, ()) if alias is None else (alias.storage, alias.chain)


def _picture(places: list[tuple[Any, Any]]) -> list[Any]:
    """Which of these places are in the same memory, with the parts that they are; a part of memory by the memory itself."""
    first: dict[int, int] = {}
    numbers = [first.setdefault(id(memory), i) for i, (memory, _) in enumerate(places)]
    shared = {n for i, n in enumerate(numbers) if n != i}
    return [
        (i, n, id(memory) if chain else None, chain)
        for i, (n, (memory, chain)) in enumerate(zip(numbers, places, strict=True))
        if n in shared or chain
    ]


def _owner(t: Tensor) -> Any:
    """What stands for a tensor's memory: the tensor that reads its storage whole, or the storage."""
    if t._alias is None:
        return t
    owner = t._alias.storage.owner()
    return t._alias.storage if owner is None else owner


class Met:
    """Which of a call's arguments it reaches otherwise too, as tensors of its own or as gradients that it reads.

    own: the ids of its tensors, and of what owns their memory; `owners`: the tensors whose gradients it reads.
    """

    def __init__(self, tensors: list[Tensor], owners: list[Tensor]) -> None:
        self.own = {id(t) for t in tensors} | {id(_owner(t)) for t in tensors}
        self.owners = owners

    def __call__(self, arguments: list[Tensor]) -> list[int]:
        """For each argument what it meets, 0 for nothing."""
        at = dict.fromkeys(self.own, 0)
        for i, p in enumerate(self.owners):
            if p._grad is not None:
                at[id(p._grad)] = at[id(_owner(p._grad))] = i + 1
        return [self._of(at, x) for x in arguments]

    def _of(self, at: dict[int, int], x: Tensor) -> int:
        for k in (id(x), id(_owner(x))):
            if k in at:
                return at[k] or k
        return 0

    def grads(self) -> set[int]:
        """The ids of the gradients that it reads."""
        return {id(p._grad) for p in self.owners}


class Before:
    """Where the tensors that a call may reach, and their gradients, were before it ran."""

    def __init__(self, tensors: list[Tensor], arguments: list[Tensor]) -> None:
        self.tensors, self._arguments = tensors, arguments

    def look(self) -> None:
        """The call is about to run."""
        self.places = {id(t): _place(t) for t in self.tensors}
        self.with_grads = [t for t in self.tensors if t._grad is not None]
        self.of_grads = {id(t): _place(t._grad) for t in self.with_grads}
        self._met = Met([], self.with_grads)(self._arguments)
        self._of_arguments = {id(_place(x)[0]) for x in self._arguments}

    def settled(self, made: Captured) -> None:
        """Which of them the captured call uses: `used`, and `owners` of gradients that it reads, with what shares their memory."""
        sources = [*made.sources, *[w.source for w in made.writes], *[t for t in made.tensors if isinstance(t, Source)]]
        named = {id(s.of) for s in sources if s.kind == "tensor"}
        owners = {id(s.of) for s in sources if s.kind == "grad"}
        memory = {id(self.places[k][0]) for k in named if k in self.places}
        memory |= {id(self.of_grads[k][0]) for k in owners if k in self.of_grads} | self._of_arguments
        self.used = [t for t in self.tensors if id(t) not in made.moved and self._is_in(self.places[id(t)], memory)]
        self.owners = [t for t in self.with_grads if self._is_in(self.of_grads[id(t)], memory)]

    @staticmethod
    def _is_in(place: tuple[Any, Any], memory: set[int]) -> bool:
        return bool(place[1]) or id(place[0]) in memory

    def meeting(self, tensors: list[Tensor], arguments: list[Tensor]) -> tuple[Met, list[int]]:
        """What the arguments meet, and what they met before the call."""
        met = Met(tensors, self.owners)
        number = {id(t): i + 1 for i, t in enumerate(self.owners)}
        before = [number.get(id(self.with_grads[k - 1]), 0) if k else 0 for k in self._met]
        return met, [g or m for g, m in zip(before, Met(tensors, [])(arguments), strict=True)]

    def guards(self, made: Captured) -> list[Guard]:
        """That those which the call uses are in memory as they were: none where it writes nothing and reads no part."""
        tensors, owners = self.used, self.owners
        places = [*[self.places[id(t)] for t in tensors], *[self.of_grads[id(t)] for t in owners]]
        before = _picture(places)
        if not made.writes and not before:
            return []

        def now() -> list[Any]:
            if not owners and not [1 for t in tensors if t._alias is not None]:
                return []
            grads = [t._grad for t in owners]
            return grads if any([g is None for g in grads]) else _picture([_place(t) for t in [*tensors, *grads]])  # noqa: C419

        return [Guard("memory", now, places, before, "the memory of its tensors")]
