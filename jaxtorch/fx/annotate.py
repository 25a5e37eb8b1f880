"""`torch.fx.annotate`: types for values in a traced function."""

from __future__ import annotations

from typing import Any

from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """The value; where it is being traced, its node gets the type. RuntimeError for a node that has another."""
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is "
                f"{type}. This could happen if you tried to annotate a function parameter value (in which case you should use "
                "the type slot on the function signature) or you called annotate on the same value twice"
            )
        val.node.type = type
    return val
