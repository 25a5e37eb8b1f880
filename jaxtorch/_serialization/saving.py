"""`torch.save`: PyTorch's zip format, which PyTorch reads.

A file is a zip archive, uncompressed: `data.pkl` holds the object, in which a tensor is its storage's key with size and
strides; `data/KEY` holds the bytes of a storage, once for all tensors on it. Names are PyTorch's (`torch.nn...`).
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
import threading
import zipfile
from collections import OrderedDict
from typing import IO, Any

import numpy as np

from .._core.record import deferred_errors
from .._core.record.program import force
from .._core.tensor import layouts, numpy_sharing
from .._core.tensor.sparse_value import is_sparse, lacks_content
from .._core.tensor.tensor import Tensor, from_host
from .._core.types import dtypes
from .._core.types.device import device
from .._core.types.dtypes import dtype
from .._core.types.size import Size
from .._ops.types.constants import layout, memory_format, qscheme
from .._tensor.conversion import to_numpy
from .._tensor.storage_types import TypedStorage, UntypedStorage
from ..nn.parameter import Parameter
from ..utils.serialization import config

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # of the format before PyTorch 1.6
_HEADER = 30  # bytes before the name in a zip archive's record


class Skipping(threading.local):
    """Are the contents of storages left out (`torch.serialization.skip_data`)? Of each thread its own."""

    on = False


skipping = Skipping()

packages: list[tuple[int, Any, Any]] = []
"""What `torch.serialization.register_package` was given: (priority, tagger, deserializer), lowest priority first."""
OWN_PRIORITY = 10  # of the devices that jaxtorch knows itself


def location_of(storage: Any) -> str:
    """How a file names the place of a storage."""
    for priority, tagger, _ in packages:
        if priority < OWN_PRIORITY and (found := tagger(storage)):
            return found
    return str(storage.device)


STORAGES: dict[str, dtype] = {
    "FloatStorage": dtypes.float32, "DoubleStorage": dtypes.float64, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "LongStorage": dtypes.int64, "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16, "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
}  # fmt: skip
_STORAGE_OF = {d: name for name, d in STORAGES.items()}
_QUANTISED = {"qint8": "QInt8Storage", "quint8": "QUInt8Storage", "qint32": "QInt32Storage"}


class Name:
    """A global of PyTorch's that a pickle refers to by name, and that jaxtorch keeps elsewhere."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:  # pickle asks of what it is to call that it can be called
        raise TypeError(f"{self.module}.{self.name} stands for a name in a file")


class _Memory:
    """The bytes of one storage in the file."""

    def __init__(self, key: str, content: np.ndarray[Any, Any], dtype: dtype, location: str, keep: Any) -> None:
        self.key, self.content, self.dtype, self.location, self.keep = key, content, dtype, location, keep
        self.storage = _STORAGE_OF.get(dtype)


_names: dict[tuple[str, str], Name] = {}


def _name(module: str, name: str) -> Name:
    """One object a name, so that the pickle writes it once."""
    return _names.setdefault((module, name), Name(module, name))


_PUBLIC = ("jaxtorch.nn.functional", "jaxtorch", "jaxtorch.linalg", "jaxtorch.fft", "jaxtorch.special")
"""Where functions have names that PyTorch has too."""


