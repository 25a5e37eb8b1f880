"""`torch._higher_order_ops.out_dtype`."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions as _functions
from .._core.tensor.tensor import Tensor
from .._core.types.dtypes import dtype as _dtype
from .._library.operators import OfEngine

__all__ = ["out_dtype"]

_ALLOWED = (
    "linear.default mm.default conv2d.default convolution.default mul.Tensor mul.Scalar div.Tensor div.Scalar".split()
)


def out_dtype(op: Any, output_dtype: _dtype, *args: Any) -> Tensor:
    """An operation of `torch.ops.aten` whose result has `output_dtype`, computed at least that wide."""
    if not isinstance(op, OfEngine) or not op._overloadname:
        raise ValueError("out_dtype's first argument must be an OpOverload")
    if op.__name__ not in _ALLOWED:
        raise ValueError(f"out_dtype only allows the following operators: {_ALLOWED}")
    wide = output_dtype
    for arg in args:
        if isinstance(arg, Tensor):
            wide = _functions["promote_types"](wide, arg.dtype)
    return op(*[a.to(wide) if isinstance(a, Tensor) else a for a in args]).to(output_dtype)
