"""`torch.storage`: the memory under tensors."""

from ._tensor.storage import StorageBase, TypedStorage, UntypedStorage

_StorageBase = StorageBase
_LegacyStorage = TypedStorage
__all__ = ["TypedStorage", "UntypedStorage"]
