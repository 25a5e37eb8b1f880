"""`torch.serialization`: saving objects with tensors to files, and loading them."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable
from typing import IO, Any

from . import _loading, _saving
from ._core import capture

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

DEFAULT_PROTOCOL = 2

FileLike = str | os.PathLike[str] | IO[bytes]


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
    NotImplementedError for the format of before PyTorch 1.6, and for another `pickle_module`.
    """
    capture.breaks("it saves a file")
    if not _use_new_zipfile_serialization:
        raise NotImplementedError(
            "jaxtorch has no torch.save(_use_new_zipfile_serialization=False): it writes zip files"
        )
    if pickle_module is not pickle:
        raise NotImplementedError(f"jaxtorch has no torch.save(pickle_module={pickle_module!r})")
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        stem = os.path.splitext(os.path.basename(path))[0] or "archive"
        with _saving.replacing(path) as file:
            _saving.write(obj, file, stem, pickle_protocol)
        return
    if not hasattr(f, "write"):
        raise TypeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, not {type(f)}"
        )
    _saving.write(obj, f, "archive", pickle_protocol)


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
    """
    capture.breaks("it loads a file")
    restricted = True if weights_only is None and pickle_module is None else bool(weights_only)
    if pickle_module is not None and weights_only:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_module is not None and pickle_module is not pickle:
        raise NotImplementedError(f"jaxtorch has no torch.load(pickle_module={pickle_module!r})")
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
            return _loading.read_zip(file, map_location, restricted, bool(mmap), pickle_load_args)
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`"
            )
        return _loading.read_legacy(file, map_location, restricted, pickle_load_args)


def _full_name(item: Any) -> tuple[str, Any]:
    if isinstance(item, tuple):
        return item[1], item[0]
    module = item.__module__
    if module == "jaxtorch" or module.startswith("jaxtorch."):
        module = "torch" + module.removeprefix("jaxtorch")
    return f"{module}.{item.__qualname__}", item


def add_safe_globals(safe_globals: list[type | Callable[..., Any] | tuple[Any, str]]) -> None:
    """Allow classes and functions, each itself or as (object, full name), in files loaded with `weights_only=True`."""
    _loading.safe.update(map(_full_name, safe_globals))


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has allowed."""
    return list(_loading.safe.values())


def clear_safe_globals() -> None:
    """Allow nothing beyond tensors and plain containers again."""
    _loading.safe.clear()


class safe_globals:
    """Context in which classes and functions are allowed as by `add_safe_globals`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.added = safe_globals

    def __enter__(self) -> None:
        self.before = dict(_loading.safe)
        add_safe_globals(self.added)

    def __exit__(self, *exc: Any) -> None:
        _loading.safe.clear()
        _loading.safe.update(self.before)
