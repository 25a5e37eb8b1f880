"""`out=` tensors of operations that read their inputs while they write: PyTorch refuses shared memory there."""

from __future__ import annotations

from typing import Any

from . import strides
from .layouts import offset_of, strides_of
from .tensor import Tensor


def refuse_shared(out: Any, inputs: Any) -> None:
    """Raise PyTorch's error where an `out=` tensor shares memory with an input, of operations that read while they write."""
    for target in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(target, Tensor):
            continue
        if target._layout is not None and not strides.is_dense(target._value.aval.shape, strides_of(target)):
            shape, stride = target._value.aval.shape, strides_of(target)
            if any(n > 1 and s == 0 for n, s in zip(shape, stride, strict=True)):
                raise RuntimeError(
                    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                    "Please clone() the tensor before performing the operation."
                )
        for x in inputs:
            if isinstance(x, Tensor) and x._value.aval.numel and target._value.aval.numel and _same_memory(target, x):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                    "memory location. Please clone() the tensor before performing the operation."
                )


def _same_memory(a: Tensor, b: Tensor) -> bool:
    if a is b:
        return True
    if a._alias is None or b._alias is None or a._alias.storage is not b._alias.storage:
        return False

    def extent(t: Tensor) -> tuple[int, int]:
        last = sum((n - 1) * s for n, s in zip(t._value.aval.shape, strides_of(t), strict=True))
        return offset_of(t), offset_of(t) + last

    (a0, a1), (b0, b1) = extent(a), extent(b)
    return a0 <= b1 and b0 <= a1
