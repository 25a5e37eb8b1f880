"""What a function wrote to tensors and drew from generators, so that it can be undone before the function runs again."""

from __future__ import annotations

import threading
from typing import Any

from ..random.generator import generators
from ..run import capture
from ..tensor.storage import Alias
from ..tensor.tensor import Tensor, journals
from .vmap import is_mapped


class Journal:
    """The writes of this thread since it was opened, and where the generators stood then.

    of_before: what a captured call writes to tensors of its own is left out, so that nothing holds them.
    """

    def __init__(self, of_before: bool = False) -> None:
        self._of_before = of_before
        self._thread = threading.get_ident()
        self._written: list[tuple[Any, ...]] = []
        self._states = [(g, g.engine.get_state(), g.draws) for g in list(generators)]

    def __enter__(self) -> Journal:
        journals.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        journals.remove(self)

    def note(self, t: Tensor) -> None:
        """Keep what a tensor holds, which is about to be written to."""
        if threading.get_ident() != self._thread:
            return
        alias = t._alias
        shared = alias if isinstance(alias, Alias) and alias.storage.host is None else None
        value = t._read() if shared is None else shared.storage.value
        if self._of_before and capture.active is not None and value.array is None and value.pack is None:
            return
        if not is_mapped(value):  # else it was made by the function
            base = None if alias is None else alias.base
            inner = self._of_before and shared is not None and base is not None  # perhaps a view that the call has made
            handles = [(x, x._node, x._index, x._rg) for x in (None if inner else t, base) if x is not None]
            self._written.append((shared, value, handles))

    def undo(self) -> None:
        """Give tensors and generators what they had."""
        for alias, value, handles in reversed(self._written):
            if alias is None:
                handles[0][0]._write(value)
            else:
                alias.storage.value = value
                alias.version.n += 1
            for t, node, index, rg in handles:
                t._node, t._index, t._rg = node, index, rg
        for generator, state, draws in self._states:
            generator.engine.set_state(state)
            generator.draws = draws
