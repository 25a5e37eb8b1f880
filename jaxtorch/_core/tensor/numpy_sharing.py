"""Memory shared with NumPy: `from_numpy(a)` and `t.numpy()` on CPU.

While a NumPy array that the user can write is alive on a storage, the array's memory is the truth. A tensor on such a storage
is read afresh, by copying the part it views, whenever an operation uses it; and it is written by writing the array, at once.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from ..host.transfer import fetched
from ..record.program import force
from ..run import capture
from ..run.runner import is_tracer
from ..types import dtypes
from ..types.device import cpu
from ..types.grad_mode import RestartUntaped, state, watch
from ..types.reference_counts import LISTED, counted
from ..types.value import VIEW, WHOLE, Aval, Value, aval_of
from . import strides
from . import tensor as _tensor
from .storage import Alias, Storage, Version, alias_of
from .tensor import Tensor, wrap
from .views import read_along, several_in_one_place, written_along


class HostMemory:
    """The flat NumPy memory behind a storage.

    owner: the array whose reference count tells whether the user still holds arrays on the memory (NumPy's views all point to
    the array that owns it); None where that cannot be known.
    fixed: NumPy has seen it, so it cannot grow.
    storage, left: weak references to the storage whose nodes may have saved what is here, and to the value that it took over
    when the user had let go of the memory.
    """

    __slots__ = ("flat", "owner", "fixed", "storage", "left")

    def __init__(self, flat: np.ndarray[Any, Any], owner: Any) -> None:
        self.flat = flat
        self.owner = owner
        self.fixed = False
        self.storage: Any = None
        self.left: Any = None

    def shared(self) -> bool:
        """May the user still write to the memory?"""
        return self.owner is None or next(counted((self.owner,))) > _OURS

    def watched_by(self, version: Version, storage: Storage) -> None:
        """Let nodes that have saved values of this version read them here, as they are then."""
        if version.memory is not self:
            version.memory, self.storage = self, weakref.ref(storage)

    def now(self, value: Value, layout: Any) -> Value:
        """A value that a node has saved, as it is in this memory now; itself, where the memory is the storage's no more."""
        if self.flat.dtype.kind == "c":
            return value  # it may be a conjugating view's
        storage = self.storage()
        if storage is None:
            valid = self.left is None
        else:
            valid = storage.host is self or (self.left is not None and storage.value is self.left())
        return Value(value.aval, np.array(self.window(value.aval, layout), order="C")) if valid else value

    def window(self, aval: Aval, layout: Any) -> np.ndarray[Any, Any]:
        """The part of the memory that such a tensor views, as a writable array."""
        flat = self.flat if self.flat.dtype == aval.dtype.np else self.flat.view(aval.dtype.np)
        return _part(flat, aval.shape, layout)

    def read(self, t: Tensor, alias: Alias) -> Value:
        """A tensor's value, copied from the shared memory as it is now."""
        capture.break_capture("it reads memory that is shared with NumPy")
        if not self.shared():
            _leave(alias)
            alias.seen = -2
            return alias.peek(t)
        if _conjugates(alias):
            t._value = read_along(
                alias.chain, Value(alias.storage.value.aval, np.array(whole(alias.storage), order="C"))
            )
        else:
            t._value = Value(t._value.aval, np.array(_window(self, t), order="C"))
        if t._alias is alias:
            version = alias.version if alias.silent is None else alias.silent
            if alias.silent is None:
                self.watched_by(version, alias.storage)
            t._value.guard = (version, alias.counted(), VIEW if alias.chain else WHOLE, t._layout)
        return t._value

    def write(self, t: Tensor, alias: Alias, value: Value) -> None:
        """Write a tensor's new content through to the shared memory."""
        if _conjugates(alias):
            old = Value(alias.storage.value.aval, np.array(whole(alias.storage), order="C"))
            window, new = whole(alias.storage), np.asarray(force(written_along(t, alias.chain, old, value)))
        else:
            window, new = _window(self, t), np.asarray(force(value))
        layout, size = t._layout, t._value.aval.shape
        repeated = layout is not None and new.shape == size and strides.may_overlap(size, layout[0])
        if repeated or several_in_one_place(alias.chain, t):  # where places repeat, what has changed counts
            changed = (new != window) & ((new == new) | (window == window))
            window[changed] = new[changed]
        else:
            window[...] = new
        if alias.silent is not None:
            alias.version.hidden += 1
            alias.silent.n += 1
        alias.version.n += 1


_OURS = LISTED + 2  # what `counted` says of an array that `owner` and `flat` (or its base) hold


