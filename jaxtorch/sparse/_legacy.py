"""The constructors of old: `torch.sparse.FloatTensor(indices, values, size)`."""

from __future__ import annotations

from typing import Any

from .._core import dtypes
from .._core.size import Size
from .._core.tensor import Tensor
from .._core.warned import once
from ._create import empty, sparse_coo_tensor
from ._tensor import COO, SparseTensor


class _LegacyMeta(type):
    """`isinstance` looks at the layout and the element type."""

    _dtype: dtypes.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, SparseTensor) and instance._kind is COO and instance.dtype is cls._dtype

    def __call__(cls, *args: Any, device: Any = None) -> SparseTensor:
        if len(args) >= 2 and isinstance(args[0], Tensor):
            indices, values = args[0], args[1]
            once(
                "torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated. Please use "
                "torch.sparse_coo_tensor(indices, values, shape, dtype=, device=)."
            )
            return sparse_coo_tensor(indices, values, args[2] if len(args) > 2 else None, device=device)
        size = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list, Size)) else args
        return empty(tuple(size) or (0,), COO, cls._dtype, device)


def _legacy(name: str, dtype: dtypes.dtype) -> Any:
    facts = {"_dtype": dtype, "dtype": dtype, "layout": COO, "__module__": "torch.sparse",
             "__doc__": f"Makes COO tensors of {dtype}: (indices, values, size), or (*size) for an empty one."}  # fmt: skip
    return _LegacyMeta(name, (), facts)


FloatTensor = _legacy("FloatTensor", dtypes.float32)
DoubleTensor = _legacy("DoubleTensor", dtypes.float64)
HalfTensor = _legacy("HalfTensor", dtypes.float16)
BFloat16Tensor = _legacy("BFloat16Tensor", dtypes.bfloat16)
ByteTensor = _legacy("ByteTensor", dtypes.uint8)
CharTensor = _legacy("CharTensor", dtypes.int8)
ShortTensor = _legacy("ShortTensor", dtypes.int16)
IntTensor = _legacy("IntTensor", dtypes.int32)
LongTensor = _legacy("LongTensor", dtypes.int64)
