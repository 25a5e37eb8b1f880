"""The classes of typed storages: `torch.FloatStorage` and the like. What they make is a `TypedStorage`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.tensor import from_host
from .storage import TypedStorage, UntypedStorage, of


class _LegacyMeta(type):
    """Calls make a `TypedStorage`; `isinstance` looks at the element type."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None, device: Any = None) -> TypedStorage:
        if wrap_storage is not None:
            return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)
        if len(args) > 1:
            raise RuntimeError(f"{cls.__name__}(): expected a size or a sequence, but got {len(args)} arguments")
        given = args[0] if args else 0
        content = np.zeros(given, cls.dtype.np) if isinstance(given, int) else np.asarray(list(given), cls.dtype.np)
        return TypedStorage(wrap_storage=of(from_host(content)), dtype=cls.dtype, _internal=True)

    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first elements of a file; see `UntypedStorage.from_file`."""
        bytes_of = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=bytes_of, dtype=cls.dtype, _internal=True)

    def from_buffer(cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0) -> TypedStorage:
        """A storage with the content of a buffer. byte_order: 'native', 'little' or 'big'."""
        mark = {"native": "=", "little": "<", "big": ">"}[byte_order]
        found = np.frombuffer(buffer, cls.dtype.np.newbyteorder(mark), count, offset)
        return cls(found.astype(cls.dtype.np))


_KINDS = {
    "FloatStorage": dtypes.float32, "DoubleStorage": dtypes.float64, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "LongStorage": dtypes.int64, "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16, "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
}  # fmt: skip
KINDS: dict[str, Any] = {
    name: _LegacyMeta(name, (), {"dtype": d, "__module__": "torch", "__doc__": f"Makes storages of {d}."})
    for name, d in _KINDS.items()
}
STORAGE_OF = {d: KINDS[name] for name, d in _KINDS.items()}
globals().update(KINDS)
