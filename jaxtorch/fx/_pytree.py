"""`torch.fx._pytree`: what the text of a graph with nested arguments calls."""

from __future__ import annotations

from typing import Any

from ..utils import _pytree as pytree

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(pytree_: Any, spec: Any) -> list[Any]:
    """The leaves of nested containers; ValueError where their structure is not `spec`."""
    leaves, found = pytree.tree_flatten(pytree_)
    if found != spec:
        raise ValueError(f"fx: the arguments have the structure {found}, and the graph was traced with {spec}")
    return leaves
