"""What a file of tensors may hold: storages, where they go, and the functions that build tensors on them."""

from __future__ import annotations

import math
import os
import pickle
import reprlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.define.op import functions
from .._core.tensor import layouts, numpy_sharing, views
from .._core.tensor.tensor import Tensor, from_host
from .._core.types import dtypes
from .._core.types.device import cpu, device, jax_devices
from .._core.types.dtypes import dtype
from .._core.types.reference_counts import LISTED, counted
from .._core.types.size import Size
from .._ops.types.constants import _SCHEMES, _layout, qscheme
from .._tensor.storage_types import TypedStorage
from .._tensor.storage_types import of as storage_of
from .._utils import _rebuild_sparse_tensor
from ..nn.parameter import Parameter, _rebuild_parameter, _rebuild_parameter_with_state
from .saving import OWN_PRIORITY, STORAGES, packages


class FromOutside(Exception):
    """Carries an error of the user's own code (`map_location`, an allowed class) past what is said of corrupt files."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def shortened(x: Any) -> str:
    """What a file holds, for a message: lists in lists may be endless."""
    return reprlib.repr(x)


class StorageKind:
    """The class of a storage, as a file names it; without a dtype, plain bytes."""

    def __init__(self, dtype: dtype | None) -> None:
        self.dtype = dtype


class LoadedStorage:
    """The memory that tensors of a file share, and where it was saved; what a callable `map_location` is given."""

    def __init__(self, flat: np.ndarray[Any, Any], dtype: dtype | None, location: str) -> None:
        self.flat, self.dtype, self.location = flat, dtype, location
        self.target = cpu
        self.owner: Tensor | None = None

    @property
    def device(self) -> device:
        """Where the tensors on it will be."""
        return self.target

    def cpu(self) -> LoadedStorage:
        """Put it on the CPU."""
        self.target = cpu
        return self

    def cuda(self, device_index: int | None = None, non_blocking: bool = False) -> LoadedStorage:
        """Put it on a GPU."""
        self.target = device("cuda", device_index or 0)
        return self

    def size(self) -> int:
        """The number of elements."""
        return self.flat.size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.flat.nbytes

    def __len__(self) -> int:
        return self.flat.size

    def tensor(self, d: dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
        """A tensor on this memory; all that are made share it."""
        flat = self.flat.view(d.np)
        extent = _extent(offset, size, stride, flat.size)
        numel = math.prod(size)
        if numel > flat.size:  # elements that share a place
            affordable(numel * d.itemsize, "a tensor")
        if self.owner is None:
            layout = layouts.normal(size, stride, offset)
            if offset == 0 and numel == flat.size and (layout is None or numel == extent):
                part = flat.reshape(size) if layout is None else numpy_sharing._part(flat, size, layout)
                t = from_host(np.ascontiguousarray(part).reshape(size)).to(self.target)
                t._layout = layout
                self.owner = t
                return t
            self.owner = from_host(flat).to(self.target)
        whole = self.owner if self.owner.dtype is d else self.owner.view(d)
        return views.detached(whole.as_strided(size, stride, offset))


def hand_out(storages: dict[str, LoadedStorage]) -> None:
    """The file has been read: make those storages public ones that the program holds itself, beside tensors on them."""
    while storages:
        last: list[Any] = [storages.popitem()[1]]
        if next(counted(last)) > LISTED:
            found = last[0]
            if found.owner is None:
                found.owner = from_host(found.flat).to(found.target)
            memory, d = storage_of(found.owner), found.dtype or dtypes.uint8
            found.__dict__.clear()
            found.__class__ = TypedStorage
            found.__init__(wrap_storage=memory, dtype=d, _internal=True)


class StorageView:
    """A part of a storage, as old files have them."""

    def __init__(self, whole: LoadedStorage, begin: int, count: int) -> None:
        self.whole, self.begin, self.count, self.dtype = whole, begin, count, whole.dtype
        if not 0 <= begin <= begin + count <= whole.size():
            raise RuntimeError(
                f"a view of elements {begin} to {begin + count} does not fit a storage of {whole.size()}"
            )

    def tensor(self, d: dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
        """A tensor on this part."""
        _extent(offset, size, stride, self.count)
        return self.whole.tensor(d, self.begin + offset, size, stride)


def _extent(offset: Any, size: tuple[Any, ...], stride: tuple[Any, ...], available: int) -> int:
    """How many elements of memory a tensor spans; RuntimeError if it would reach beyond what there is."""
    if not all(type(n) is int for n in (offset, *size, *stride)) or len(size) != len(stride):
        raise RuntimeError(
            f"offset {shortened(offset)}, sizes {shortened(size)} and strides {shortened(stride)} describe no tensor"
        )
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if min((offset, *size, *stride), default=0) < 0 or offset + extent > available:
        raise RuntimeError(
            f"sizes {shortened(size)} and strides {shortened(stride)} do not fit a storage of {available} elements"
        )
    return extent


def affordable(nbytes: int, what: str) -> None:
    """RuntimeError for what is larger than this machine's memory, before an attempt to make it."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 1 << 48
    if nbytes > memory:
        raise RuntimeError(f"the file has {what} of {nbytes} bytes, more than this machine's memory: it may be corrupt")


