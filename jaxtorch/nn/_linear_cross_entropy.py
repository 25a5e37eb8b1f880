"""Cross entropy after a linear map, in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .._core.tensor import Tensor
from .._ops.linear import linear
from .._ops.loss import cross_entropy


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch computes `linear_cross_entropy` in chunks. Accepted without effect: XLA plans the memory."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: Any = None


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target, ...)`.

    input: (in) or (N, in). linear_weight: (C, in), or (C, d1, ..., in) for a loss over more dimensions.
    """
    size = input.shape[-1] if input.ndim else None
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    if linear_weight.shape[-1] != size:
        raise RuntimeError(
            f"expected input and linear_weight with the same last dimension, got {size} and {linear_weight.shape[-1]}"
        )
    outs = tuple(linear_weight.shape[:-1])
    if len(outs) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"a loss over several dimensions, with linear_weight {tuple(linear_weight.shape)}, needs input (N, in), got "
            f"{tuple(input.shape)}"
        )
    if ignore_index is not None and target.dtype.is_floating_point:
        raise RuntimeError("ignore_index cannot be given where the target holds probabilities")
    if linear_bias is not None and tuple(linear_bias.shape) not in (outs, outs[:1]):
        raise RuntimeError(f"expected linear_bias with shape {outs}, got {tuple(linear_bias.shape)}")
    logits = linear(input, linear_weight.reshape(-1, size))
    logits = logits.reshape(*input.shape[:-1], *outs)
    if linear_bias is not None:
        logits = logits + linear_bias.reshape(*linear_bias.shape, *(1,) * (len(outs) - linear_bias.ndim))
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
