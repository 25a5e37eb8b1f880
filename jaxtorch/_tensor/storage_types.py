"""`UntypedStorage` and `TypedStorage`: the memory that tensors share, as bytes and as elements of one type."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from .._core.define.op import functions
from .._core.run import capture
from .._core.tensor import numpy_sharing
from .._core.tensor.storage import Storage, alias_of
from .._core.tensor.tensor import Tensor, from_host
from .._core.types import dtypes
from .._core.types.device import cpu, default_device, device, jax_devices
from .._core.types.grad_mode import no_grad
from . import storage_warnings
from .memory import PinnedMemory, address, can_grow, copied, extent_of, flat_of, grow, pin, shared_file, whole_of

_public: weakref.WeakKeyDictionary[Storage, Any] = weakref.WeakKeyDictionary()

_CONVERSIONS = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64, "int": dtypes.int32, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_, "complex_float": dtypes.complex64, "complex_double": dtypes.complex128,
    **{name: dtypes.by_name(name) for name in ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz")},
}  # fmt: skip
"""Methods that give the elements as another type."""


def _converter(name: str, dtype: dtypes.dtype) -> Any:
    def convert(self: Any) -> TypedStorage:
        return self._to(dtype)

    convert.__name__ = name
    convert.__doc__ = f"The elements as {dtype}, in other memory."
    return convert


class StorageBase:
    """What storages have in common."""

    __module__ = "jaxtorch.storage"

    is_sparse = False
    device: device

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        raise NotImplementedError

    def _elements_as_tensor(self) -> Tensor:
        raise NotImplementedError

    def _of(self, memory: UntypedStorage) -> Any:
        """Other memory as a storage like this one."""
        raise NotImplementedError

    @property
    def is_cuda(self) -> bool:
        """Is the memory on a GPU?"""
        return self.device.type == "cuda"

    @property
    def is_hpu(self) -> bool:
        """False: there are no such devices."""
        return False

    @property
    def filename(self) -> Any:
        """None: where a storage was read from is not kept."""
        return None

    @property
    def _cdata(self) -> int:
        return id(self.untyped()._storage)

    def get_device(self) -> int | None:
        """The number of the device; None on the CPU."""
        return self.device.index

    def resizable(self) -> bool:
        """May the number of elements change? Not where NumPy's memory is shared."""
        return can_grow(self.untyped()._storage)

    def is_shared(self) -> bool:
        """Is the memory shared with other processes?"""
        return whole_of(self.untyped()._storage).is_shared()

    def share_memory_(self) -> Any:
        """Move the memory to where processes forked from here on share it."""
        whole_of(self.untyped()._storage).share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Always False."""
        return False

    def pin_memory(self, device: Any = None) -> Any:
        """The storage itself; RuntimeError without an accelerator."""
        if default_device().type == "cpu":
            raise RuntimeError("Cannot access accelerator device when none is available.")
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """The storage on a device: the same memory where it is there already, else a copy."""
        where = _device(device)
        if where.type == "meta":
            raise AssertionError("META device module is not loaded")
        held = self.untyped()
        bytes_of = held._as_tensor(dtypes.uint8).to(where)
        return self._of(held if bytes_of.device == held.device else of(bytes_of))

    def cpu(self) -> Any:
        """The storage itself where it is on the CPU, else a copy there."""
        return self._of(self.untyped()) if self.device.type == "cpu" else self.to(device=cpu)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """A copy on the GPU, the memory itself where it is there already."""
        if device is None and not jax_devices("cuda"):
            raise TypeError("'<' not supported between instances of 'NoneType' and 'int': there is no CUDA device")
        return self.to(device="cuda" if device is None else device if isinstance(device, str) else f"cuda:{device}")

    def hpu(self, device: Any = None, non_blocking: bool = False) -> NoReturn:
        """AssertionError: there are no such devices."""
        raise AssertionError("HPU device module is not loaded")

    def _to(self, dtype: dtypes.dtype) -> TypedStorage:
        with no_grad():
            made = self._elements_as_tensor().to(dtype, copy=True)
        return TypedStorage(wrap_storage=of(made), dtype=dtype, _internal=True)

    def _name(self) -> str:
        raise NotImplementedError

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the storage's type, such as 'torch.FloatStorage'. dtype: a class of storages, or its name: as in PyTorch, for
        memory that has so many elements of that type as this one has bytes, RuntimeError otherwise."""
        if dtype is None:
            return self._name()
        if isinstance(dtype, str):
            module, _, name = dtype.rpartition(".")
            if not module:
                raise ModuleNotFoundError(f"No module named {dtype!r}")
            dtype = getattr(importlib.import_module(_here(module)), name)
        if not isinstance(dtype, type):
            raise AttributeError(f"{type(dtype).__name__!r} object has no attribute 'is_sparse'")
        held = self.untyped()
        made: Any = dtype(held.nbytes())
        made.untyped().copy_(held)
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        raise NotImplementedError


