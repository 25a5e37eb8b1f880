"""Sparse gradients of embeddings, and the steps that optimizers take with them."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from ..autograd.function import Function
from ._convert import index_tensor
from ._tensor import coo, host


class Embedding(Function):
    """Rows of a weight, whose gradient holds the rows that were looked up."""

    _everywhere = True

    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
        """indices (*), weight (n, dim) -> (*, dim)."""
        ctx.save_for_backward(indices)
        ctx.facts = tuple(weight.shape), padding_idx, scale_grad_by_freq
        return functions["embedding"](weight, indices, padding_idx, scale_grad_by_freq)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        """The sparse gradient of the weight: one row for each index that is not padding, not merged.

        Under `create_graph` its values have a history.
        """
        (indices,) = ctx.saved_tensors
        size, padding, scale = ctx.facts
        if scale:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        index = indices.reshape(-1) if size[1] else indices.new_empty(0)  # rows without elements are none
        rows = grad_outputs[0].reshape(index.shape[0], size[1])
        if padding >= 0:
            kept = index_tensor((host(index) != padding).nonzero()[0], index)
            rows, index = rows.index_select(0, kept), index.index_select(0, kept)
        return coo(index.long()[None], rows, size), None, None, None


def embedding(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """`torch.embedding(..., sparse=True)`."""
    return Embedding.apply(weight, indices, padding_idx, scale_grad_by_freq)
