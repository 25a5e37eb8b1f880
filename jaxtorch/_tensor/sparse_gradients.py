"""Sparse tensors in the graph, among the arguments and results of an `autograd.Function` for instance.

The history of a sparse tensor is that of its values. So a gradient that the user's backward gives for a sparse argument is sent on as
one of its values, at its own indices, and the gradient of a sparse result's values reaches backward as a sparse tensor.
"""

from __future__ import annotations

from typing import Any

from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import Tensor


def carrier(t: Any) -> Any:
    """The tensor that carries the history of `t`: itself, or a sparse tensor's values."""
    return t._parts[-1] if is_sparse(t) else t


def places(tensors: Any) -> dict[int, Any]:
    """The sparse tensors among these by number, without their histories."""
    return {i: t.detach() for i, t in enumerate(tensors) if is_sparse(t)}


def to_values(g: Any, like: Any) -> Any:
    """The values of a gradient, sparse or dense, at the places of the sparse tensor `like`."""
    if not isinstance(g, Tensor):
        return g
    if g.shape != like.shape:
        raise RuntimeError(
            f"an autograd.Function gave a gradient of shape {list(g.shape)} for a sparse tensor of shape {list(like.shape)}"
        )
    if is_sparse(g) and g.layout is like.layout and (not like.is_sparse or like.is_coalesced()):
        mine, given = like._parts[:-1], g._parts[:-1]  # pyright: ignore[reportAttributeAccessIssue]
        if all(a is b or (a.shape == b.shape and bool((a == b).all())) for a, b in zip(mine, given, strict=True)):
            return carrier(g)
    return carrier(g.sparse_mask(like))


def result(o: Any, ctx: Any, k: int) -> Any:
    """The sparse output `k` with its place in the graph."""
    values = o._parts[-1].detach()
    values._set_history(ctx, k)
    return o._with_values(values, made_by=type(ctx).__name__)
