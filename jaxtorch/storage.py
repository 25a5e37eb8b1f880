"""`torch.storage`: the memory under tensors."""

from ._tensor.storage import TypedStorage, UntypedStorage

_LegacyStorage = TypedStorage
__all__ = ["TypedStorage", "UntypedStorage"]
