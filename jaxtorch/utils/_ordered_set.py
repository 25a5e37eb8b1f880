"""`torch.utils._ordered_set`: a set that keeps the order in which its items came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import Any, TypeVar

__all__ = ["OrderedSet"]

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set whose items are iterated in the order in which they were added; `pop` takes the last."""

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._dict: dict[T, None] = dict.fromkeys(iterable if iterable is not None else ())

    @classmethod
    def _from_iterable(cls, it: Iterable[T]) -> OrderedSet[T]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return cls(it)

    def __contains__(self, x: object) -> bool:
        return x in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def add(self, value: T) -> None:
        """Add an item, at the end where it is new."""
        self._dict[value] = None

    def discard(self, value: T) -> None:
        """Take an item out, if it is there."""
        self._dict.pop(value, None)

    def pop(self) -> T:
        """Take out the last item, and give it."""
        if not self:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def clear(self) -> None:
        """Take out all items."""
        self._dict.clear()

    def copy(self) -> OrderedSet[T]:
        """Another set of the same items."""
        return type(self)(self)

    def update(self, *others: Iterable[T]) -> None:
        """Add the items of others."""
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The items of this and of others."""
        made = self.copy()
        made.update(*others)
        return made

    def _kept(self, keep: Any) -> OrderedSet[T]:
        return type(self)(x for x in self if keep(x))

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The items that are in all others too."""
        sets = [set(other) for other in others]
        return self._kept(lambda x: all(x in s for s in sets))

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The items that are in no other."""
        sets = [set(other) for other in others]
        return self._kept(lambda x: not any(x in s for s in sets))

    def symmetric_difference(self, other: Iterable[T]) -> OrderedSet[T]:
        """The items that are in one of the two only."""
        theirs = type(self)(other)
        return self.difference(theirs).union(theirs.difference(self))

    def intersection_update(self, *others: Iterable[T]) -> None:
        """Keep the items that are in all others too."""
        self._dict = self.intersection(*others)._dict

    def difference_update(self, *others: Iterable[T]) -> None:
        """Take out the items of others."""
        self._dict = self.difference(*others)._dict

    def symmetric_difference_update(self, other: Iterable[T]) -> None:
        """Keep the items that are in one of the two only."""
        self._dict = self.symmetric_difference(other)._dict

    def issubset(self, other: Iterable[T]) -> bool:
        """Are all items in the other?"""
        return set(self) <= set(other)

    def issuperset(self, other: Iterable[T]) -> bool:
        """Are all items of the other in this?"""
        return set(self) >= set(other)

    def __repr__(self) -> str:
        return f"OrderedSet({list(self)})"

    def __getstate__(self) -> list[T]:
        return list(self)

    def __setstate__(self, state: list[T]) -> None:
        self._dict = dict.fromkeys(state)