class Pickler(pickle._Pickler):  # Python's own: C's writes no name that it cannot import
    """Writes an object, tensors by reference to `memories`. old: for the format before PyTorch 1.6."""

    def __init__(self, file: IO[bytes], protocol: int, old: bool = False) -> None:
        super().__init__(file, protocol=protocol)
        self.old = old
        self.memories: dict[int, _Memory] = {}

    def persistent_id(self, obj: Any) -> Any:
        name: str | None = None
        if type(obj) is TypedStorage:
            obj = self._of_storage(obj._untyped_storage, obj.dtype)
            name = obj.storage
        elif type(obj) is UntypedStorage:
            obj = self._of_storage(obj, dtypes.uint8)
        elif type(obj) is _Memory:
            name = obj.storage
        else:
            return None
        kind = _name("torch", name) if name else _name("torch.storage", "UntypedStorage")
        count = obj.content.nbytes // (obj.dtype.itemsize if name else 1)
        pid = ("storage", kind, obj.key, obj.location, count)
        return (*pid, None) if self.old else pid

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if isinstance(obj, dtype):
            return self._global(obj, "torch", obj.name)
        if isinstance(obj, Name):
            return self._global(obj, obj.module, obj.name)
        if isinstance(obj, Size):
            return _name("torch", "Size"), (tuple(obj),)
        if isinstance(obj, device):
            return _name("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, layout):
            return _name("torch.serialization", "_get_layout"), (repr(obj),)
        if isinstance(obj, qscheme):
            return self._global(obj, "torch", obj.name)
        if isinstance(obj, memory_format):
            raise TypeError("cannot save a torch.memory_format: PyTorch's format has no place for it")
        return NotImplemented

    def _global(self, obj: Any, module: str, name: str) -> Any:
        """Has the caller write a name: a reduction that is a string goes to `save_global`."""
        self._pending = (module, name)
        return name

    _pending: tuple[str, str] | None = None

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write the name of a class or function; those of jaxtorch under PyTorch's module names."""
        pending, self._pending = self._pending, None
        if pending is None:
            module = getattr(obj, "__module__", None) or ""
            if "<locals>" in (name or getattr(obj, "__qualname__", "")) and sys.version_info < (3, 14):
                raise AttributeError(f"Can't pickle local object '{name or obj.__qualname__}'")
            if module != "jaxtorch" and not module.startswith("jaxtorch."):
                super().save_global(obj, name)  # pyright: ignore[reportAttributeAccessIssue]
                return
            found = name or obj.__qualname__
            if "." in found or getattr(sys.modules.get(module), found, None) is not obj:
                raise pickle.PicklingError(f"Can't pickle {obj}: it's not found as {module}.{found}")
            if module.startswith("jaxtorch._"):  # PyTorch has other private modules
                names = [(m, found.removeprefix(m.rpartition(".")[2] + "_")) for m in _PUBLIC]
                known = [(m, n) for m, n in names if getattr(sys.modules.get(m), n, None) is obj]
                module, found = known[0] if known else (module, found)
            pending = "torch" + module.removeprefix("jaxtorch"), found
        self.write(pickle.GLOBAL + f"{pending[0]}\n{pending[1]}\n".encode())  # pyright: ignore[reportAttributeAccessIssue]
        self.memoize(obj)  # pyright: ignore[reportAttributeAccessIssue]

    dispatch: dict[Any, Any] = dict(pickle._Pickler.dispatch)
    dispatch[type(lambda: 0)] = save_global

    def _tensor(self, t: Tensor) -> Any:
        if t._node is not None and t._rg and isinstance(t, Parameter):
            raise RuntimeError("cannot save a Parameter that has a history")
        if isinstance(t, Parameter) and type(t) is not Parameter:
            return NotImplemented  # parameters without a shape reduce themselves
        if type(t) is Parameter:
            parts = (t.detach(), t._rg, OrderedDict())
            if not t.__dict__:
                return _name("torch._utils", "_rebuild_parameter"), parts
            return _name("torch._utils", "_rebuild_parameter_with_state"), (*parts, dict(t.__dict__))
        if is_sparse(t):
            return _name("torch._utils", "_rebuild_sparse_tensor"), t.__reduce_ex__(2)[1]
        if lacks_content(t):
            return self._quantised(t)
        if t.is_nested:
            return t.__reduce_ex__(2)  # which says that there is no form of it
        if t._value.aval.slot.is_meta:
            size, stride = tuple(t.shape), layouts.strides_of(t)
            return _name("torch._utils", "_rebuild_meta_tensor_no_storage"), (t.dtype, size, stride, t._rg)
        function, args = self._plain(t)
        if type(t) is Tensor and not t.__dict__:
            return function, args
        kind = _name("torch", "Tensor") if type(t) is Tensor else type(t)
        return _name("torch._tensor", "_rebuild_from_type_v2"), (function, kind, args, dict(t.__dict__))

    def _quantised(self, t: Any) -> tuple[Name, tuple[Any, ...]]:
        _, (ints, parts, kind) = t.__reduce_ex__(2)
        _, (memory, offset, size, stride, *_) = self._plain(ints)
        memory.storage = _QUANTISED[kind.name]
        return _name("torch._utils", "_rebuild_qtensor"), (memory, offset, size, stride, parts, False, OrderedDict())

    def _plain(self, t: Tensor) -> tuple[Name, tuple[Any, ...]]:
        memory = self._memory(t)
        d = t._value.aval.dtype
        if t._alias is not None and t._alias.chain and not _describes(memory, t):
            return self._plain(from_host(np.array(to_numpy(t))).requires_grad_(t._rg))
        args = (memory, layouts.offset_of(t), tuple(t._value.aval.shape), layouts.strides_of(t), t._rg, OrderedDict())
        flags = {name: True for name, held in (("conj", t.is_conj()), ("neg", t.is_neg())) if held}
        if d in _STORAGE_OF:
            return _name("torch._utils", "_rebuild_tensor_v2"), (*args, flags) if flags else args
        return _name("torch._utils", "_rebuild_tensor_v3"), (*args, d)

    def _memory(self, t: Tensor) -> _Memory:
        """The storage of a tensor; one for all that share it."""
        alias, aval = t._alias, t._value.aval
        anchor: Any = t if alias is None else alias.storage
        found = self.memories.get(id(anchor))
        if found is None:
            flat = numpy_sharing._laid_out(to_numpy(t), t._layout) if alias is None else _flat(anchor)
            location = location_of(t.untyped_storage()) if packages else str(aval.slot.device)
            found = _Memory(str(len(self.memories)), flat, aval.dtype, location, anchor)
            self.memories[id(anchor)] = found
        return _as(found, aval.dtype)

    def _of_storage(self, storage: UntypedStorage, d: dtype) -> _Memory:
        """The memory of a storage that is saved itself, read as elements of that type."""
        anchor = storage._storage
        found = self.memories.get(id(anchor))
        if found is None:
            location = location_of(storage) if packages else str(storage.device)
            found = _Memory(str(len(self.memories)), _flat(anchor).view(d.np), d, location, anchor)
            self.memories[id(anchor)] = found
        return _as(found, d)


def _flat(anchor: Any) -> np.ndarray[Any, Any]:
    """The elements of memory that several tensors may share."""
    if anchor.host is not None:
        return anchor.host.flat
    flat = numpy_sharing._laid_out(np.asarray(force(anchor.value)), anchor.layout)
    deferred_errors.raise_pending()
    return flat


def _as(found: _Memory, d: dtype) -> _Memory:
    """The memory, which is saved as elements of one type only."""
    if found.dtype is not d and found.content.size:
        raise RuntimeError(
            "Cannot save multiple tensors or storages that view the same data as different types: "
            f"{found.dtype} and {d}"
        )
    return found


def _describes(memory: _Memory, t: Tensor) -> bool:
    """Do strides, offset and the flags for conj and neg lead from the memory to the tensor's content?

    They do not where a view was written through another element type, say.
    """
    size, d = t._value.aval.shape, t._value.aval.dtype
    found = numpy_sharing._part(memory.content.view(d.np), size, (layouts.strides_of(t), layouts.offset_of(t)))
    found = np.conj(found) if t.is_conj() else found
    found = -found if t.is_neg() else found
    return found.tobytes() == to_numpy(t).tobytes()


def _bytes_of(array: np.ndarray[Any, Any]) -> memoryview:
    flat = np.ascontiguousarray(array).reshape(-1)
    if sys.byteorder == "big" and flat.dtype.itemsize > 1:
        flat = flat.byteswap()
    return memoryview(flat.view(np.uint8))  # pyright: ignore[reportArgumentType]


def _record(archive: zipfile.ZipFile, name: str, content: Any, alignment: int = 1) -> None:
    """Add a file to the archive, its content at a multiple of `alignment`."""
    info = zipfile.ZipInfo(name)
    large = len(content) >= zipfile.ZIP64_LIMIT
    begin = archive.start_dir + _HEADER + len(name.encode()) + (20 if large else 0)
    if alignment > 1 and (begin + 4) % alignment:
        padding = -(begin + 4) % alignment
        info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
    elif alignment > 1:
        info.extra = struct.pack("<2sH", b"FB", 0)
    info.file_size = len(content)
    with archive.open(info, "w", force_zip64=large) as target:
        target.write(content)


class _Extended(Pickler):
    """Writes as a `theirs` reduces objects, which is derived from C's pickler."""

    theirs: Any

    def __init__(self, file: IO[bytes], protocol: int, old: bool = False) -> None:
        super().__init__(file, protocol, old)
        self._other = self.theirs(io.BytesIO(), protocol)
        if hasattr(self._other, "dispatch_table"):
            self.dispatch_table = self._other.dispatch_table

    def reducer_override(self, obj: Any) -> Any:
        found = super().reducer_override(obj)
        if found is NotImplemented and hasattr(self._other, "reducer_override"):
            return self._other.reducer_override(obj)
        return found


def _pickler_of(module: Any) -> Any:
    """A pickler that does what `module.Pickler` does besides: writes functions by their code, say."""
    theirs = module.Pickler
    if theirs in (pickle.Pickler, pickle._Pickler):
        return Pickler
    if issubclass(theirs, pickle._Pickler):
        return type("Pickler", (Pickler, theirs), {})
    return type("Pickler", (_Extended,), {"theirs": theirs})


def write(obj: Any, file: IO[bytes], stem: str, protocol: int, module: Any = pickle) -> None:
    """Write an object to a binary file; `stem` is the name of the folder in the archive."""
    text = io.BytesIO()
    pickler = _pickler_of(module)(text, protocol)
    pickler.dump(obj)
    alignment = config.save.storage_alignment
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _record(archive, f"{stem}/data.pkl", text.getvalue())
        _record(archive, f"{stem}/.format_version", b"1")
        _record(archive, f"{stem}/.storage_alignment", str(alignment).encode())
        _record(archive, f"{stem}/byteorder", b"little")
        for memory in pickler.memories.values():
            content = bytes(memory.content.nbytes) if skipping.on else _bytes_of(memory.content)
            _record(archive, f"{stem}/data/{memory.key}", content, alignment)
        _record(archive, f"{stem}/version", b"3\n")


def write_legacy(obj: Any, file: IO[bytes], protocol: int, module: Any = pickle) -> None:
    """Write an object in the format before PyTorch 1.6: pickles, then the storages one after another."""
    system = {
        "protocol_version": PROTOCOL,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for part in (MAGIC, PROTOCOL, system):
        pickle.dump(part, file, protocol=protocol)
    text = io.BytesIO()
    pickler = _pickler_of(module)(text, protocol, old=True)
    pickler.dump(obj)
    file.write(text.getvalue())
    memories = sorted(pickler.memories.values(), key=lambda m: m.key)
    pickle.dump([m.key for m in memories], file, protocol=protocol)
    for memory in memories:
        unit = memory.dtype.itemsize if memory.dtype in _STORAGE_OF else 1
        file.write(struct.pack("=q", memory.content.nbytes // unit))
        file.write(memory.content.tobytes())
