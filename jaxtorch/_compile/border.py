"""The border of a captured call: what its arguments bring along from outside stays there while the call runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import host
from .._core.program import force
from .._core.tensor import Tensor
from .._core.value import Value
from .._core.views import find_place
from .graphing import Passage


class Border:
    """Arguments as the captured call sees them: the same tensors, cut off from their histories and from NumPy's memory.

    A history is replaced by a `Passage`, which hands gradients on; memory shared with NumPy is lent to the storage's tensors as a
    copy, which `lift` writes back where the call has changed it.
    """

    def __init__(self, tensors: list[Tensor]) -> None:
        unique = list({id(t): t for t in tensors}.values())
        self._lent: list[tuple[Any, Any, int]] = []
        for t in unique:
            storage = None if t._alias is None else t._alias.storage
            if storage is not None and storage.host is not None:
                self._lend(storage)
        for t in unique:
            t._read()
            find_place(t)
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
        for storage, memory, written in self._lent:
            if storage.version.n != written:
                host._part(memory.flat, storage.value.aval.shape, storage.layout)[...] = np.asarray(
                    force(storage.value)
                )
            storage.host = memory
            _unread(storage)
        self._lent = []

    def _lend(self, storage: Any) -> None:
        storage.value = Value(storage.value.aval, np.array(host.whole(storage), order="C"))
        memory, storage.host = storage.host, None
        _unread(storage)
        self._lent.append((storage, memory, storage.version.n))


def _unread(storage: Any) -> None:
    """Let every tensor on the storage be read again, without counting a write."""
    storage.version.n += 1
    storage.version.hidden += 1
