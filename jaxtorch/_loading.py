"""`torch.load`: reads PyTorch's zip format and the one before it, by default without running anything the file names."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from ._core import dtypes, host, views
from ._core.device import cpu, device, jax_devices
from ._core.dtypes import dtype
from ._core.size import Size
from ._core.tensor import Tensor, from_host
from ._ops.constants import _layout
from ._saving import STORAGES
from .nn.parameter import Parameter, _rebuild_parameter, _rebuild_parameter_with_state

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # of the format before PyTorch 1.6


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
        if self.owner is None:
            flat = self.flat.view(d.np)
            extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
            if min((offset, *size, *stride), default=0) < 0 or offset + extent > flat.size:
                raise RuntimeError(f"sizes {size} and strides {stride} do not fit a storage of {flat.size} elements")
            numel = int(np.prod(size, dtype=np.int64))
            layout = views._normal(size, stride, offset)
            if offset == 0 and numel == flat.size and (layout is None or numel == extent):
                part = flat.reshape(size) if layout is None else host._part(flat, size, layout)
                t = from_host(np.ascontiguousarray(part).reshape(size)).to(self.target)
                t._layout = layout
                self.owner = t
                return t
            self.owner = from_host(flat).to(self.target)
        whole = self.owner if self.owner.dtype is d else self.owner.view(d)
        return views.detached(whole.as_strided(size, stride, offset))


# -- what a file may call


def _rebuild_tensor(storage: LoadedStorage, offset: int, size: Any, stride: Any) -> Tensor:
    d = storage.dtype
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
    t.requires_grad = requires_grad
    return t


def _rebuild_tensor_v3(
    storage: LoadedStorage, offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, d: dtype,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    t = storage.tensor(d, offset, tuple(size), tuple(stride))
    t.requires_grad = requires_grad
    return t


def _rebuild_meta_tensor_no_storage(d: dtype, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    t = from_host(np.zeros((), d.np)).expand(tuple(size)).to("meta")
    t._alias, t._layout = None, views._normal(tuple(size), tuple(stride), 0)
    t.requires_grad = requires_grad
    return t


def _rebuild_from_type_v2(function: Callable[..., Any], kind: type, args: Any, state: Any) -> Tensor:
    t = function(*args)
    if kind is not type(t):
        t = t.as_subclass(kind)
    if hasattr(kind, "__setstate__"):
        t.__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        t.__dict__.update(state[0] if isinstance(state, tuple) else state)
    return t


def _get_layout(name: str) -> Any:
    return _layout(name.removeprefix("torch."))


_GLOBALS: dict[str, Any] = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
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
    "builtins.bytearray": bytearray,
    "builtins.complex": complex,
    **{f"torch.{d.name}": d for d in dtypes.ALL},
    **{f"torch.{prefix}{name}": StorageKind(d) for name, d in STORAGES.items() for prefix in ("", "cuda.")},
}


def _encode(text: str, encoding: str = "utf-8") -> bytes:
    """`_codecs.encode`, with which protocol 2 writes bytes; no other encoding than what it writes."""
    if encoding not in ("latin1", "utf-8"):
        raise pickle.UnpicklingError(f"unexpected encoding {encoding!r} of bytes")
    return text.encode(encoding)


_GLOBALS["_codecs.encode"] = _encode


class _Unpickler(pickle._Unpickler):  # type: ignore[name-defined]  # Python's own, whose steps can be checked
    """Reads an object; `storage_of` gives the storage that a persistent id names."""

    def __init__(self, file: IO[bytes], storage_of: Callable[[Any], Any], **options: Any) -> None:
        super().__init__(file, **options)
        self.storage_of = storage_of

    def persistent_load(self, pid: Any) -> Any:
        return self.storage_of(pid)

    def find_class(self, module: str, name: str) -> Any:
        module = "builtins" if module == "__builtin__" else module
        found = _GLOBALS.get(f"{module}.{name}")
        if found is not None:
            return found
        if module == "torch" or module.startswith("torch."):
            module = "jaxtorch" + module.removeprefix("torch")
            try:
                return super().find_class(module, name)
            except (ImportError, AttributeError):
                shown = "torch" + module.removeprefix("jaxtorch")
                raise AttributeError(f"the file needs {shown}.{name}, which jaxtorch does not have yet") from None
        return super().find_class(module, name)


safe: dict[str, Any] = {}
"""What `add_safe_globals` has allowed, by full name."""


def _refuse(what: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"Weights only load failed. {what} To load it all the same, where the file comes from a source you trust, pass "
        "weights_only=False: it then may run any code."
    )


class _RestrictedUnpickler(_Unpickler):
    """Reads tensors and plain containers, and calls nothing but what builds them."""

    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        full = f"{'builtins' if module == '__builtin__' else module}.{name}"
        for table in (_GLOBALS, safe):
            if full in table:
                return table[full]
        raise _refuse(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{name}])` to allow it if you trust this class or function."
        )

    def _check(self, called: Any) -> None:
        """Only what `find_class` gave may be called, and no tensor or dtype that it gave."""
        for allowed in (*_GLOBALS.values(), *safe.values()):
            if called is allowed and callable(allowed):
                return
        raise _refuse(f"Trying to call {called!r}, which is not an allowed global.")

    def _reduce(self) -> None:
        self._check(self.stack[-2])
        if self.stack[-2] in (Tensor, Parameter):
            raise _refuse(f"Trying to call {self.stack[-2].__name__} directly.")
        pickle._Unpickler.load_reduce(self)  # type: ignore[attr-defined]

    def _newobj(self) -> None:
        self._check(self.stack[-2])
        pickle._Unpickler.load_newobj(self)  # type: ignore[attr-defined]

    def _build(self) -> None:
        target, state = self.stack[-2], self.stack[-1]
        if type(target) in (OrderedDict, Counter) and isinstance(state, dict):
            target.__dict__.update(state)
        elif type(target) in safe.values():
            pickle._Unpickler.load_build(self)  # type: ignore[attr-defined]
            return
        else:
            raise _refuse(f"Can only build Tensor, Parameter, OrderedDict or allowed types, but got {type(target)}.")
        del self.stack[-1]

    def _forbidden(self) -> None:
        raise _refuse("The file uses a pickle instruction that is not allowed.")

    dispatch: dict[int, Any] = dict(pickle._Unpickler.dispatch)  # type: ignore[attr-defined]
    dispatch[pickle.REDUCE[0]] = _reduce
    dispatch[pickle.NEWOBJ[0]] = _newobj
    dispatch[pickle.BUILD[0]] = _build
    for _code in (pickle.INST, pickle.OBJ, pickle.NEWOBJ_EX, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.NEXT_BUFFER):
        dispatch[_code[0]] = _forbidden


def unpickler(weights_only: bool) -> type[_Unpickler]:
    return _RestrictedUnpickler if weights_only else _Unpickler


# -- where tensors go


def _default_place(storage: LoadedStorage) -> None:
    where = device(storage.location)
    if where.type == "cuda":
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
        chosen = map_location(storage, storage.location)
        if chosen is None:
            _default_place(storage)
        elif chosen is not storage:
            raise RuntimeError("map_location has to return the storage it was given, moved, or None")
    else:
        raise TypeError(f"map_location must be None, a device, a dict or a function, not {type(map_location).__name__}")


def _typed(content: Any, kind: StorageKind, count: int, swap: bool) -> np.ndarray[Any, Any]:
    """Bytes as flat memory of the storage's type."""
    d = kind.dtype
    if d is None:
        return np.frombuffer(content, np.uint8, count)
    flat = np.frombuffer(content, np.uint8, count * d.itemsize).view(d.np)
    if swap and d.itemsize > 1:
        parts = flat.view(np.float64 if d is dtypes.complex128 else np.float32) if d.is_complex else flat
        flat = parts.view(f"u{parts.dtype.itemsize}").byteswap().view(d.np)
    return flat


