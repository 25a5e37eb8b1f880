"""`make_tensor`: a tensor of random numbers of any type."""

from __future__ import annotations

import math
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes

_INTEGER_BOUNDS = (-9, 10)


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of numbers drawn uniformly from [low, high), by default [-9, 9) or [-9, 10) for integers, [0, 2) for bool.

    noncontiguous: with gaps between the elements in memory. exclude_zero: zeros become the smallest positive number.
    The numbers are not those that PyTorch draws for the same seed.
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    real = dtype.is_floating_point or dtype.is_complex
    least, most = _bounds(dtype, low, high)
    size = (*shape[:-1], shape[-1] * 2) if noncontiguous and shape and math.prod(shape) > 1 else shape
    if dtype.is_complex:
        parts = functions["empty"]((*size, 2), dtype=dtype.to_real()).uniform_(least, most)
        made = functions["view_as_complex"](parts)
    elif real:
        drawn = dtype if dtype is dtypes.float64 else dtypes.float32  # that of shorter types is rounded
        made = functions["empty"](size, dtype=drawn).uniform_(least, most).to(dtype)
    else:
        made = functions["randint"](int(least), int(most), size, dtype=dtype)
    made = made.to(device)
    if size != shape:
        made = made[..., 1::2]
    if exclude_zero:
        tiny = functions["finfo"](dtype).tiny if real else 1
        made.masked_fill_(made == 0, tiny)
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    made.requires_grad = requires_grad
    return made


def _bounds(dtype: dtypes.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    if dtype is dtypes.bool_:
        usual, lowest, highest = (0, 2), 0.0, 2.0
    elif dtype.is_floating_point or dtype.is_complex:
        info = functions["finfo"](dtype)
        usual, lowest, highest = (-9, 9), info.min, info.max
    else:
        info = functions["iinfo"](dtype)
        usual, lowest, highest = (_INTEGER_BOUNDS if dtype.is_signed else (0, 10)), info.min, info.max + 1
    least, most = usual[0] if low is None else low, usual[1] if high is None else high
    if math.isnan(least) or math.isnan(most):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if not least < most:
        raise ValueError(f"`low` must be less than `high`, but got {least} >= {most}")
    least, most = max(least, lowest), min(most, highest)
    if not (dtype.is_floating_point or dtype.is_complex):
        least, most = math.ceil(least), math.ceil(most)
    return least, most
