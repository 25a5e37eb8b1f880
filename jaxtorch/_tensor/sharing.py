"""Memory shared between processes: `share_memory_` moves a tensor into a mapping that forked children see and write."""

from __future__ import annotations

import mmap

import numpy as np

from .._core import host
from .._core.device import cpu
from .._core.program import force
from .._core.storage import Alias, alias_of
from .._core.tensor import Tensor
from ._members import Members
from .conversion import to_numpy

MEMBERS = Members()
member = MEMBERS.member


class SharedMemory(host.HostMemory):
    """Flat memory in an anonymous shared mapping. It stays the truth for good: another process may write it any time."""

    __slots__ = ()

    def shared(self) -> bool:
        return True


@member
def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor, and all on its storage, into memory that processes forked from here on share; a no-op if it is there.

    Unlike in PyTorch, a tensor sent to a process (in a queue, or to a spawned one) is a copy. Each operation reads the memory
    afresh, so what computes on such tensors is slower.
    """
    if self._value.aval.slot is not cpu.slot or is_shared(self):
        return self
    to_numpy(self)
    storage = alias_of(self).storage
    flat = (
        storage.host.flat
        if storage.host is not None
        else host._laid_out(np.asarray(force(storage.value)), storage.layout)
    )
    mapped = np.frombuffer(mmap.mmap(-1, max(flat.nbytes, 1)), np.uint8, flat.nbytes).view(flat.dtype)
    mapped[...] = flat
    storage.host = SharedMemory(mapped, None)
    storage.version.n += 1
    storage.version.hidden += 1
    return self


@member
def is_shared(self: Tensor) -> bool:
    """Is the memory shared with forked processes, after `share_memory_`? Tensors on a GPU always say True, as in PyTorch."""
    alias = self._alias
    if self._value.aval.slot.device.type == "cuda":
        return True
    return isinstance(alias, Alias) and isinstance(alias.storage.host, SharedMemory)