# -- what a file may call


def _storage(x: Any) -> Any:
    if not isinstance(x, (LoadedStorage, StorageView)):
        raise RuntimeError(f"the file has a tensor on {type(x).__name__}, which is no storage")
    return x


def _is_required(requires_grad: Any) -> bool:
    if type(requires_grad) is not bool:
        raise RuntimeError(f"the file has a tensor with requires_grad={shortened(requires_grad)}, expected a bool")
    return requires_grad


def _rebuild_tensor(storage: LoadedStorage, offset: int, size: Any, stride: Any) -> Tensor:
    d = _storage(storage).dtype
    if d is None:
        raise RuntimeError("the file has a tensor without an element type")
    return storage.tensor(d, offset, tuple(size), tuple(stride))


def _rebuild_tensor_v2(
    storage: LoadedStorage, offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, metadata: Any = None
) -> Tensor:  # fmt: skip
    t = _rebuild_tensor(storage, offset, size, stride)
    if metadata:
        t = t.conj() if metadata.get("conj") else t
        t = t.neg() if metadata.get("neg") else t
        t = t.detach()
    t.requires_grad = _is_required(requires_grad)
    return t


def _rebuild_tensor_v3(
    storage: LoadedStorage, offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, d: dtype,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    t = _storage(storage).tensor(d, offset, tuple(size), tuple(stride))
    t.requires_grad = _is_required(requires_grad)
    return t


def _rebuild_meta_tensor_no_storage(d: dtype, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    t = functions["empty"](tuple(size), dtype=d, device="meta")
    t._layout = layouts.normal(tuple(size), tuple(stride), 0)
    t.requires_grad = _is_required(requires_grad)
    return t


_QUANTIZED = {
    dtypes.int8: dtypes._BY_NAME["qint8"], dtypes.uint8: dtypes._BY_NAME["quint8"], dtypes.int32: dtypes._BY_NAME["qint32"],
}  # fmt: skip


def _rebuild_qtensor(
    storage: LoadedStorage, offset: int, size: Any, stride: Any, parts: Any, requires_grad: bool, backward_hooks: Any
) -> Tensor:
    from .._quantized._tensor import rebuilt  # heavy, and few files have such tensors

    ints = _rebuild_tensor(storage, offset, size, stride)
    known = isinstance(parts, tuple) and len(parts) in (3, 4) and isinstance(parts[0], qscheme)
    if ints.dtype not in _QUANTIZED or not known:
        raise RuntimeError("the file has a quantised tensor without a scheme, or whose storage holds no integers")
    if len(parts) == 4 and not (isinstance(parts[1], Tensor) and isinstance(parts[2], Tensor)):
        raise RuntimeError("the file has a tensor quantised per channel whose scales are no tensor")
    return rebuilt(ints, parts, _QUANTIZED[ints.dtype])


def _rebuild_from_type_v2(function: Callable[..., Any], kind: type, args: Any, state: Any) -> Tensor:
    t = function(*args)
    if kind is not type(t):
        t = t.as_subclass(kind)
    if hasattr(kind, "__setstate__"):
        t.__setstate__(state)
    else:
        t.__dict__.update(state[0] if isinstance(state, tuple) else state)
    return t


def _get_layout(name: str) -> Any:
    return _layout(name.removeprefix("torch."))


def _bytearray(content: Any = b"", encoding: str = "latin-1") -> bytearray:
    """From bytes or text, as pickles write it; not from a number, which asks for memory that the file does not hold."""
    if not isinstance(content, (bytes, bytearray, str)):
        raise RuntimeError(f"the file has a bytearray made from {type(content).__name__}, not from bytes")
    return bytearray(content, encoding) if isinstance(content, str) else bytearray(content)


def _encode(text: str, encoding: str = "utf-8") -> bytes:
    """`_codecs.encode`, with which protocol 2 writes bytes; no other encoding than what it writes."""
    if encoding not in ("latin1", "utf-8"):
        raise pickle.UnpicklingError(f"unexpected encoding {shortened(encoding)} of bytes")
    return text.encode(encoding)


GLOBALS: dict[str, Any] = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta_tensor_no_storage,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
    "torch.serialization._get_layout": _get_layout,
    "torch.Size": Size,
    "torch.device": device,
    "torch.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.storage.UntypedStorage": StorageKind(None),
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "builtins.set": set,
    "builtins.bytearray": _bytearray,
    "builtins.complex": complex,
    "_codecs.encode": _encode,
    "torch._utils._rebuild_qtensor": _rebuild_qtensor,
    **{f"torch.{d.name}": d for d in dtypes.ALL},
    **{f"torch.{d.name}": d for d in _QUANTIZED.values()},
    **{f"torch.{name}": scheme for name, scheme in _SCHEMES.items()},
    **{f"torch.{n}Storage": StorageKind(d) for n, d in zip(("QInt8", "QUInt8", "QInt32"), _QUANTIZED, strict=True)},
    **{f"torch.{prefix}{name}": StorageKind(d) for name, d in STORAGES.items() for prefix in ("", "cuda.")},
}


ABSENT: dict[str, str] = {
    **{f"torch.{n}Storage": "quantized tensors of fewer than 8 bits" for n in ("QUInt4x2", "QUInt2x4")},
    "torch._utils._rebuild_nested_tensor": "nested tensors",
    "torch._utils._rebuild_wrapper_subclass": "tensor subclasses that wrap others",
    "torch._utils._rebuild_device_tensor_from_numpy": "tensors of devices that JAX does not know",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": "tensors of devices that JAX does not know",
}
"""What PyTorch's files may name and jaxtorch has not, with what it is for."""


# -- where tensors go


def check_cuda(where: device) -> None:
    """RuntimeError if there is no such CUDA device."""
    found = len(jax_devices("cuda"))
    if not found:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    if (where.index or 0) >= found:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {where.index} but torch.cuda.device_count() is {found}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )


