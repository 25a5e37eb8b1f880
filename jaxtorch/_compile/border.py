"""The border of a captured call: what its arguments bring along from outside stays there while the call runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.record.program import force
from .._core.tensor import numpy_sharing
from .._core.tensor.storage import Alias, Storage
from .._core.tensor.tensor import Tensor, wrap
from .._core.tensor.views import regenerate_grad_fn
from .._core.types.value import Value
from .capturing import alive, with_memory
from .graph_node import Passage
from .replaying import Replay
from .trees import writable_part


class Border:
    """Arguments as the captured call sees them: the same tensors, cut off from their histories, from NumPy's memory, and from
    the memory that they are parts of.

    A history is replaced by a `Passage`, which hands gradients on; memory shared with NumPy is lent to the storage's tensors as a
    copy, which `lift` writes back where the call has changed it. So is a view's part of its memory (`_Part`), where nothing else
    that the call knows lies in it: the captured program is then one for any such part.

    others: the tensors that the call reaches besides its arguments.
    """

    def __init__(self, tensors: list[Tensor], others: list[Tensor]) -> None:
        unique = list({id(t): t for t in tensors}.values())
        self._lent: list[tuple[Any, Any, int]] = []
        for t in unique:
            storage = None if t._alias is None else t._alias.storage
            if storage is not None and storage.host is not None:
                self._lend(storage)
        for t in unique:
            t._read()
            regenerate_grad_fn(t)
        known = [*others, *[t._grad for t in [*others, *unique] if t._grad is not None]]
        elsewhere = {id(t._alias.storage) for t in known if type(t._alias) is Alias}
        self._parts = [
            _Part(t)
            for t in unique
            if writable_part(t, unique) and id(t._alias.storage) not in elsewhere  # pyright: ignore[reportOptionalMemberAccess]
        ]
        self._cut: list[tuple[Tensor, Any, int, Passage]] = []
        for t in unique:
            if t._node is not None:
                passage = Passage(t)
                self._cut.append((t, t._node, t._index, passage))
                t._node, t._index = passage, 0

    def close(self) -> None:
        """Let nobody see what is behind the border."""
        for _, _, _, passage in self._cut:
            passage.edges = []

    def lift(self) -> None:
        """Give the arguments back what was theirs."""
        for t, node, index, passage in self._cut:
            passage.edges = passage.outside
            if t._node is passage:
                t._node, t._index = node, index
        self._cut = []
        self.put_back()
        for storage, memory, written in self._lent:
            if storage.version.n != written:
                numpy_sharing._part(memory.flat, storage.value.aval.shape, storage.layout)[...] = np.asarray(
                    force(storage.value)
                )
            storage.host = memory
            _unread(storage)
        self._lent = []

    def covers(self, storage: Any) -> bool:
        """Is this the memory that a part has meanwhile?"""
        return any(part.storage is storage for part in self._parts)

    def put_back(self) -> None:
        """Let the parts be parts again."""
        parts, self._parts = self._parts, []
        found = with_memory(alive(Tensor)) if parts else []
        for part in parts:
            part.put_back(found)

    def _lend(self, storage: Any) -> None:
        storage.value = Value(storage.value.aval, np.array(numpy_sharing.whole(storage), order="C"))
        memory, storage.host = storage.host, None
        _unread(storage)
        self._lent.append((storage, memory, storage.version.n))


def _unread(storage: Any) -> None:
    """Let every tensor on the storage be read again, without counting a write."""
    storage.version.n += 1
    storage.version.hidden += 1


class _Part:
    """A view that the call sees as a tensor with memory of its own."""

    def __init__(self, t: Tensor) -> None:
        assert t._alias is not None
        self.tensor, self.real, self.value, self.layout = t, t._alias, t._value, t._layout
        self.storage = Storage(t._value, self.real.counted(), t)
        self.storage.layout = t._layout
        self.writes = self.storage.version.n
        t._alias = Alias(self.storage, (), None, 0)

    def put_back(self, found: list[Tensor]) -> None:
        """Write what the call has written, and put the tensor, with all views of it that it made, back where it was."""
        view = wrap(self.value)
        view._alias, view._layout, view._rg = self.real, self.layout, self.tensor._rg
        if self.storage.value is not self.value:
            Replay._write(view, self.storage.value, self.storage.version.n - self.writes)
        for t in found:
            if t._alias is None or t._alias.storage is not self.storage:
                continue
            if t is self.tensor and not t._alias.chain:
                t._alias, t._value = self.real, view._value
            else:
                self._move(t, t._alias, view)

    def _move(self, t: Tensor, alias: Alias, view: Tensor) -> None:
        real = self.real
        base = alias.base
        if base is self.tensor or base is None:
            base = (self.tensor if real.base is None else real.base) if base is not None else None
        moved = Alias(real.storage, (*real.chain, *alias.chain), base, 0)
        moved.depth = len(real.chain) if base is self.tensor else real.depth if base is real.base else alias.depth
        moved.multi, moved.no_grad, moved.own, moved.silent = alias.multi, alias.no_grad, alias.own, real.silent
        moved.placed, moved.seen = moved.counted(), -2
        t._alias = moved