# -- the two formats


def read_zip(file: IO[bytes], map_location: Any, weights_only: bool, mmap: bool, options: dict[str, Any]) -> Any:
    """Read an object in the zip format; with `mmap`, storages are mapped from the file as they are used."""
    with zipfile.ZipFile(file) as archive:
        text = next((n for n in archive.namelist() if n.endswith("data.pkl") and n.count("/") <= 1), None)
        if text is None:
            raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found")
        folder = text.removesuffix("data.pkl")
        names = set(archive.namelist())
        if f"{folder}constants.pkl" in names:
            raise RuntimeError("the file is a TorchScript archive: jaxtorch has no torch.jit.load yet")
        order = archive.read(f"{folder}byteorder") if f"{folder}byteorder" in names else b"little"
        swap = order.decode() != sys.byteorder
        storages: dict[str, LoadedStorage] = {}

        def storage_of(pid: Any) -> LoadedStorage:
            _, kind, key, location, count = _checked(pid)
            found = storages.get(key)
            if found is None:
                name = f"{folder}data/{key}"
                content = _mapped(file, archive, name) if mmap else archive.read(name)
                found = storages[key] = LoadedStorage(_typed(content, kind, count, swap), kind.dtype, location)
                place(found, map_location)
            return found

        return unpickler(weights_only)(io.BytesIO(archive.read(text)), storage_of, **options).load()


