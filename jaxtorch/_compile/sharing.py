"""Results of a captured call that share memory, with one another or with tensors that existed before.

A replay makes them share again: the tensor whose memory it is comes first, and each other is put on its storage as the view it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.tensor.storage import Alias, Version, alias_of
from .._core.tensor.tensor import Tensor, wrap
from .._core.types.value import Value


class Refused(Exception):
    """Memory is shared in a way that a replay does not repeat; the message says how."""


class Shared:
    """How a result views memory that is not its own.

    root:  the number, among the call's tensors, of the one on whose storage it is; `steps` lead from there to the result.
    base:  the number of the tensor it is a view of in the graph, "root's" where that is what views of the root are views of, or None.
    """

    __slots__ = ("root", "steps", "base", "depth", "multi", "no_grad", "silent", "own")

    def __init__(self, t: Tensor, root: int, root_tensor: Tensor, base: Any) -> None:
        alias, above = alias_of(t), alias_of(root_tensor)
        if alias.chain[: len(above.chain)] != above.chain:
            raise Refused("it returns a view of memory whose own view it is not")
        self.root, self.base = root, base
        self.steps = alias.chain[len(above.chain) :]
        self.depth = alias.depth
        self.multi, self.no_grad, self.own = alias.multi, alias.no_grad, alias.own
        self.silent = None if alias.silent is None or alias.silent is above.silent else id(alias.silent)

    def place(
        self, t: Tensor, value: Value | None, aval: Any, tensors: Sequence[Any], silent: dict[int, Version]
    ) -> None:
        """Put a new tensor where the result was; `value` is its content, or None if it is to be read."""
        root = tensors[self.root]
        above = alias_of(root)
        if self.base == "root's":
            base, depth = (root, len(above.chain)) if above.base is None else (above.base, above.depth)
        elif self.base is None:
            base, depth = None, len(above.chain) + len(self.steps)
        else:
            base = tensors[self.base]
            depth = len(alias_of(base).chain)
        made = Alias(above.storage, (*above.chain, *self.steps), base, depth)
        made.multi, made.no_grad, made.own = self.multi, self.no_grad, self.own
        made.silent = above.silent if self.silent is None else silent.setdefault(self.silent, Version(0))
        made.placed = made.counted()
        t._alias = made
        if not made.chain:
            t._value = above.storage.value
        elif value is None or above.storage.host is not None:
            t._value = Value(aval, None)
            made.seen = -2
        else:
            t._value = value
            value.guard = made.guard(t._layout)


def families(tensors: list[Tensor]) -> dict[int, list[Tensor]]:
    """The tensors that have a storage, by its id."""
    found: dict[int, list[Tensor]] = {}
    for t in tensors:
        if t._alias is not None:
            found.setdefault(id(t._alias.storage), []).append(t)
    return found


def owner_of(storage: Any) -> Tensor:
    """The tensor that reads a storage whole, made if it is gone."""
    owner = storage.owner()
    if owner is not None and owner._alias is not None and owner._alias.storage is storage and not owner._alias.chain:
        return owner
    owner = wrap(storage.value)
    owner._alias = Alias(storage, (), None, 0)
    owner._layout = storage.layout
    return owner