def _by_package(storage: LoadedStorage, own_first: bool) -> bool:
    """Has a registered deserializer placed the storage? Those before or those after the devices that jaxtorch knows are asked."""
    for priority, _, deserializer in packages:
        if (priority >= OWN_PRIORITY) is not own_first:
            continue
        try:
            found = deserializer(storage, storage.location)
        except Exception as error:
            raise FromOutside(error) from error
        if found is not None:
            if found is not storage:
                raise RuntimeError("a registered deserializer has to return the storage it was given, moved, or None")
            return True
    return False


def _default_place(storage: LoadedStorage) -> None:
    if packages and _by_package(storage, False):
        return
    try:
        where = device(storage.location)
    except RuntimeError as error:
        if packages and _by_package(storage, True):
            return
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{shortened(storage.location)[1:-1]})"
        ) from error
    if where.type == "cuda":
        check_cuda(where)
    storage.target = where


def place(storage: LoadedStorage, map_location: Any) -> None:
    """Decide where the tensors of a storage go: `map_location` is None, a device, a dict of locations, or a function."""
    if map_location is None:
        _default_place(storage)
    elif isinstance(map_location, dict):
        storage.location = str(map_location.get(storage.location, storage.location))
        _default_place(storage)
    elif isinstance(map_location, (str, device)):
        storage.location = str(device(map_location))
        _default_place(storage)
    elif callable(map_location):
        try:
            chosen = map_location(storage, storage.location)
        except Exception as error:
            raise FromOutside(error) from error
        if chosen is None:
            _default_place(storage)
        elif chosen is not storage:
            raise RuntimeError("map_location has to return the storage it was given, moved, or None")
    else:
        raise FromOutside(
            TypeError(f"map_location must be None, a device, a dict or a function, not {type(map_location).__name__}")
        )


def typed(content: Any, kind: StorageKind, count: int, swap: bool) -> np.ndarray[Any, Any]:
    """Bytes as flat memory of the storage's type."""
    d = kind.dtype
    if d is None:
        return np.frombuffer(content, np.uint8, count)
    flat = np.frombuffer(content, np.uint8, count * d.itemsize).view(d.np)
    if swap and d.itemsize > 1:
        parts = flat.view(np.float64 if d is dtypes.complex128 else np.float32) if d.is_complex else flat
        flat = parts.view(f"u{parts.dtype.itemsize}").byteswap().view(d.np)
    return flat
