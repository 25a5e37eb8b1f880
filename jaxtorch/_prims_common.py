"""`torch._prims_common`: helpers that libraries borrow."""

from __future__ import annotations

from ._core.tensor import Tensor


def is_contiguous_or_false(a: Tensor) -> bool:
    """Is the tensor contiguous? (In PyTorch False also where a symbolic shape leaves that open.)"""
    return a.is_contiguous()
