"""Two tensors exchange what they are, and keep who they are."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from .._core.tensor.tensor import Tensor

_OWN = tuple(n for n in vars(Tensor)["__slots__"] if n not in ("__dict__", "__weakref__"))


def _owner(t: Tensor) -> Any:
    """The memory's reference to `t`, if it has one: the only weak one that a tensor may have here."""
    alias = t._alias
    return alias.storage.owner if alias is not None and alias.storage.owner() is t else None


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange class, attributes, memory, gradient and history of two tensors; whoever holds one now holds the other's.

    RuntimeError where one has weak references, or slots that the other has not. Unlike in PyTorch, a graph that is still to be
    run backward through one of them is no error: its gradient arrives at the same Python object as before.
    """
    owners = [_owner(t) for t in (t1, t2)]
    for name, t, own in zip(("t1", "t2"), (t1, t2), owners, strict=True):
        if any(r is not own for r in weakref.getweakrefs(t)):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = [set(copyreg._slotnames(type(t))) for t in (t1, t2)]  # pyright: ignore[reportAttributeAccessIssue]
    if slots[0] != slots[1]:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name in {"__class__", "__dict__", *_OWN, *slots[0]}:
        values = [getattr(t, name, _OWN) for t in (t1, t2)]  # a slot may be empty
        for t, value in zip((t2, t1), values, strict=True):
            if value is not _OWN:
                object.__setattr__(t, name, value)
            elif hasattr(t, name):
                object.__delattr__(t, name)
    for t, own in zip((t2, t1), owners, strict=True):
        if own is not None:
            t._alias.storage.owner = weakref.ref(t)  # pyright: ignore[reportOptionalMemberAccess]
