"""Causal masks for sequences of different lengths."""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

from ..._core.define.op import functions
from ..._core.tensor.tensor import Tensor
from ..._core.types.dtypes import bool_
from ..parameter import Parameter, _as_class

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask begins: in the upper left corner, or so that it ends in the lower right one."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A bool mask (L, S), True where attention is allowed."""

    __slots__ = ()
    __torch_function__ = Parameter.__torch_function__

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be CausalVariant, got {type(variant)}")
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )
        offset = 0 if variant == CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        ones = functions["ones"](seq_len_q, seq_len_kv, dtype=bool_)
        out = _as_class(functions["tril"](ones, diagonal=offset), cls)
        out.variant, out.seq_len_q, out.seq_len_kv = variant, seq_len_q, seq_len_kv
        return out

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        pass

    def __repr__(self, **kwargs: Any) -> str:
        return Tensor.__repr__(_as_class(self, Tensor))


def causal_upper_left(*size: int) -> CausalBias:
    """A mask (L, S): query i attends to keys 0 ... i."""
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, size[0], size[1])


def causal_lower_right(*size: int) -> CausalBias:
    """A mask (L, S): query i attends to keys 0 ... i + S - L."""
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, size[0], size[1])
