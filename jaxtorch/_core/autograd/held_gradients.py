"""Gradients that hooks have in hand: while somebody holds such a tensor, the hooks that come later get the very same.

What a hook keeps goes on through the backward pass as a value of its own, so that writes to the tensor do not reach it. Here
stands which tensor that value was shown as: a hook may have put an attribute on it for the next one to find.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from ..tensor.views import own_copy
from ..types.value import Value

_HELD_BY: dict[
    int, tuple[Any, Value, Value]
] = {}  # id of the value that goes on: (the tensor, what it read, that value)


def tensor_for_hook(g: Any, mode: Any) -> Any:
    """The tensor that a hook gets for a gradient."""
    entry = _HELD_BY.get(id(g)) if _HELD_BY else None
    if entry is not None:
        tensor = entry[0]()
        if tensor is not None and tensor._read() is entry[1]:
            return tensor
    return mode.to_tensor(g)


def keep(tensor: Any, g: Any, *, apart: bool = True) -> Any:
    """What goes on in place of the gradient `g`, whose tensor somebody outside holds: a value of its own, if `apart`."""
    if g.__class__ is not Value:
        return g
    entry = _HELD_BY.get(id(g))
    if entry is not None and entry[0]() is tensor and entry[1] is not g:
        return g  # apart already
    own = own_copy(g) if apart else g
    key = id(own)
    _HELD_BY[key] = ref(tensor, lambda _: _HELD_BY.pop(key, None)), g, own
    return own


def release_all() -> None:
    """The outermost backward pass has ended."""
    _HELD_BY.clear()
