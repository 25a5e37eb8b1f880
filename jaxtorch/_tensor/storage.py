"""Tensors and the memory behind them: `untyped_storage()`, `storage()`, `resize_` and `set_`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.define.signature import MISSING, need_kind
from .._core.run import capture
from .._core.tensor import numpy_sharing, out_tensors, strides, view_strides
from .._core.tensor.layouts import normal, offset_of, suggests
from .._core.tensor.storage import Alias, Storage, Version, alias_of
from .._core.tensor.tensor import Tensor, count_write, from_host, need_tensor, refuse_inference
from .._core.types import dtypes
from .._core.types.grad_mode import state
from .._core.types.size import LONG, as_size, need_sizes
from .._core.types.value import Value, aval_of
from .._ops.indexing.setitem import C_NAMES
from .._ops.shapes import as_strided, views
from . import storage_warnings
from ._members import Members
from .memory import extent_of, flat_of, grow, pin, whole_of
from .storage_types import TypedStorage, UntypedStorage, of

MEMBERS = Members()
member = MEMBERS.member


@member
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory behind the tensor, which its views share."""
    return of(self)


@member
def _typed_storage(self: Tensor) -> TypedStorage:
    return TypedStorage(wrap_storage=of(self), dtype=self._value.aval.dtype, _internal=True)


@member
def storage(self: Tensor) -> TypedStorage:
    """The memory behind the tensor as elements of its type; deprecated, as in PyTorch."""
    storage_warnings.warn()
    return _typed_storage(self)


# -- memory that changes its size, and tensors that change their memory


def _show(t: Tensor, storage: Storage, dtype: dtypes.dtype, size: Any, stride: Any, offset: int) -> None:
    """Make a tensor a window on storage memory, reading it anew."""
    slot = storage.value.aval.slot
    if storage.host is None:
        whole = whole_of(storage)
        if storage.layout is None:
            flat = views._view(whole.detach(), (-1,))
            flat = flat if flat.dtype is dtype else views.view_dtype(flat, dtype)
            if as_strided._reaches(flat, size, stride, offset):
                seen = as_strided._as_strided(flat, tuple(size), tuple(stride), offset, None)
                t._value, t._alias = seen._value, seen._alias
                t._layout = normal(size, stride, offset)
                return
        pin(storage, flat_of(storage))
    elif type(storage.host) is numpy_sharing.HostMemory:  # the truth for good, whoever else lets go of it
        held = storage.host
        pin(storage, held.flat)
        storage.host.fixed = held.fixed
    t._value = Value(aval_of(tuple(size), dtype, slot))
    t._layout = normal(size, stride, offset)
    t._alias = Alias(storage, (), None, 0)
    t._alias.seen = -1


def _count(t: Tensor) -> None:
    """Count a change as a write."""
    alias = t._alias
    if alias is None:
        count_write(t)
        return
    alias.version.n += 1
    if alias.silent is not None:
        alias.version.hidden += 1
        alias.silent.n += 1


