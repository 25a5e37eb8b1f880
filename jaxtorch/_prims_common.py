"""`torch._prims_common`: helpers that libraries borrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._core.layouts import suggests as _suggests
from ._core.strides import contiguous as _contiguous
from ._core.tensor import Tensor
from ._ops import constants as _constants


def is_contiguous_or_false(a: Tensor) -> bool:
    """Is the tensor contiguous? (In PyTorch False also where a symbolic shape leaves that open.)"""
    return a.is_contiguous()


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a fresh tensor; with row_major=False its last two dimensions are stored column by column."""
    size = tuple(shape)
    if row_major or len(size) < 2:
        return _contiguous(size)
    return (*_contiguous(size)[:-2], 1, max(size[-2], 1))


def suggest_memory_format(x: Tensor) -> Any:
    """The memory format that a tensor's strides ask results to have."""
    return getattr(_constants, _suggests(x) or "contiguous_format")
