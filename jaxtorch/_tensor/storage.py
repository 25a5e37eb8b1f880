"""The memory behind tensors: `untyped_storage()`, `storage()`, `resize_` and `set_`.

A tensor's memory is a value that XLA holds, so a storage has no address to read from: its bytes are copied out on demand, and
what is written into it is put back whole. What a value cannot do, such as growing under the tensors that view it, moves
the memory to the host for good, where every tensor is a window on flat memory (`_core/host.py`).
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._core import apart, dtypes, forward, host, strides, viewstrides
from .._core.device import cpu, default_device, device
from .._core.layouts import normal, offset_of
from .._core.modes import state
from .._core.program import force
from .._core.runner import is_tracer
from .._core.storage import Alias, Storage, Version, alias_of
from .._core.tensor import Tensor, count_write, from_host, need_tensor, refuse_inference, wrap
from .._core.value import Value, aval_of
from .._core.warned import once
from .._ops.assignment import C_NAMES
from ._members import Members

MEMBERS = Members()
member = MEMBERS.member


class PinnedMemory(host.HostMemory):
    """Flat memory that stays the truth for good."""

    __slots__ = ()

    def shared(self) -> bool:
        return True


def _extent(storage: Storage) -> int:
    """How many bytes of memory a storage has."""
    if storage.host is not None:
        return storage.host.flat.nbytes
    aval, count = storage.value.aval, storage.value.aval.numel
    if storage.layout is not None and count:
        stride, offset = storage.layout
        count = offset + 1 + sum((n - 1) * s for n, s in zip(aval.shape, stride, strict=True))
    return count * aval.dtype.itemsize


def _flat(storage: Storage) -> np.ndarray[Any, Any]:
    """The content as flat memory: the memory itself where it is on the host, else a copy."""
    if storage.host is not None:
        return storage.host.flat
    return host._laid_out(np.asarray(force(storage.value)), storage.layout)


def _pin(storage: Storage, flat: np.ndarray[Any, Any]) -> None:
    """Make host memory the truth of a storage, for good."""
    if storage.value.aval.slot is not cpu.slot:
        raise NotImplementedError("jaxtorch: a storage on an accelerator cannot be resized or read as another type")
    forward.refuse(storage.value, "the memory cannot be resized or replaced")
    storage.host = PinnedMemory(flat, None)
    storage.version.n += 1
    storage.version.hidden += 1


def _whole(storage: Storage) -> Tensor:
    """A tensor that reads and writes all of the storage, without counting as a modification."""
    t = wrap(storage.value)
    t._layout = storage.layout
    t._alias = Alias(storage, (), None, 0)
    t._alias.silent = Version(0)
    return t


_copies: weakref.WeakKeyDictionary[Storage, Any] = weakref.WeakKeyDictionary()
"""For storages whose address was asked for: memory with their content, and the version it has."""


def address(storage: Storage) -> int:
    """Where the content is in memory: the same place for as long as the storage lives.

    On the CPU it can be read there, as it is at the moment of the question: XLA's own memory moves with each write, so it
    is a copy, unless NumPy shares the memory. On other devices, and under JAX's transformations, it only names the storage.
    """
    storage.addressed = True
    if storage.host is not None:
        return int(storage.host.flat.__array_interface__["data"][0])
    extent = _extent(storage)
    if not extent or storage.value.aval.slot.is_meta:
        return 0
    if storage.value.aval.slot is not cpu.slot or is_tracer(storage.value.array):
        return id(storage) << 8
    memory, version = _copies.get(storage, (None, None))
    if memory is None or memory.nbytes != extent:
        memory = np.empty(extent + 64, np.uint8)
        memory = memory[-memory.ctypes.data % 64 :][:extent]  # aligned as PyTorch's is
    if version != storage.version.n:
        memory[:] = np.ascontiguousarray(_flat(storage)).view(np.uint8)
        _copies[storage] = memory, storage.version.n
    return memory.ctypes.data


_public: weakref.WeakKeyDictionary[Storage, Any] = weakref.WeakKeyDictionary()


def shared_file(filename: Any, dtype: Any, count: int) -> np.ndarray[Any, Any]:
    """The first elements of a file, whose memory is the file; it is made, or grown, to hold them."""
    needed = count * dtype.itemsize
    if not os.path.exists(filename) or os.path.getsize(filename) < needed:
        with open(filename, "ab") as file:
            file.truncate(needed)
    return np.asarray(np.memmap(filename, dtype, "r+", shape=(count,)))


class StorageBase:
    """What storages of bytes have in common: base of `UntypedStorage`."""

    __slots__ = ()


class UntypedStorage(StorageBase):
    """The bytes of memory that tensors share.

    Unlike in PyTorch a slice of a storage is a copy.
    """

    __module__ = "jaxtorch.storage"

    _storage: Storage

    def __new__(cls, size: int | Sequence[int] = 0, *, device: Any = None) -> UntypedStorage:
        array = np.zeros(size, np.uint8) if isinstance(size, int) else np.asarray(size, np.uint8)
        return of(from_host(array, device and _device(device)))

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, read as they are needed. shared: writes go to the file, which is made or grown if need be."""
        if shared and nbytes:
            return of(host.adopt(shared_file(filename, np.dtype(np.uint8), nbytes)))
        return of(from_host(np.memmap(filename, np.uint8, "c", shape=(nbytes,)) if nbytes else np.zeros(0, np.uint8)))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def _as_tensor(self, dtype: Any) -> Tensor:
        """All of the memory as a tensor of one dimension."""
        empty = from_host(np.zeros(0, dtype.np))
        return empty.set_(self, 0, (self.nbytes() // dtype.itemsize,))

    @property
    def device(self) -> device:
        """The device of the memory."""
        return self._storage.value.aval.slot.device

    @property
    def is_cuda(self) -> bool:
        """Is the memory on a GPU?"""
        return self.device.type == "cuda"

    @property
    def _cdata(self) -> int:
        return id(self._storage)

    def nbytes(self) -> int:
        """The number of bytes."""
        return _extent(self._storage)

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Always 1: bytes."""
        return 1

    def data_ptr(self) -> int:
        """A number that is equal for storages that are the same memory; 0 for empty ones."""
        return address(self._storage)

    def _bytes(self) -> np.ndarray[Any, Any]:
        return np.ascontiguousarray(_flat(self._storage)).view(np.uint8)

    def _put(self, content: np.ndarray[Any, Any]) -> None:
        """Replace the bytes."""
        storage, aval = self._storage, self._storage.value.aval
        typed = content.view(storage.host.flat.dtype if storage.host is not None else aval.dtype.np)
        if storage.host is not None:
            storage.host.flat[...] = typed
            storage.version.n += 1
            storage.version.hidden += 1
            return
        array = (
            typed.reshape(aval.shape)
            if storage.layout is None
            else np.array(host._part(typed, aval.shape, storage.layout))
        )
        _whole(storage)._write(from_host(np.array(array), aval.slot.device)._value)

    def tolist(self) -> list[int]:
        """The bytes as a list."""
        return self._bytes().tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.nbytes())
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            return of(from_host(np.array(self._bytes()[start:stop]), self.device))
        return int(self._bytes()[_place(index, self.nbytes())])

    def __setitem__(self, index: Any, value: int) -> None:
        content = np.array(self._bytes())
        content[index if isinstance(index, slice) else _place(index, len(content))] = value
        self._put(content)

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        self._put(np.full(self.nbytes(), value, np.uint8))
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of another storage of the same size."""
        source = source.untyped() if isinstance(source, TypedStorage) else source
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._put(np.array(source._bytes()))
        return self

    def clone(self) -> UntypedStorage:
        """The bytes in other memory."""
        return of(from_host(np.array(self._bytes()), self.device))

    def resize_(self, size: int) -> UntypedStorage:
        """Change the number of bytes; tensors that no longer fit cannot be read until it has grown again."""
        storage = self._storage
        _grow(storage, size)
        return self

    def cpu(self) -> UntypedStorage:
        """The storage itself where it is on the CPU, else a copy there."""
        return self if self.device.type == "cpu" else of(from_host(np.array(self._bytes())))

    def is_shared(self) -> bool:
        """Is the memory shared with other processes?"""
        return _whole(self._storage).is_shared()

    def share_memory_(self) -> UntypedStorage:
        """Move the memory to where processes forked from here on share it."""
        _whole(self._storage).share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Always False."""
        return False

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return hash(self._storage)

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        found = memo.setdefault("jaxtorch storages", {})  # type: ignore[arg-type]
        if id(self._storage) not in found:
            found[id(self._storage)] = self.clone()
        return found[id(self._storage)]

    def __reduce__(self) -> Any:
        return UntypedStorage, (self.tolist(),)

    def __repr__(self) -> str:
        lines = "".join([f" {b}\n" for b in self.tolist()]) or " \n"
        return f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _device(d: Any) -> device:
    return d if isinstance(d, device) else device(d)


def _place(index: Any, n: int) -> int:
    if not isinstance(index, int):
        raise TypeError(f"can't index a storage with {type(index).__name__}")
    if not -n <= index < n:
        raise IndexError(f"index {index} out of range for storage of size {n}")
    return index


def of(t: Tensor) -> UntypedStorage:
    """The storage of a tensor; the same object as long as it is held."""
    storage = alias_of(t).storage
    reference = _public.get(storage)
    found = None if reference is None else reference()
    if found is None:
        found = object.__new__(UntypedStorage)
        found._storage = storage
        _public[storage] = weakref.ref(found)
    return found


class TypedStorage:
    """A storage read as elements of one type; PyTorch has deprecated it for `UntypedStorage`."""

    __module__ = "jaxtorch.storage"

    def __init__(
        self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None,
        _internal: bool = False,
    ) -> None:  # fmt: skip
        """args: nothing, a number of elements (0 each), or their values; or `wrap_storage`, memory to read as `dtype`."""
        if not _internal:
            once("TypedStorage is deprecated: UntypedStorage will be the only storage class.")
        if wrap_storage is not None:
            if args or dtype is None or device is not None:
                raise RuntimeError("TypedStorage(): expected a dtype and nothing else beside wrap_storage")
            self._untyped_storage, self.dtype = wrap_storage, dtype
            return
        if len(args) > 1:
            raise RuntimeError(f"TypedStorage(): expected at most one positional argument, but got {len(args)}")
        self.dtype = dtype or dtypes.default()
        if args and isinstance(args[0], Iterable):
            content = np.asarray(list(args[0]), self.dtype.np)
        else:
            content = np.zeros(args[0] if args else 0, self.dtype.np)
        self._untyped_storage = of(from_host(content.view(np.uint8), _device(device or default_device())))

    @property
    def device(self) -> device:
        """The device of the memory."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Is the memory on a GPU?"""
        return self._untyped_storage.is_cuda

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = _size = size

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """A number that is equal for storages that are the same memory."""
        return self._untyped_storage.data_ptr()

    def _elements(self) -> np.ndarray[Any, Any]:
        return self._untyped_storage._bytes().view(self.dtype.np)

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        return self._elements().tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Any:
        return self._elements()[_place(index, self.size())].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        content = np.array(self._elements())
        content[index if isinstance(index, slice) else _place(index, len(content))] = value
        self._untyped_storage._put(content.view(np.uint8))

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the elements of another storage of the same number of elements."""
        if len(source) != len(self):
            raise RuntimeError(f"size does not match, self has {len(self)} elements but src has {len(source)}")
        self[:] = source._elements() if isinstance(source, TypedStorage) else source._bytes()
        return self

    def clone(self) -> TypedStorage:
        """The elements in other memory."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype, _internal=True)

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def cpu(self) -> TypedStorage:
        """The storage itself where it is on the CPU, else a copy there."""
        return TypedStorage(wrap_storage=self._untyped_storage.cpu(), dtype=self.dtype, _internal=True)

    def is_shared(self) -> bool:
        """Is the memory shared with other processes?"""
        return self._untyped_storage.is_shared()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and other._untyped_storage == self._untyped_storage

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        lines = "".join([f" {e}\n" for e in self.tolist()])
        return f"{lines}[torch.storage.TypedStorage(dtype=torch.{self.dtype.name}, device={self.device}) of size {self.size()}]"


_warned: list[bool] = []


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
    if not _warned:
        _warned.append(True)
        warnings.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
            "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
            "tensor.untyped_storage() instead of tensor.storage()",
            UserWarning,
            stacklevel=2,
        )
    return _typed_storage(self)


# -- memory that changes its size, and tensors that change their memory


def _grow(storage: Storage, size: int) -> None:
    """Give a storage another number of bytes: on the host, where tensors that view it need not agree on a shape."""
    old = _flat(storage)
    item = old.itemsize
    flat = np.zeros(-(-size // item), old.dtype)
    flat[: min(len(old), len(flat))] = old[: len(flat)]
    _pin(storage, flat)


def _show(t: Tensor, storage: Storage, dtype: dtypes.dtype, size: Any, stride: Any, offset: int) -> None:
    """Make a tensor a window on storage memory, reading it anew."""
    slot = storage.value.aval.slot
    if storage.host is None:
        whole = _whole(storage)
        if storage.layout is None:
            from .._ops import restride, views

            flat = views._view(whole.detach(), (-1,))
            flat = flat if flat.dtype is dtype else views.view_dtype(flat, dtype)
            if restride._reaches(flat, size, stride, offset):
                seen = restride._as_strided(flat, tuple(size), tuple(stride), offset, None)
                t._value, t._alias = seen._value, seen._alias
                t._layout = normal(size, stride, offset)
                return
        _pin(storage, _flat(storage))
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
    if self._rg:
        raise RuntimeError("cannot resize variables that require grad")
    given = items if size is None else (size,)
    new = tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    if any(n < 0 for n in new):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(new)}: {list(new)}")
    aval = self._value.aval
    name = getattr(memory_format, "name", memory_format)
    packed = strides.contiguous(new) if name in (None, "contiguous_format") else strides.channels_last(new, name)
    if new == aval.shape:
        return self
    refuse_inference(self)
    if self._alias is None and not aval.numel and packed == strides.contiguous(new):
        self._value, self._layout = from_host(np.zeros(new, aval.dtype.np), aval.slot.device)._value, None
        count_write(self)
        return self
    _in_memory(self, tuple(new), packed)
    _count(self)
    return self


def _in_memory(self: Tensor, new: tuple[int, ...], packed: Any = None) -> None:
    """Another shape and strides on the tensor's memory, which grows where it is too small."""
    aval, offset = self._value.aval, offset_of(self)
    packed = strides.contiguous(new) if packed is None else packed
    count = int(np.prod(new, dtype=np.int64))
    alias = alias_of(self)
    needed = (offset + count) * aval.dtype.itemsize if count else 0
    if needed > _extent(alias.storage):
        _grow(alias.storage, needed)
    silent, base, depth = alias.silent, alias.base, alias.depth
    _show(self, alias.storage, aval.dtype, new, packed, offset)
    made = self._alias
    assert made is not None
    made.silent, made.base, made.depth, made.own = silent, base, depth, alias.own


apart.in_memory = _in_memory


@member
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    need_tensor(the_template, "resize_as_", "the_template")
    return resize_(self, tuple(the_template._value.aval.shape), memory_format=memory_format)


@member
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make the tensor use other memory: that of a tensor, or of a storage with an offset, size and strides in elements."""
    if source is not None and not isinstance(source, Tensor) and not hasattr(source, "untyped"):
        raise TypeError(f"set_() received an invalid combination of arguments - got ({type(source).__name__})")
    refuse_inference(self)
    dtype, version = self._value.aval.dtype, self._version
    if self._rg and self._node is None and state.grad:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if self._rg and self._node is not None:
        raise RuntimeError("set_() of a tensor that autograd has a history for is not supported")
    if source is None:
        self._value, self._alias, self._layout = from_host(np.zeros(0, dtype.np))._value, None, None
    elif isinstance(source, Tensor) and size is None:
        if source._value.aval.dtype is not dtype:
            raise RuntimeError(
                f"Could not set tensor of type {C_NAMES[source.dtype.name]} to a tensor of type {C_NAMES[dtype.name]}"
            )
        seen = source.detach()
        self._value, self._layout, self._alias = seen._value, seen._layout, seen._alias
    else:
        held = source.untyped_storage() if isinstance(source, Tensor) else source.untyped()
        size = (held.nbytes() // dtype.itemsize,) if size is None else tuple(size)
        stride = strides.contiguous(size) if stride is None else tuple(stride)
        viewstrides.as_strided(
            (), (), 0, size, stride, storage_offset, storage=held.nbytes() // dtype.itemsize, itemsize=dtype.itemsize
        )
        _show(self, held._storage, dtype, size, stride, storage_offset)
    if self._alias is not None:
        self._alias.silent = Version(version + 1)  # the tensor's own
    self._ver = version + 1
    self.__dict__.pop("_written", None)  # that of the memory it had
    return self
