"""What tensors that share memory share, and how each of them reads it.

A tensor nobody shares has no storage object: its value is its own. The first view, `detach()` or `.data` makes one. Then every
tensor on the storage reads it through an `Alias`: the chain of view operations from the storage's value to its own,
re-read when the storage's version has moved.
"""

from __future__ import annotations

import weakref
from typing import Any

from ..types.reference_counts import LISTED, counted
from ..types.value import VIEW, Value
from . import strides


class Version:
    """The version counter of a storage: how often it has been written in place."""

    __slots__ = ("n", "hidden", "by", "memory")

    def __init__(self, n: int) -> None:
        self.n = n
        self.by: Any = None  # the type of the node that last wrote the whole
        self.memory: Any = None  # shared with NumPy, now or before: what backward has saved of it is read there
        self.hidden = 0  # writes through `.data`, which `_version` does not show


class Storage:
    """The memory that several tensors share: one value, and its version.

    owner: weak reference to the tensor that reads it whole, kept up to date so that it holds no outdated value.
    host: a NumPy array that shares this memory with the user; while it lives it is the truth (see numpy_sharing.py).
    layout: (strides, offset) of the whole in that memory, None where it is contiguous.
    inferred: the memory was made in inference mode.
    addressed: somebody was told where it is.
    """

    __slots__ = ("value", "version", "host", "owner", "layout", "inferred", "addressed", "__weakref__")

    def __init__(self, value: Value, version: int, owner: Any) -> None:
        self.value = value
        self.owner = weakref.ref(owner)
        self.version = getattr(owner, "_written", None) or Version(version)
        self.version.n = version  # what was counted as a write without one is counted here too
        self.host: Any = None
        self.layout: Any = owner._layout
        self.inferred: bool = getattr(owner, "_inferred", False)
        self.addressed = False


refresh: Any = None
"""(tensor, alias, place=None): the value of a tensor whose memory was written since it looked. Set by views.py."""
write_with_graph: Any = None
"""(tensor, alias, result): an operation in place on a tensor that shares memory, where a gradient is recorded. Set by views.py."""


class Alias:
    """How one tensor reads a storage.

    chain: view steps from the storage's value to the tensor's, each (op, static arguments, numbers).
    seen:  the storage's version when the tensor's value was read; -1 where it must be read each time.
    base:  the tensor this is a differentiable view of, or None; `depth` steps of the chain lead to the base.
    placed: how often the memory had been written, as autograd counts, when the view got its place in the graph.
    own:   the user asked for a gradient of this view itself (`requires_grad_`).
    loose: `detach()` or `.data` of an inference tensor, taken outside inference mode: it may be written, and counts that.
    """

    __slots__ = ("storage", "version", "chain", "seen", "base", "depth", "silent", "multi", "no_grad", "placed", "own",
                 "loose")  # fmt: skip

    shaped = True
    """Has the tensor a shape yet?"""

    def __init__(self, storage: Storage, chain: tuple[Any, ...], base: Any, depth: int) -> None:
        self.storage = storage
        self.version = storage.version
        self.chain = chain
        self.seen = storage.version.n if storage.host is None else -1
        self.base = base
        self.depth = depth
        self.silent: Version | None = (
            None  # of `.data` and its views: their own count of writes, which autograd ignores
        )
        self.multi = ""  # name of the function of several views that made this one
        self.no_grad = ""  # made where no gradient was recorded: the mode, or "custom" in an autograd.Function
        self.placed = -1
        self.own = False
        self.loose = False

    def read(self, t: Any) -> Value:
        """The tensor's current value."""
        if self.version.n == self.seen:
            return t._value
        return refresh(t, self)

    def peek(self, t: Any) -> Value:
        """The tensor's current value, for what is not differentiated: a view that was displaced stays so, as in PyTorch."""
        if self.version.n == self.seen:
            return t._value
        return refresh(t, self, False)

    def guard(self, layout: Any) -> tuple[Version, int, int, Any]:
        """What backward must heed before it reads a value of this tensor, read now."""
        version = self.version if self.silent is None else self.silent
        return version, version.n - version.hidden, VIEW, layout

    def counted(self) -> int:
        """How often the memory has been written, as `_version` shows it."""
        version, silent = self.version, self.silent
        return version.n - version.hidden if silent is None else silent.n

    def reconsider(self) -> None:
        """The tensor, of which there may be views, has begun or ceased to require a gradient: they look again."""
        version = self.version
        if self.seen == version.n:
            self.seen += 1
        version.n += 1
        version.hidden += 1


def alias_of(t: Any) -> Alias:
    """The tensor's alias, made (with its storage) if it has none yet."""
    alias = t._alias
    if alias is None:
        alias = t._alias = Alias(Storage(t._value, t._ver, t), (), None, 0)
    return alias


HELD = LISTED + 1  # what `counted` says of the storage of one alias


def owned_again(t: Any) -> bool:
    """Give a tensor memory of its own where it views all of some that nobody else has any more. Was that so?"""
    alias = t._alias
    if type(alias) is not Alias or next(counted((alias.storage,))) != HELD or alias.base is not None:
        return False
    storage, version = alias.storage, alias.version
    if storage.host is not None or storage.inferred or storage.addressed or alias.silent is not None:
        return False
    if version.hidden or version.memory is not None or not _whole(t, storage):
        return False
    t._value = alias.read(t)
    t._alias, t._ver, t._written = None, version.n, version
    return True


def _whole(t: Any, storage: Storage) -> bool:
    """Is a tensor all of its memory, each element once?"""
    shape, layout = t._value.aval.shape, t._layout
    if storage.value.aval.numel != t._value.aval.numel:
        return False
    return layout is None or (layout[1] == 0 and not strides.may_overlap(shape, layout[0]))
