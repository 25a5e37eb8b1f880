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


_flatten_specs: dict[type, Any] = {}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Any, flatten_fn_exact_match_spec: Any = None) -> None:
    """Keep how objects of a class are taken apart; `torch.utils._pytree.register_pytree_node` decides."""
    _flatten_specs[cls] = (flatten_fn_spec, flatten_fn_exact_match_spec)
