"""The classes of typed storages: `torch.FloatStorage` and the like. What they make is a `TypedStorage`."""

from __future__ import annotations

import sys
from typing import Any

from .._core.types import dtypes
from .._core.types.warn_once import inside
from . import storage_warnings
from .storage_types import LEGACY, TypedStorage, UntypedStorage


class _LegacyStorageMeta(type):
    """Calls make a `TypedStorage`; `isinstance` looks at the element type."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(
        cls, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None,
        _internal: Any = None,
    ) -> TypedStorage:  # fmt: skip
        if not inside(sys._getframe(1)):
            storage_warnings.warn()
        for name, given in (("dtype", dtype), ("device", device)):
            if given is not None:
                raise RuntimeError(f"{cls.__name__}(): keyword argument '{name}' cannot be specified")
        if wrap_storage is not None:
            if args:
                raise RuntimeError(
                    f"{cls.__name__}() received an invalid combination of arguments: no others go with 'wrap_storage'"
                )
            if not isinstance(wrap_storage, UntypedStorage):
                kind = type(wrap_storage).__name__
                raise TypeError(f"{cls.__name__}(): argument 'wrap_storage' must be UntypedStorage, not {kind}")
            return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)
        return TypedStorage(*args, dtype=cls.dtype, device="cpu", _internal=True)


_DTYPES = {
    "FloatStorage": dtypes.float32, "DoubleStorage": dtypes.float64, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "LongStorage": dtypes.int64, "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16, "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
    "QInt8Storage": dtypes.by_name("qint8"), "QUInt8Storage": dtypes.by_name("quint8"),
    "QInt32Storage": dtypes.by_name("qint32"), "QUInt4x2Storage": dtypes.by_name("quint4x2"),
    "QUInt2x4Storage": dtypes.by_name("quint2x4"),
}  # fmt: skip
KINDS: dict[str, Any] = {
    name: _LegacyStorageMeta(name, (TypedStorage,), {"dtype": d, "_dtype": d, "__module__": "torch",
                                                     "__doc__": f"Makes storages of {d}."})
    for name, d in _DTYPES.items()
}  # fmt: skip
LEGACY.update({d: KINDS[name] for name, d in _DTYPES.items()})
globals().update(KINDS)
_storage_classes = {UntypedStorage, TypedStorage, *KINDS.values()}


def of_default() -> Any:
    """`torch.Storage`: the class of storages of the default type."""
    return LEGACY[dtypes.default()]
