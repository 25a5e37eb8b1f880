"""`torch.jit.load`: reads TorchScript archives, and runs nothing of them but what `_source.py` lets through."""

from __future__ import annotations

import io
import os
import pickle
from typing import IO, Any

from .._core.types.device import device
from .._serialization import loading, unpickling
from .._serialization.rebuilding import GLOBALS, LoadedStorage, place, shortened, typed
from ._classes import Archive, Builder, Instance


def _as_is(value: Any, *rest: Any) -> Any:
    return value


class _Named:
    """A class of the archive, in its pickle."""

    def __init__(self, name: str) -> None:
        self.name = name


_PLAIN = {
    f"torch.jit._pickle.{name}": _as_is
    for name in ("build_intlist", "build_doublelist", "build_boollist", "build_tensorlist", "restore_type_tag")
}


class _Unpickler(unpickling.RestrictedUnpickler):
    """Reads the pickles of an archive: tensors, containers, and objects of the archive's own classes."""

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full in _PLAIN:
            return _PLAIN[full]
        if module == "__torch__" or module.startswith("__torch__."):
            return _Named(full)
        if full == "torch.device":
            return device
        found = GLOBALS.get(full)
        if found is None:
            raise pickle.UnpicklingError(f"the TorchScript archive names {full}, which none should")
        return found

    def _check(self, called: Any) -> None:
        if called is not _as_is and not isinstance(called, _Named) and called is not device:
            super()._check(called)

    def _reduce(self) -> None:
        called = self.stack[-2]
        if isinstance(called, _Named):
            args = self.stack.pop()  # of an enumeration, its value
            self.stack[-1] = Instance(called.name, args if isinstance(args, tuple) else (args,))
            return
        super()._reduce()

    def _newobj(self) -> None:
        called = self.stack[-2]
        if isinstance(called, _Named):
            args = self.stack.pop()
            self.stack[-1] = Instance(called.name, tuple(args))
            return
        super()._newobj()

    def _build(self) -> None:
        if isinstance(self.stack[-2], Instance):
            state = self.stack.pop()
            self.stack[-1].state = state
            return
        super()._build()

    dispatch: dict[int, Any] = dict(unpickling.RestrictedUnpickler.dispatch)
    dispatch[pickle.REDUCE[0]] = _reduce
    dispatch[pickle.NEWOBJ[0]] = _newobj
    dispatch[pickle.BUILD[0]] = _build


class File:
    """A TorchScript archive that is being read."""

    def __init__(self, file: IO[bytes], map_location: Any) -> None:
        self.archive = loading.Archive(file)
        self.map_location = map_location
        loading.check_version(self.archive)
        self.swap = loading.swapped(self.archive)
        self.storages: dict[str, LoadedStorage] = {}

    def unpickled(self, name: str) -> Any:
        """The object of `NAME.pkl`, whose storages lie in the folder NAME."""
        text = self.archive.small(f"{name}.pkl")

        def storage_of(pid: Any) -> LoadedStorage:
            _, kind, key, location, count = loading.checked(pid)[:5]
            path = f"{name}/{key}"
            found = self.storages.get(path)
            if found is None:
                content = self.archive.storage(path, loading.bytes_of(kind, count), False)
                found = self.storages[path] = LoadedStorage(
                    typed(content, kind, count, self.swap), kind.dtype, location
                )
                place(found, self.map_location)
            return found

        reader = _Unpickler(io.BytesIO(text))
        reader.storage_of = storage_of
        try:
            return reader.load()
        except unpickling._CORRUPT as error:
            raise RuntimeError(f"the TorchScript archive's {name}.pkl is corrupt: {shortened(error)}") from error
        except pickle.UnpicklingError as error:
            raise RuntimeError(f"the TorchScript archive's {name}.pkl cannot be read: {error}") from error

    def sources(self) -> dict[str, str]:
        """The files of source, by their name below `code/`."""
        begin = self.archive.folder + "code/"
        names = [n.removeprefix(begin) for n in self.archive.names if n.startswith(begin) and n.endswith(".py")]
        return {n: self.archive.small(f"code/{n}").decode(errors="replace") for n in sorted(names)}

    def version(self) -> int:
        """The version of the operations that the source means."""
        return int(self.archive.small("version", b"3").strip())


def _opened(f: Any) -> IO[bytes]:
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        if not os.path.exists(path):
            raise ValueError(f"The provided filename {path} does not exist")
        if os.path.isdir(path):
            raise ValueError(f"The provided filename {path} is a directory")
        return open(path, "rb")
    return io.BytesIO(f.read())


def load(f: Any, map_location: Any = None, extra_files: dict[str, Any] | None = None) -> Any:
    """The module of an archive."""
    if map_location is not None and not isinstance(map_location, (str, device)):
        raise ValueError(
            "map_location should be either None, string or torch.device, but got type: " + str(type(map_location))
        )
    with _opened(f) as file:
        opened = File(file, map_location)
        if not opened.archive.is_scripted:
            raise RuntimeError("PytorchStreamReader failed locating file constants.pkl: file not found")
        archive = Archive(opened.sources(), tuple(opened.unpickled("constants")), opened.version())
        root = opened.unpickled("data")
        if not isinstance(root, Instance):
            raise RuntimeError("the TorchScript archive holds no module")
        made = Builder(archive).built(root)
        made.__dict__["_archive"] = archive
        for name in list(extra_files or ()):
            extra_files[name] = opened.archive.small(f"extra/{name}", b"")  # type: ignore[index]
        return made
