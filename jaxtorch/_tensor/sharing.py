"""Memory shared between processes: `share_memory_` moves a tensor into a mapped file that child processes see and write.

A forked child inherits the mapping. To a process that is being spawned the file's descriptor is passed on.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from .._core.record.program import force
from .._core.tensor import numpy_sharing
from .._core.tensor.layouts import offset_of, strides_of
from .._core.tensor.storage import Alias, alias_of
from .._core.tensor.tensor import Tensor, from_host
from .._core.types import dtypes
from .._core.types.device import cpu
from ._members import Members
from .conversion import to_numpy
from .storage import set_

MEMBERS = Members()
member = MEMBERS.member


class SharedMemory(numpy_sharing.HostMemory):
    """Flat memory in a shared mapping of a nameless file. It stays the truth for good: another process may write it any time."""

    __slots__ = ("file",)

    def __init__(self, file: int, dtype: np.dtype, nbytes: int) -> None:
        mapping = mmap.mmap(file, max(nbytes, 1))
        super().__init__(np.frombuffer(mapping, np.uint8, nbytes).view(dtype), None)
        self.file = file

    def __del__(self, close: Any = os.close) -> None:  # modules may be gone by then
        close(self.file)

    def shared(self) -> bool:
        return True


def _nameless_file(nbytes: int) -> int:
    """The descriptor of a file of zeros that goes with the last process that has it open; in memory where that can be."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("jaxtorch")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    os.truncate(file, max(nbytes, 1))
    return file


@member
def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor, and all on its storage, into memory shared with processes that are started from here on, by fork or with the
    tensor among their arguments; a no-op if it is there.

    Unlike in PyTorch, a tensor sent in a queue is a copy. Each operation reads the memory afresh, so what computes on such tensors is
    slower.
    """
    if self._value.aval.slot is not cpu.slot or is_shared(self):
        return self
    to_numpy(self)
    storage = alias_of(self).storage
    flat = (
        storage.host.flat
        if storage.host is not None
        else numpy_sharing._laid_out(np.asarray(force(storage.value)), storage.layout)
    )
    memory = SharedMemory(_nameless_file(flat.nbytes), flat.dtype, flat.nbytes)
    memory.flat[...] = flat
    _put_there(self, memory)
    return self


def _put_there(t: Tensor, memory: SharedMemory) -> None:
    """Let a tensor's storage be this memory, which has its content."""
    storage = alias_of(t).storage
    storage.host = memory
    storage.version.n += 1
    storage.version.hidden += 1


def reduced(t: Tensor) -> Any:
    """How a tensor goes to another process: as the descriptor of its memory to one that is being started, else as a copy.

    RuntimeError for one with a history, which stays behind.
    """
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it "
            "on the queue)."
        )
    if get_spawning_popen() is None or not is_shared(t) or os.name == "nt":
        return t.__reduce_ex__(2)
    from multiprocessing.reduction import DupFd  # Windows has none

    memory: Any = alias_of(t).storage.host
    where = tuple(t.shape), strides_of(t), offset_of(t)
    flat = memory.flat
    return _mapped, (DupFd(memory.file), flat.dtype, flat.nbytes, t.dtype.name, where, t.requires_grad)


ForkingPickler.register(Tensor, reduced)  # a Parameter is pickled as the tensor on its memory


def _mapped(file: Any, dtype: np.dtype, nbytes: int, name: str, where: Any, requires_grad: bool) -> Tensor:
    """In the new process: the tensor on the memory of the old one."""
    whole = from_host(np.zeros(nbytes // dtype.itemsize, dtype))
    _put_there(whole, SharedMemory(file.detach(), dtype, nbytes))
    size, stride, offset = where
    t = set_(from_host(np.zeros(0, dtypes.by_name(name).np)), whole.untyped_storage(), offset, size, stride)
    return t.requires_grad_(requires_grad)


@member
def is_shared(self: Tensor) -> bool:
    """Is the memory shared with other processes, after `share_memory_`? Tensors on a GPU always say True, as in PyTorch."""
    alias = self._alias
    if self._value.aval.slot.device.type == "cuda":
        return True
    return isinstance(alias, Alias) and isinstance(alias.storage.host, SharedMemory)
