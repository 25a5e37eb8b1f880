"""`torch.utils.serialization.config`: what `torch.save` and `torch.load` do where their arguments do not say."""

from __future__ import annotations

import mmap as _mmap
from collections.abc import Iterator as _Iterator
from contextlib import contextmanager as _contextmanager
from typing import Any as _Any


class _Group:
    """Settings that can be read and set, and no others."""

    def __init__(self, name: str, **settings: _Any) -> None:
        self.__dict__.update(settings, _name=name)

    def __getattr__(self, name: str) -> _Any:
        raise AttributeError(f"torch.utils.serialization.config.{self._name}.{name} does not exist")

    def __setattr__(self, name: str, value: _Any) -> None:
        getattr(self, name)
        self.__dict__[name] = value


load = _Group(
    "load", mmap=False, endianness=None, mmap_flags=getattr(_mmap, "MAP_PRIVATE", None), calculate_storage_offsets=False
)
"""mmap: the default of `load(mmap=...)`. endianness: of files that do not say theirs. The others change nothing."""
save = _Group("save", compute_crc32=True, use_pinned_memory_for_d2h=False, storage_alignment=64)
"""storage_alignment: storages begin at multiples of it, in bytes. The others change nothing: checksums are always written."""


@_contextmanager
def patch(name: _Any = None, value: _Any = None, **changes: _Any) -> _Iterator[None]:
    """Context in which settings are others: `patch({"load.mmap": True})`, `patch("load.mmap", True)`."""
    given = {**(name if isinstance(name, dict) else {} if name is None else {name: value}), **changes}
    places = {key: ({"load": load, "save": save}.get(key.partition(".")[0]), key.partition(".")[2]) for key in given}
    for key, (group, _) in places.items():
        if group is None:
            raise AttributeError(f"torch.utils.serialization.config.{key} does not exist")
    before = {key: getattr(*place) for key, place in places.items()}
    try:
        for key, new in given.items():
            setattr(*places[key], new)
        yield
    finally:
        for key, old in before.items():
            setattr(*places[key], old)
