"""`torch.storage`: the memory under tensors."""

from typing import Any

from ._tensor.storage_types import StorageBase, TypedStorage, UntypedStorage

_StorageBase = StorageBase
_LegacyStorage = TypedStorage
__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b: bytes) -> Any:
    """What `torch.save` has written into bytes: how PyTorch's tensors and storages stand in files of Python's own `pickle`."""
    import io

    from . import serialization

    return serialization.load(io.BytesIO(b), weights_only=False)
