"""The table in which a module of this folder collects what it puts on `Tensor`."""

from __future__ import annotations

from typing import Any


class Members(dict[str, Any]):
    """Methods and properties by name."""

    def member(self, fn: Any) -> Any:
        """Take a function as a method; a decorator."""
        self[fn.__name__] = fn
        return fn

    def prop(self, fn: Any) -> Any:
        """Take a function as a property; a decorator."""
        self[fn.__name__] = property(fn, doc=fn.__doc__)
        return fn