def _window(host: HostMemory, t: Tensor) -> np.ndarray[Any, Any]:
    return host.window(t._value.aval, t._layout)


def _part(flat: np.ndarray[Any, Any], size: tuple[int, ...], layout: Any) -> np.ndarray[Any, Any]:
    """The elements that a size and a layout pick from flat memory, as a writable array.

    RuntimeError where the memory ends before them: the storage has been made smaller since.
    """
    if layout is None and flat.flags.c_contiguous and 0 < flat.size == math.prod(size):
        return flat.reshape(size)
    stride, offset = layout if layout is not None else (strides.contiguous(size), 0)
    item = flat.itemsize
    if not flat.flags.c_contiguous:
        return np.lib.stride_tricks.as_strided(flat[offset:], size, [s * item for s in stride])
    if 0 in size:
        return np.empty(size, flat.dtype)
    extent = offset + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)]) + 1
    if extent > flat.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {extent * item} are out of bounds for storage of size {flat.nbytes}"
        )
    return np.ndarray(size, flat.dtype, flat, offset * item, [s * item for s in stride])


def _conjugates(alias: Alias) -> bool:
    """Does a conjugating view lead to the tensor? Then its values are not those in memory."""
    return alias.storage.host.flat.dtype.kind == "c" and any(op.name == "_conj" for op, _, _ in alias.chain)


def whole(storage: Any) -> np.ndarray[Any, Any]:
    """All of the shared memory, in the shape of the tensor that owns it."""
    return _part(storage.host.flat, storage.value.aval.shape, storage.layout)


def _leave(alias: Alias) -> None:
    """The user's array is gone: make the storage's value immutable again."""
    storage = alias.storage
    host = storage.host
    storage.host = None
    shape = storage.value.aval.shape
    array = host.flat.reshape(shape) if storage.layout is None else np.array(_part(host.flat, shape, storage.layout))
    storage.value = Value(storage.value.aval, array)
    host.left = weakref.ref(storage.value)
    storage.version.n += 1
    storage.version.hidden += 1


def _has_tangent(value: Value) -> bool:
    return _tensor.forward_mode.is_dual(value)


def share(t: Tensor) -> np.ndarray[Any, Any]:
    """A NumPy array on the tensor's memory: writing either is seen in the other (`Tensor.numpy`)."""
    alias = alias_of(t)
    storage = alias.storage
    if "duals" in watch and _has_tangent(storage.value):  # in NumPy's hands it would lose its tangent: a copy
        return np.array(force(t._read()))
    if storage.host is None:
        if state.taped:
            raise RestartUntaped  # JAX's tracers know whether it has memory
        array = force(storage.value)
        if is_tracer(array):
            raise RuntimeError("numpy(): a tensor inside a transformation (torch.func, JAX) has no memory to share")
        flat = _laid_out(fetched(array), storage.layout)
        storage.host = HostMemory(flat, flat)
        storage.host.fixed = True
        version = storage.version
        storage.host.watched_by(version, storage)
        storage.value.guard = (version, version.n - version.hidden, WHOLE, storage.layout)
        storage.version.n += 1
        storage.version.hidden += 1
    return _window(storage.host, t)


def _laid_out(array: np.ndarray[Any, Any], layout: Any) -> np.ndarray[Any, Any]:
    """New flat memory that holds the array's elements where its tensor's strides say."""
    if layout is None or array.size == 0:
        flat = np.empty(array.size, array.dtype)
        flat[...] = array.reshape(-1)
        return flat
    stride, offset = layout
    flat = np.zeros(offset + 1 + sum((n - 1) * s for n, s in zip(array.shape, stride, strict=True)), array.dtype)
    _part(flat, array.shape, layout)[...] = array
    return flat


def adopt(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor on the user's array, which stays writable from both sides (`from_numpy`)."""
    item = array.itemsize
    t = wrap(Value(aval_of(array.shape, dtypes.from_numpy(array.dtype), cpu.slot), None))
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if any(s % item for s in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size.")
    stride = tuple([s // item for s in array.strides])
    if stride != strides.contiguous(array.shape):
        t._layout = (stride, 0)
    if array.flags.c_contiguous:
        host = HostMemory(array.reshape(-1), array if array.flags.owndata else None)
    else:
        extent = 1 + sum((n - 1) * s for n, s in zip(array.shape, stride, strict=True)) if array.size else 0
        host = HostMemory(np.lib.stride_tricks.as_strided(array, (extent,), (item,)), None)
    host.fixed = True
    alias = alias_of(t)
    alias.storage.host = host
    alias.seen = -1
    return t
