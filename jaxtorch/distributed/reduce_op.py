"""`ReduceOp`: how the tensors of a group's processes become one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.types.dtypes import scalar_name


class _ReduceKind:
    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def value(self) -> int:
        return ReduceOp._NAMES.index(self.name)

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __reduce__(self) -> Any:
        return getattr, (ReduceOp, self.name)


class ReduceOp:
    """How the tensors of a group's processes become one."""

    __module__ = "jaxtorch.distributed"

    _NAMES = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
    RedOpType = _ReduceKind
    SUM = _ReduceKind("SUM")
    AVG = _ReduceKind("AVG")
    PRODUCT = _ReduceKind("PRODUCT")
    MIN = _ReduceKind("MIN")
    MAX = _ReduceKind("MAX")
    BAND = _ReduceKind("BAND")
    BOR = _ReduceKind("BOR")
    BXOR = _ReduceKind("BXOR")
    PREMUL_SUM = _ReduceKind("PREMUL_SUM")


def __getattr__(name: str) -> Any:
    """`torch.distributed.reduce_op.SUM`, the old spelling of `ReduceOp.SUM`."""
    if name.startswith("_") or name not in ReduceOp._NAMES:
        raise AttributeError(f"module 'torch.distributed.reduce_op' has no attribute '{name}'")
    warnings.warn(
        "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
        FutureWarning,
        stacklevel=2,
    )
    return getattr(ReduceOp, name)


_COMBINING: dict[str, Any] = {
    "SUM": np.add, "AVG": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum,
    "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
}  # fmt: skip
_TYPES = frozenset("float32 float64 float16 bfloat16 int8 uint8 int32 int64 bool complex64 complex128".split())


def combining(op: Any) -> Callable[[Any, Any], Any]:
    """The function of two arrays that an operation is; of a mean, the sum."""
    return _COMBINING[op.name]


def scaled(array: Any, factor: float) -> Any:
    """An array times a number, computed in float32 where the elements are shorter."""
    if array.dtype.itemsize == 2:
        return (array.astype(np.float32) * np.float32(factor)).astype(array.dtype)
    return array * array.dtype.type(factor)


def supports_complex(reduceOp: Any) -> bool:
    """Can complex tensors be reduced so?"""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def check_op(op: Any, dtype: Any, api: str) -> None:
    """The errors of tensors that gloo does not combine so: TypeError, ValueError for complex numbers, else RuntimeError."""
    if not isinstance(op, _ReduceKind):
        raise TypeError(f"{api}(): argument 'op' must be a torch.distributed.ReduceOp, not {type(op).__name__}")
    if dtype.is_complex and not supports_complex(op):
        raise ValueError(f"{api} does not support {op} on complex tensors")
    if dtype.name not in _TYPES:
        raise RuntimeError("Invalid scalar type")
    integral = not dtype.is_complex and not dtype.is_floating_point
    if op.name in ("BAND", "BOR", "BXOR") and not integral:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op.name == "AVG" and integral:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_name(dtype)}")
    if op.name == "PREMUL_SUM":
        raise RuntimeError("Unhandled ReduceOp")