def _checked(pid: Any) -> Any:
    if not (isinstance(pid, tuple) and len(pid) >= 5 and pid[0] == "storage" and isinstance(pid[1], StorageKind)):
        raise pickle.UnpicklingError(f"Unknown typename for persistent_load, expected 'storage' but got {pid!r}")
    return pid


def _mapped(file: IO[bytes], archive: zipfile.ZipFile, name: str) -> Any:
    info = archive.getinfo(name)
    if not info.file_size:
        return b""
    file.seek(info.header_offset + 26)
    in_name, in_extra = struct.unpack("<HH", file.read(4))
    return np.memmap(file, np.uint8, "c", info.header_offset + 30 + in_name + in_extra, (info.file_size,))


def read_legacy(file: IO[bytes], map_location: Any, weights_only: bool, options: dict[str, Any]) -> Any:
    """Read an object in the format that PyTorch wrote before 1.6: pickles, then the storages one after another."""
    kind_of = unpickler(weights_only)

    def refuse(pid: Any) -> Any:
        raise pickle.UnpicklingError(f"unexpected storage in the header: {pid!r}")

    if kind_of(file, refuse, **options).load() != _MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = kind_of(file, refuse, **options).load()
    if version != _PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = kind_of(file, refuse, **options).load()
    swap = system.get("little_endian", True) != (sys.byteorder == "little")
    storages: dict[str, LoadedStorage] = {}

    def storage_of(pid: Any) -> LoadedStorage:
        _, kind, key, location, count, *view = _checked(pid)
        if view and view[0] is not None:
            raise RuntimeError("the file has a view of a storage, as PyTorch wrote before 0.4: jaxtorch cannot read it")
        if key not in storages:
            d = kind.dtype
            flat = np.zeros(count, np.uint8 if d is None else d.np)
            storages[key] = LoadedStorage(flat, d, location)
            place(storages[key], map_location)
        return storages[key]

    # The bytes come after the pickle whose tensors they fill: read it once to learn the storages, then again with them there.
    begin = file.tell()
    kind_of(file, storage_of, **options).load()
    for key in kind_of(file, refuse, **options).load():
        (count,) = struct.unpack("<q" if not swap else ">q", file.read(8))
        storage = storages[key]
        kind = StorageKind(storage.dtype)
        content = file.read(count * storage.flat.dtype.itemsize)
        storage.flat, storage.owner = _typed(content, kind, count, swap), None
    file.seek(begin)
    return kind_of(file, storage_of, **options).load()


def is_zip(file: IO[bytes]) -> bool:
    """Does the file begin as a zip archive does?"""
    start = file.tell()
    magic = file.read(4)
    file.seek(start, os.SEEK_SET)
    return magic == b"PK\x03\x04"
