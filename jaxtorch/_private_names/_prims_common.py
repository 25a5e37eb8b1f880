"""`torch._prims_common`: helpers that libraries borrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.tensor.layouts import suggests as _suggests
from .._core.tensor.strides import contiguous as _contiguous
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes as _dtypes
from .._ops.types import constants as _constants


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


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the front. IndexError out of range; without dimensions 0 and -1 are 0, if `wrap_scalar`."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})")
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """A dimension, or a tuple of them, counted from the front."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, i, wrap_scalar) for i in indices)


def get_computation_dtype(dtype: _dtypes.dtype) -> _dtypes.dtype:
    """The element type in which half precision is computed; any other is its own."""
    wide = {"float16": _dtypes.float32, "bfloat16": _dtypes.float32, "complex32": _dtypes.complex64}
    return wide.get(dtype.name, dtype)
