"""`torch.serialization`: saving objects with tensors to files, and loading them."""

from __future__ import annotations

import contextlib
import importlib
import mmap as _mmap
import os
import pickle
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from typing import IO, Any

from ._core.run import capture
from ._core.types.device import device
from ._serialization import loading as _loading
from ._serialization import rebuilding as _contents
from ._serialization import saving as _saving
from ._serialization import unpickling as _unpickling
from ._serialization.replacing import replacing
from .utils.serialization import config

__all__ = [
    "LoadEndianness", "SourceChangeWarning", "StorageType", "add_safe_globals", "check_module_version_greater_or_equal",
    "clear_safe_globals", "default_restore_location", "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag", "mkdtemp",
    "normalize_storage_type", "register_package", "safe_globals", "save", "set_crc32_options", "set_default_load_endianness",
    "set_default_mmap_options", "skip_data", "storage_to_tensor_type", "validate_cuda_device", "validate_hpu_device",
]  # fmt: skip

torch = sys.modules[str(__package__)]  # programs reach it here, because PyTorch's file imports it
DEFAULT_PROTOCOL = 2
MAGIC_NUMBER, PROTOCOL_VERSION = _saving.MAGIC, _saving.PROTOCOL
LONG_SIZE, INT_SIZE, SHORT_SIZE = (struct.calcsize(f"={c}") for c in "lih")
MAP_SHARED, MAP_PRIVATE = getattr(_mmap, "MAP_SHARED", None), getattr(_mmap, "MAP_PRIVATE", None)
STORAGE_KEY_SEPARATOR = ","

_get_layout = _contents._get_layout  # by which PyTorch's pickles name it

FileLike = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None