for _name, _dtype in _CONVERSIONS.items():
    setattr(StorageBase, _name, storage_warnings.warning(_converter(_name, _dtype)))


def _here(module: str) -> str:
    """The name of a module of PyTorch's in this process."""
    root, dot, rest = module.partition(".")
    return (__package__ or "").partition(".")[0] + dot + rest if root == "torch" else module


class UntypedStorage(StorageBase):
    """The bytes of memory that tensors share. A slice of a storage on the CPU is on the same memory."""

    __module__ = "jaxtorch.storage"

    is_sparse_csr = False
    _fake_device = None
    _storage: Storage

    def __new__(cls, size: int | Sequence[int] = 0, *, device: Any = None) -> UntypedStorage:
        if isinstance(size, int):
            if size < 0:
                raise RuntimeError(f"torch.UntypedStorage(): memory of a negative size: {size}")
            if device is not None and _device(device).type == "meta":
                return of(functions["empty"](size, dtype=dtypes.uint8, device="meta"))
            array = np.zeros(size, np.uint8)
        else:
            if not isinstance(size, Sequence):
                raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(size).__name__}")
            for item in size:
                if not isinstance(item, int):
                    raise RuntimeError(
                        f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(size).__name__}), but one "
                        f"of the items was of type {type(item).__name__} instead of int"
                    )
            array = np.asarray([item & 255 for item in size], np.uint8)
        return of(from_host(array, device and _device(device)))

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, read as they are needed. shared: writes go to the file, which is made or grown if need be."""
        if shared and nbytes:
            return of(numpy_sharing.adopt(shared_file(filename, np.dtype(np.uint8), nbytes)))
        return of(from_host(np.memmap(filename, np.uint8, "c", shape=(nbytes,)) if nbytes else np.zeros(0, np.uint8)))

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0, *, dtype: dtypes.dtype
    ) -> UntypedStorage:
        """The content of a buffer, read as elements of a type. byte_order: 'native', 'little' or 'big'."""
        return of(from_host(_of_buffer(buffer, byte_order, count, offset, dtype)))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def _as_tensor(self, dtype: Any) -> Tensor:
        """All of the memory as a tensor of one dimension."""
        empty = from_host(np.zeros(0, dtype.np))
        return empty.set_(self, 0, (self.nbytes() // dtype.itemsize,))

    def _elements_as_tensor(self) -> Tensor:
        return self._as_tensor(dtypes.uint8)

    def _of(self, memory: UntypedStorage) -> UntypedStorage:
        return memory

    def _name(self) -> str:
        return "torch.storage.UntypedStorage"

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    @property
    def device(self) -> device:
        """The device of the memory."""
        return self._storage.value.aval.slot.device

    def nbytes(self) -> int:
        """The number of bytes."""
        return extent_of(self._storage)

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Always 1: bytes."""
        return 1

    def data_ptr(self) -> int:
        """A number that is equal for storages that are the same memory; 0 for empty ones."""
        return address(self._storage)

    def _bytes(self) -> np.ndarray[Any, Any]:
        return np.ascontiguousarray(flat_of(self._storage)).view(np.uint8)

    def _put(self, content: np.ndarray[Any, Any]) -> None:
        """Replace the bytes."""
        storage, aval = self._storage, self._storage.value.aval
        typed = content.view(storage.host.flat.dtype if storage.host is not None else aval.dtype.np)
        if storage.host is not None:
            storage.host.flat[...] = typed
            storage.version.n += 1
            storage.version.hidden += 1
            return
        if storage.layout is not None:
            array = np.array(numpy_sharing._part(typed, aval.shape, storage.layout))
        else:
            array = typed.reshape(aval.shape)
        whole_of(storage)._write(from_host(np.array(array), aval.slot.device)._value)

    def tolist(self) -> list[int]:
        """The bytes as a list."""
        return self._bytes().tolist()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(*_bounds(index, self.nbytes()))
        return int(self._bytes()[_place(index, self.nbytes())])

    def _slice(self, start: int, stop: int) -> UntypedStorage:
        if self.device.type != "cpu" or start >= stop:
            return of(from_host(np.array(self._bytes()[start:stop]), self.device))
        storage = self._storage
        if storage.host is None or not storage.host.flat.flags.c_contiguous:
            pin(storage, flat_of(storage))
        elif type(storage.host) is numpy_sharing.HostMemory:
            fixed = storage.host.fixed
            pin(storage, storage.host.flat)
            storage.host.fixed = fixed
        assert storage.host is not None
        part = numpy_sharing.adopt(storage.host.flat.view(np.uint8)[start:stop])
        made = alias_of(part).storage
        made.host = PinnedMemory(made.host.flat, None)
        made.host.fixed = True
        return of(part)

    def __setitem__(self, index: Any, value: int) -> None:
        if not isinstance(value, int):
            raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        content = np.array(self._bytes())
        at = slice(*_bounds(index, len(content))) if isinstance(index, slice) else _place(index, len(content))
        content[at] = value & 255
        self._put(content)

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self._put(np.full(self.nbytes(), value & 255, np.uint8))
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of another storage of the same size."""
        source = source.untyped()
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._put(np.array(source._bytes()))
        return self

    def clone(self) -> UntypedStorage:
        """The bytes in other memory."""
        return of(from_host(np.array(self._bytes()), self.device))

    __copy__ = clone

    def new(self) -> UntypedStorage:
        """A storage without bytes."""
        return UntypedStorage(0)

    def resize_(self, size: int) -> UntypedStorage:
        """Change the number of bytes; tensors that no longer fit cannot be read until it has grown again."""
        if size < 0:
            raise RuntimeError(f"resize_(): memory of a negative size: {size}")
        grow(self._storage, size)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return hash(self._storage)

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return _shown(copied(self._storage, memo))

    def __reduce__(self) -> Any:
        return UntypedStorage, (self.tolist(),)

    def __repr__(self) -> str:
        if self.device.type == "meta":
            return f"...\n[torch.storage.UntypedStorage(device=meta) of size {self.nbytes()}]"
        lines = "".join([f" {b}\n" for b in self.tolist()]) or " \n"
        return f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _device(d: Any) -> device:
    return d if isinstance(d, device) else device(d)


def _place(index: Any, n: int) -> int:
    if not isinstance(index, int):
        raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
    if not -n <= index < n:
        raise IndexError(f"index {index} out of range for storage of size {n}")
    return index


def _bounds(index: slice, n: int) -> tuple[int, int]:
    start, stop, step = index.indices(n)
    if step != 1:
        raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
    return start, stop


def _of_buffer(buffer: Any, byte_order: str, count: int, offset: int, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """The elements of a buffer, as bytes in this machine's order."""
    mark = {"native": "=", "little": "<", "big": ">"}.get(byte_order)
    if mark is None:
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    found = np.frombuffer(buffer, dtype.np.newbyteorder(mark), count, offset)
    return found.astype(dtype.np).view(np.uint8)