@member
def resize_(self: Tensor, *items: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Another shape on the same memory, which grows where it is too small. New elements are 0 here, undefined in PyTorch."""
    if not items and size is None:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    capture.expose_memory(self)
    if self._rg:
        raise RuntimeError("cannot resize variables that require grad")
    given = items if size is None else (size,)
    new = tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    new = as_size(need_sizes("resize_", "size", new, 1), "resize_")
    if any(n < 0 for n in new):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(new)}: {list(new)}")
    aval = self._value.aval
    if math.prod(new) * aval.dtype.itemsize >= LONG:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(new)}")
    name = getattr(memory_format, "name", memory_format)
    packed = strides.contiguous(new) if name in (None, "contiguous_format") else strides.channels_last(new, name)
    if new == aval.shape and name is None:
        return self
    refuse_inference(self)
    if self._alias is None and not aval.numel and packed == strides.contiguous(new):
        self._value, self._layout = from_host(np.zeros(new, aval.dtype.np), aval.slot.device)._value, None
        count_write(self)
        return self
    _in_memory(self, tuple(new), packed)
    if new != aval.shape:
        _count(self)
    return self


def _in_memory(self: Tensor, new: tuple[int, ...], packed: Any = None) -> None:
    """Another shape and strides on the tensor's memory, which grows where it is too small."""
    aval, offset = self._value.aval, offset_of(self)
    packed = strides.contiguous(new) if packed is None else packed
    count = int(np.prod(new, dtype=np.int64))
    alias = alias_of(self)
    needed = (offset + count) * aval.dtype.itemsize if count else 0
    if needed > extent_of(alias.storage):
        grow(alias.storage, needed)
    silent, base, depth = alias.silent, alias.base, alias.depth
    _show(self, alias.storage, aval.dtype, new, packed, offset)
    made = self._alias
    assert made is not None
    made.silent, made.base, made.depth, made.own = silent, base, depth, alias.own


out_tensors.in_memory = _in_memory


@member
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    need_tensor(the_template, "resize_as_", "the_template")
    if getattr(memory_format, "name", memory_format) == "preserve_format":
        memory_format = suggests(the_template) or "contiguous_format"
    return resize_(self, tuple(the_template._value.aval.shape), memory_format=memory_format)


def _held_by(source: Any, dtype: dtypes.dtype, offset: int) -> tuple[UntypedStorage, int]:
    """The memory that `set_` is given, and the offset in it: from that of a tensor on. RuntimeError where it is of another type."""
    if isinstance(source, Tensor):
        if source.dtype is not dtype:
            raise _wrong_source(source.dtype, dtype)
        return source.untyped_storage(), offset + offset_of(source)
    held = getattr(source, "dtype", dtype)
    if held is not dtype:
        wanted, got = dtypes.scalar_name(dtype), dtypes.scalar_name(held)
        raise RuntimeError(
            f"Expected a Storage of type {wanted} or an UntypedStorage, but got type {got} for argument 1 'storage'"
        )
    return source.untyped(), offset


def _wrong_source(given: dtypes.dtype, wanted: dtypes.dtype) -> RuntimeError:
    given_name, name = C_NAMES[given.name], C_NAMES[wanted.name]
    return RuntimeError(f"Could not set tensor of type {given_name} to a tensor of type {name}")


@member
def set_(
    self: Tensor, source: Any = MISSING, storage_offset: Any = MISSING, size: Any = MISSING, stride: Any = MISSING
) -> Tensor:
    """Make the tensor use other memory: that of a tensor, or of a storage with an offset, size and strides in elements."""
    capture.expose_memory(self)
    tensor = isinstance(source, Tensor)
    if (source is not MISSING and not tensor and not hasattr(source, "untyped")) or (size is MISSING) is not (
        storage_offset is MISSING
    ):
        raise TypeError(f"set_() received an invalid combination of arguments - got ({type(source).__name__})")
    if size is not MISSING:
        need_kind("set_", "storage_offset", "int", storage_offset)
        need_sizes("set_", "size", size, 3)
        if stride is not MISSING:
            need_sizes("set_", "stride", stride, 4)
    refuse_inference(self)
    dtype, version = self._value.aval.dtype, self._version
    if self._rg and self._node is None and state.grad:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if self._rg and self._node is not None:
        if state.grad:
            raise RuntimeError("derivative for set_ is not implemented")
        raise RuntimeError("set_() of a tensor that autograd has a history for is not supported")
    if source is MISSING:
        self._value, self._alias, self._layout = from_host(np.zeros(0, dtype.np))._value, None, None
    elif isinstance(source, Tensor) and size is MISSING:
        if source._value.aval.dtype is not dtype:
            raise _wrong_source(source.dtype, dtype)
        seen = source.detach()
        self._value, self._layout, self._alias = seen._value, seen._layout, seen._alias
    else:
        held, storage_offset = _held_by(source, dtype, 0 if storage_offset is MISSING else storage_offset)
        size = (held.nbytes() // dtype.itemsize,) if size is MISSING else tuple(map(int, size))
        stride = strides.contiguous(size) if stride is MISSING else tuple(map(int, stride))
        if len(size) != len(stride):
            raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
        view_strides.as_strided((), (), 0, size, stride, storage_offset)
        if 0 not in size:
            last = storage_offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
            if (last + 1) * dtype.itemsize > held.nbytes():
                grow(held._storage, (last + 1) * dtype.itemsize)
        _show(self, held._storage, dtype, size, stride, storage_offset)
    if self._alias is not None:
        self._alias.silent = Version(version + 1)  # the tensor's own
    self._ver = version + 1
    self.__dict__.pop("_written", None)  # that of the memory it had
    return self