def save(
    obj: Any,
    f: FileLike,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file that PyTorch and jaxtorch load.

    f: a path, or an object with `write`. A file that exists is replaced only when the new one is complete.
    pickle_module: has the `Pickler` that writes what is no tensor, such as cloudpickle's.
    `_use_new_zipfile_serialization=False` writes the format of before PyTorch 1.6.
    """
    capture.break_capture("it saves a file", True)
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        stem = os.path.splitext(os.path.basename(path))[0] or "archive"
        with replacing(path) as file:
            _written(obj, file, stem, pickle_module, pickle_protocol, _use_new_zipfile_serialization)
        return
    if not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    _written(obj, f, "archive", pickle_module, pickle_protocol, _use_new_zipfile_serialization)


def _written(obj: Any, file: IO[bytes], stem: str, module: Any, protocol: int, new: bool) -> None:
    if new:
        _saving.write(obj, file, stem, protocol, module)
    elif _saving.skipping.on:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    else:
        _saving.write_legacy(obj, file, protocol, module)


def load(
    f: FileLike,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `torch.save` of jaxtorch or of PyTorch has written.

    map_location: None (where it was saved), a device, a dict from saved to new locations, or a function of (storage, location).
    weights_only: (the default) load nothing but tensors and plain containers, and call nothing else that the file names.
    Raises pickle.UnpicklingError where the file asks for more. With False the file can run any code: only for files you trust.
    pickle_module: has the `Unpickler` that reads what is no tensor; a class of it may rename what the file names.
    mmap: read storages from the file, which must be a path, as they are used; damage to them then goes unnoticed.
    Raises EOFError for an empty file, RuntimeError or pickle.UnpicklingError for one that is damaged.
    """
    capture.break_capture("it loads a file", True)
    mmap = config.load.mmap if mmap is None else mmap
    restricted = True if weights_only is None and pickle_module is None else bool(weights_only)
    if pickle_module is not None and weights_only:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    reader = _unpickling.RestrictedUnpickler if restricted else _unpickling.unpickler_of(pickle_module or pickle)
    with contextlib.ExitStack() as stack:
        if isinstance(f, (str, os.PathLike)):
            file: IO[bytes] = stack.enter_context(open(os.fspath(f), "rb"))
        elif not hasattr(f, "read") or not hasattr(f, "seek"):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a file that is seekable. "
                "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
        else:
            if mmap:
                raise ValueError("f must be a file path in order to use the mmap argument")
            file = f
        if _loading.is_zip(file):
            archive = _loading.Archive(file)
            if archive.is_scripted:
                return _scripted_module(file, map_location, restricted)
            return _loading.read_zip(archive, map_location, reader, bool(mmap), pickle_load_args)
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`"
            )
        if not file.read(1):
            raise EOFError(f"Ran out of input: {f} is empty")
        file.seek(-1, os.SEEK_CUR)
        if _loading.is_tar(file):
            if restricted:
                raise RuntimeError(
                    "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. If you trust the file, pass "
                    "weights_only=False: it then may run any code."
                )
            return _loading.read_tar(file, map_location, reader, pickle_load_args)
        return _loading.read_legacy(file, map_location, reader, pickle_load_args)


def _scripted_module(file: IO[bytes], map_location: Any, restricted: bool) -> Any:
    """The module of a TorchScript archive, as `torch.jit.load` gives it."""
    if restricted:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. Use ``torch.jit.load``, or pass "
            "weights_only=False."
        )
    warnings.warn(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' (call "
        "'torch.jit.load' directly to silence this warning)",
        UserWarning,
        stacklevel=3,
    )
    from . import jit  # heavy, and few programs load such an archive

    file.seek(0)
    return jit.load(file, map_location)


def _full_name(item: Any) -> tuple[str, Any]:
    if isinstance(item, tuple):
        return item[1], item[0]
    module = item.__module__
    if module == "jaxtorch" or module.startswith("jaxtorch."):
        module = "torch" + module.removeprefix("jaxtorch")
    return f"{module}.{item.__qualname__}", item


def add_safe_globals(safe_globals: list[type | Callable[..., Any] | tuple[Any, str]]) -> None:
    """Allow classes and functions, each itself or as (object, full name), in files loaded with `weights_only=True`."""
    _unpickling.safe.update(map(_full_name, safe_globals))


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has allowed."""
    return list(_unpickling.safe.values())


def clear_safe_globals() -> None:
    """Allow nothing beyond tensors and plain containers again."""
    _unpickling.safe.clear()


class safe_globals:
    """Context in which classes and functions are allowed as by `add_safe_globals`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.added = safe_globals

    def __enter__(self) -> None:
        self.before = dict(_unpickling.safe)
        add_safe_globals(self.added)

    def __exit__(self, *exc: Any) -> None:
        _unpickling.safe.clear()
        _unpickling.safe.update(self.before)


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """The full names of classes and functions in a file that `weights_only` refuses, read without running anything."""
    with contextlib.ExitStack() as stack:
        file: Any = stack.enter_context(open(os.fspath(f), "rb")) if isinstance(f, (str, os.PathLike)) else f
        if not _loading.is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        return _unpickling.unsafe_globals(_loading.Archive(file).small("data.pkl"))


# -- options


class LoadEndianness(Enum):
    """The order of bytes in files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes that zip files without a record of it are taken to have; None means little."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes that zip files without a record of it are taken to have."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_default_mmap_options() -> int:
    """How files are mapped: always `mmap.MAP_PRIVATE`."""
    return _mmap.MAP_PRIVATE


class set_default_mmap_options:
    """Accepts `mmap.MAP_PRIVATE`, also as a context. NotImplementedError for MAP_SHARED: writes to tensors do not reach the file."""

    def __init__(self, flags: int) -> None:
        if flags == _mmap.MAP_SHARED:
            raise NotImplementedError("jaxtorch has no torch.load with mmap.MAP_SHARED")
        if flags != _mmap.MAP_PRIVATE:
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got "
                f"{flags}"
            )

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


def get_crc32_options() -> bool:
    """What `set_crc32_options` was given; True at first."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Accepted without effect: `save` always writes checksums."""
    config.save.compute_crc32 = compute_crc32


class skip_data:
    """Context in which `save` writes zeros for the contents of storages, and `load` does not read them: they are zeros.

    materialize_fake_tensors: accepted; there are no fake tensors.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = _saving.skipping.on
        _saving.skipping.on = True

    def __exit__(self, *exc: Any) -> None:
        _saving.skipping.on = self._before


# -- where storages are


def register_package(priority: int, tagger: Any, deserializer: Any) -> None:
    """Have functions name the place of a storage in files, and restore it from there.

    tagger(storage) returns the name or None. deserializer(storage, name) returns the storage, on which it may have called `cpu`
    or `cuda`, or None. priority: lower ones are asked first; 10 is that of the devices that jaxtorch knows.
    """
    _saving.packages.append((priority, tagger, deserializer))
    _saving.packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """How a file names the place of a storage: 'cpu' or 'cuda:0', or what a registered tagger says."""
    return _saving.location_of(storage)


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage on the device that a file names; RuntimeError where nothing knows it."""
    if isinstance(storage, _contents.LoadedStorage):
        storage.location = location
        _contents.place(storage, None)
        return storage
    for _, _, deserializer in _saving.packages:
        if (found := deserializer(storage, location)) is not None:
            return found
    kind = device(location).type if location.partition(":")[0] in ("cpu", "cuda", "meta") else None
    if kind is None:
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.{type(storage).__name__} (tagged with {location})"
        )
    return (
        storage.cpu() if kind == "cpu" else storage.cuda(validate_cuda_device(location)) if kind == "cuda" else storage
    )


def validate_cuda_device(location: str) -> int:
    """The index of a CUDA device given by its name; RuntimeError if there is none."""
    _contents.check_cuda(device(location))
    return device(location).index or 0


def validate_hpu_device(location: str) -> int:
    """RuntimeError: there are no HPUs."""
    raise RuntimeError(
        "The HPU device module is not registered. If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU."
    )


# -- small things that are public in PyTorch


class SourceChangeWarning(Warning):
    """Never given: files do not hold sources any more."""


class StorageType:
    """What stands for a storage's class while a file is read. name: 'FloatStorage', say."""

    def __init__(self, name: str) -> None:
        self._dtype = _saving.STORAGES[name]

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


@contextlib.contextmanager
def mkdtemp() -> Iterator[str]:
    """Context with a new folder, which is removed at its end."""
    with tempfile.TemporaryDirectory() as path:
        yield path


def normalize_storage_type(storage_type: type) -> Any:
    """torch's own class of a storage class's name."""
    return getattr(importlib.import_module(__package__ or ""), storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """The old class of tensors on a storage: torch.FloatTensor for a torch.FloatStorage."""
    kind = type(storage)
    return getattr(importlib.import_module(kind.__module__), kind.__name__.replace("Storage", "Tensor"))


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Is a module's `__version__` at least this? RuntimeError, or a warning and True, where it cannot be read."""
    try:
        parts = module.__version__.split(".")
        return tuple([type(wanted)(parts[i]) for i, wanted in enumerate(req_version_tuple)]) >= tuple(req_version_tuple)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared"
        )
        if error_if_malformed:
            raise RuntimeError(f"{message} with tuple {req_version_tuple}") from error
        warnings.warn(
            f"{message} with tuple {req_version_tuple}, but continuing assuming that requirement is met", stacklevel=2
        )
        return True