def of(t: Tensor) -> UntypedStorage:
    """The storage of a tensor; the same object as long as it is held."""
    capture.expose_memory(t)
    return _shown(alias_of(t).storage)


def _shown(storage: Storage) -> UntypedStorage:
    reference = _public.get(storage)
    found = None if reference is None else reference()
    if found is None:
        found = object.__new__(UntypedStorage)
        found._storage = storage
        _public[storage] = weakref.ref(found)
    return found


_QUANTISED = {
    "qint8": dtypes.int8, "quint8": dtypes.uint8, "qint32": dtypes.int32, "quint4x2": dtypes.uint8, "quint2x4": dtypes.uint8,
}  # fmt: skip
"""As what the elements of storages of quantised types are read and written."""

LEGACY: dict[dtypes.dtype, Any] = {}
"""The classes of storages by the type of their elements; `legacy_storage` makes them."""

_IN_FULL = (
    "{}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n * (int size)\n"
    " * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n{}"
)


@storage_warnings.warns
class TypedStorage(StorageBase):
    """A storage read as elements of one type; PyTorch has deprecated it for `UntypedStorage`."""

    __module__ = "jaxtorch.storage"

    _fake_device = None

    def __init__(
        self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None,
        _internal: bool = False,
    ) -> None:  # fmt: skip
        """args: nothing, a number of elements (0 each), or their values; or `wrap_storage`, memory to read as `dtype`."""
        if not _internal:
            storage_warnings.warn()
        if wrap_storage is not None:
            if args or dtype is None or device is not None:
                raise RuntimeError("TypedStorage(): expected a dtype and nothing else beside wrap_storage")
            self._untyped_storage, self.dtype = wrap_storage, dtype
            return
        if len(args) > 1:
            raise RuntimeError(_IN_FULL.format("TypedStorage", "Too many positional arguments"))
        self.dtype = dtype or dtypes.default()
        if args and isinstance(args[0], str):
            raise TypeError(f"new(): invalid data type '{type(args[0]).__name__}'")
        if args and not isinstance(args[0], (int, Iterable)):
            raise TypeError(_IN_FULL.format("TypedStorage", f"Argument type not recognized: {type(args[0])}"))
        content = _content(args[0] if args else 0, self._held)
        self._untyped_storage = of(from_host(content, _device(device or default_device())))

    @property
    def _held(self) -> dtypes.dtype:
        """The type that the elements are read as."""
        return _QUANTISED.get(self.dtype.name, self.dtype)

    @property
    def _dtype(self) -> dtypes.dtype:
        return self.dtype

    @property
    def device(self) -> device:
        """The device of the memory."""
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def _elements_as_tensor(self) -> Tensor:
        return self._untyped_storage._as_tensor(self._held)

    def _of(self, memory: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=memory, dtype=self.dtype, _internal=True)

    _new_wrapped_storage = _of

    def _name(self) -> str:
        return f"torch.{self.pickle_storage_type()}"

    def pickle_storage_type(self) -> str:
        """The name of the class of storages of this type, such as 'FloatStorage'."""
        return self._get_legacy_storage_class().__name__

    def _get_legacy_storage_class(self) -> Any:
        return LEGACY[self.dtype]

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """A number that is equal for storages that are the same memory."""
        return self._untyped_storage.data_ptr()

    __len__ = _size = size
    _nbytes, _element_size, _data_ptr = nbytes, element_size, data_ptr
    _is_shared, _share_memory_ = StorageBase.is_shared, StorageBase.share_memory_
    _pickle_storage_type = pickle_storage_type

    def _elements(self) -> np.ndarray[Any, Any]:
        return self._untyped_storage._bytes().view(self._held.np)

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        return self._elements().tolist()

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        self._check(index)
        return self._elements()[_place(index, self.size())].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self._check(index)
        with no_grad():
            self._elements_as_tensor()[index] = value

    _getitem, _setitem = __getitem__, __setitem__

    def _check(self, index: Any) -> None:
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the bytes of another storage of the same number of bytes."""
        self._untyped_storage.copy_(source)
        return self

    def clone(self) -> TypedStorage:
        """The elements in other memory."""
        return self._of(self._untyped_storage.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return self._of(self._untyped_storage.__deepcopy__(memo))

    _deepcopy = __deepcopy__

    def resize_(self, size: int) -> None:
        """Change the number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    _resize_ = resize_

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and other._untyped_storage == self._untyped_storage

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        lines = "".join([f" {e}\n" for e in self.tolist()]) or " \n"
        return f"{lines}[torch.storage.TypedStorage(dtype=torch.{self.dtype.name}, device={self.device}) of size {self.size()}]"

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first elements of a file; of a class of storages of one type only. See `UntypedStorage.from_file`."""
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        bytes_of = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)  # pyright: ignore[reportAttributeAccessIssue]
        return cls(wrap_storage=bytes_of)

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0) -> TypedStorage:
        """A storage with the content of a buffer; of a class of storages of one type only. See `UntypedStorage.from_buffer`."""
        if cls is TypedStorage:
            raise RuntimeError("from_buffer: only supported for subclasses of TypedStorage")
        return cls(wrap_storage=of(from_host(_of_buffer(buffer, byte_order, count, offset, cls.dtype))))  # pyright: ignore[reportAttributeAccessIssue]

    _from_buffer = from_buffer


def _content(given: Any, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """The bytes of so many zeros, or of these elements."""
    found = np.zeros(given, dtype.np) if isinstance(given, int) else np.asarray(list(given), dtype.np)
    return found.view(np.uint8)
