"""`torch.storage`: the memory under tensors."""

import io
from typing import Any

from . import serialization
from ._tensor.storage_types import StorageBase, TypedStorage, UntypedStorage

_StorageBase = StorageBase
_LegacyStorage = TypedStorage
__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b: bytes) -> Any:
    """What `torch.save` has written into bytes: how PyTorch's tensors and storages stand in files of Python's own `pickle`."""
    return serialization.load(io.BytesIO(b), weights_only=False)


def reduced(storage: TypedStorage) -> Any:
    """How a typed storage is pickled."""
    file = io.BytesIO()
    serialization.save(storage, file)
    return _load_from_bytes, (file.getvalue(),)
