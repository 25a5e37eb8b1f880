"""`torch.zeros_like` and its like of sparse tensors."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.types import dtypes
from ._create import empty
from ._operations import on, unsupported
from ._tensor import COO, SparseTensor, coo, make


@on("empty_like")
def empty_like(t: SparseTensor, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> SparseTensor:
    """A tensor of the same size and layout; one that has compressed indices keeps them, with zeros as values."""
    if t._kind is COO:
        return zeros_like(t, dtype, device, requires_grad)
    compressed, indices, values = t._parts
    device = t.device if device is None else device
    parts = [x.clone().to(device) for x in (compressed, indices)]
    held = functions["zeros_like"](values, dtype=dtype, device=device)
    made = make(t._kind, (*parts, held), tuple(t.shape), t._sparse, t._merged)
    return made.requires_grad_() if requires_grad else made


@on("ones_like")
def _ones_like(t: SparseTensor, **options: Any) -> SparseTensor:
    return _full_like(t, 1, **options)


@on("full_like")
def _full_like(
    t: SparseTensor, value: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> SparseTensor:
    """Of a compressed tensor, its places with one value; NotImplementedError for another, whose result would be dense."""
    if t._kind is COO:
        unsupported("full_like", (t,))
    made = empty_like(t, dtype, device)
    made._parts[-1].fill_(value)
    return made.requires_grad_() if requires_grad else made


@on("zeros_like")
def zeros_like(t: SparseTensor, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> SparseTensor:
    """A tensor of the same size and layout without values."""
    device = t.device if device is None else device
    dtype = t.dtype if dtype is None else dtype
    if t._kind is COO and t._sparse < t.dim():
        zeros = functions["zeros"]
        values = zeros((0, *t.shape[t._sparse :]), dtype=dtype, device=device)
        return coo(zeros((t._sparse, 0), dtype=dtypes.int64, device=device), values, t.shape, True)
    return empty(tuple(t.shape), t._kind, dtype, device, requires_grad)
