"""The constructors of old: `torch.sparse.FloatTensor(indices, values, size)`."""

from __future__ import annotations

from typing import Any

from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.size import Size
from .._core.types.warn_once import once
from . import _operations
from ._create import check_sparse_tensor_invariants, empty, sparse_coo_tensor
from ._tensor import COO, SparseTensor, method


class _LegacyMeta(type):
    """`isinstance` looks at the layout and the element type."""

    _dtype: dtypes.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, SparseTensor) and instance._kind is COO and instance.dtype is cls._dtype

    def __call__(
        cls, *args: Any, indices: Any = None, values: Any = None, size: Any = None, device: Any = None
    ) -> SparseTensor:
        args += tuple([x for x in (indices, values, size) if x is not None])
        if len(args) >= 2 and isinstance(args[0], Tensor):
            indices, values = args[0], args[1]
            once(
                "torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated. Please use "
                "torch.sparse_coo_tensor(indices, values, shape, dtype=, device=)."
            )
            size, checks = args[2] if len(args) > 2 else None, check_sparse_tensor_invariants.is_enabled()
            return sparse_coo_tensor(indices, values, size, device=device, check_invariants=checks)
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


@method
def new(self: SparseTensor, *args: Any, device: Any = None) -> SparseTensor:
    """A COO tensor as by the old constructor: (indices, values), (indices, values, size); (*size), a `torch.Size`: an empty one.

    `values` keep their element type. TypeError for anything else; of COO tensors only.
    """
    if self._kind is not COO:
        _operations.unsupported("new", (self,), True)
    if 2 <= len(args) <= 3 and isinstance(args[0], Tensor) and isinstance(args[1], Tensor):
        if args[0].dtype is not dtypes.int64:
            raise RuntimeError("indices must be an int64 tensor")
        checks = check_sparse_tensor_invariants.is_enabled()
        return sparse_coo_tensor(*args, device=self.device if device is None else device, check_invariants=checks)
    if len(args) == 1 and isinstance(args[0], Size):
        args = tuple(args[0])
    elif len(args) == 1 and isinstance(args[0], tuple):
        raise TypeError(
            "SparseTensor.new(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a strided tensor "
            "and convert it to sparse via to_sparse."
        )
    if not all([isinstance(n, int) for n in args]):  # noqa: C419
        given = ", ".join([type(a).__name__ for a in args])
        raise TypeError(f"new() received an invalid combination of arguments - got ({given})")
    return empty(args or (0,), COO, self.dtype, self.device if device is None else device)
