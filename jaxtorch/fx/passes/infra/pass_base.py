"""Passes: what takes a graph module and gives one, changed or not."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass gives: a graph module, and whether the pass has changed it."""

    graph_module: Any
    modified: bool


class PassBase(abc.ABC):
    """A pass over a graph module. A subclass has `call`, and may check the module before it and after it."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        self.requires(graph_module)
        found = self.call(graph_module)
        self.ensures(graph_module)
        return found

    @abc.abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """The pass itself."""

    def requires(self, graph_module: Any) -> None:  # noqa: B027  (may be left as it is)
        """Called before the pass: raise where it cannot be run."""

    def ensures(self, graph_module: Any) -> None:  # noqa: B027  (may be left as it is)
        """Called after the pass: raise where its result is wrong."""
