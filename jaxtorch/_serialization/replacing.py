"""Files that are written whole: a reader never finds half of one, and what stood there before stays until the new one is complete.

The content goes to a file without a name (with one where the system has no such files) in the same folder, which then takes the
place of the old one, with its owner, mode and attributes. A file that has several names, or whose owner or folder do not allow
that, is overwritten as PyTorch does it, once the content is complete: all its names lead to the new content.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from typing import IO, Any


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` once it is complete. RuntimeError where nothing can be written there."""
    if not os.path.basename(path):
        raise RuntimeError(f"invalid file name: {path}")
    given, path = path, os.path.realpath(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(given)} does not exist.")
    if os.path.isdir(path):
        raise RuntimeError(f"open file failed with strerror: Is a directory: {given}")
    there = os.path.exists(path)
    if there and not os.access(path, os.W_OK):
        raise RuntimeError(f"open file failed with strerror: Permission denied: {given}")
    if there and not os.path.isfile(path):  # a pipe or a device
        with open(path, "wb") as file:
            yield file
        return
    before = os.stat(path) if there else None
    in_place = before is not None and before.st_nlink > 1
    with contextlib.ExitStack() as stack:
        try:
            file, name = _fresh(folder, stack)
        except OSError as error:
            if before is None:
                raise RuntimeError(f"open file failed with strerror: {error.strerror}: {given}") from None
            file, name, in_place = stack.enter_context(tempfile.TemporaryFile()), None, True
        yield file
        file.flush()
        if in_place or (before is not None and not _looks_like(file.fileno(), path, before)):
            _overwrite(path, file)
            return
        os.fsync(file.fileno())
        name = name or _named(file.fileno(), folder, stack)
        file.close()
        os.replace(name, path)


def _temporary(folder: str, stack: contextlib.ExitStack) -> str:
    """A name for a file that is gone when the stack ends, if it still has that name then."""
    name = os.path.join(folder, f".{uuid.uuid4().hex[:12]}.tmp")

    def forget() -> None:
        with contextlib.suppress(OSError):
            os.unlink(name)

    stack.callback(forget)
    return name


def _fresh(folder: str, stack: contextlib.ExitStack) -> tuple[IO[bytes], str | None]:
    """A new file in a folder, and its name: None for one without, which goes with this process, however that ends."""
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):
        with contextlib.suppress(OSError):
            number = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
            return stack.enter_context(open(number, "w+b")), None
    name = _temporary(folder, stack)
    return stack.enter_context(open(name, "x+b")), name


def _named(number: int, folder: str, stack: contextlib.ExitStack) -> str:
    """Give a file without a name one."""
    name = _temporary(folder, stack)
    os.link(
        f"/proc/self/fd/{number}", name, src_dir_fd=number
    )  # the path is absolute: the number has it follow the link
    return name


def _looks_like(number: int, path: str, before: Any) -> bool:
    """Give a file the owner, mode and attributes of another; may that be?"""
    try:
        made = os.fstat(number)
        if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
            os.chown(number, before.st_uid, before.st_gid)
        os.chmod(number, before.st_mode & 0o7777)
        for attribute in os.listxattr(path) if hasattr(os, "listxattr") else ():
            os.setxattr(number, attribute, os.getxattr(path, attribute))
    except (OSError, AttributeError, NotImplementedError, TypeError):  # Windows has no owners
        return not hasattr(os, "chown")
    return True


def _overwrite(path: str, content: IO[bytes]) -> None:
    """Give a file the content of another, in its own place."""
    content.seek(0)
    with open(path, "r+b") as file:
        shutil.copyfileobj(content, file, 1 << 20)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
