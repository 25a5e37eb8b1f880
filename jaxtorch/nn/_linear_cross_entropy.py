"""A linear layer and the cross entropy of its result as one loss."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from .._core.tensor.tensor import Tensor, need_tensor
from .._core.types import dtypes
from .._ops.losses.classification import cross_entropy
from .._ops.nn.linear import linear

_ACCUMULATORS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """How PyTorch would compute the loss piece by piece. Accepted and checked, without effect here: XLA plans the memory."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        size, method = self.batch_chunk_size, self.chunking_method
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if method is not None and method != "auto" and not _is_aspect_ratio(method):
            raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        dtype = self.acc_dtype
        if dtype is not None and not any(dtype is d for d in _ACCUMULATORS):
            known = ", ".join(map(str, _ACCUMULATORS))
            shown = repr(dtype) if isinstance(dtype, str) else dtype
            raise ValueError(
                f"acc_dtype must be one of {{None, {known}}}, got {shown}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )


def _is_aspect_ratio(method: Any) -> bool:
    name, colon, number = str(method).partition(":")
    return name == "aspect_ratio" and (not colon or number.replace(".", "", 1).isdigit())


def _check_shapes(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    features = linear_weight.shape[-1]
    if input.shape[-1] != features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {features}, respectively"
        )
    classes, *out_features = linear_weight.shape[:-1]
    if out_features and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *out_features):
        raise RuntimeError(f"expected linear_bias shape {(classes, *out_features)}, got {tuple(linear_bias.shape)}")


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
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    input (N, E) or (E), linear_weight (C, E) or (C, d1, ..., E), linear_bias (C) or (C, d1, ...), target as for cross_entropy.
    Unlike PyTorch's, the loss with `options` can be differentiated again and backward can be repeated.
    """
    _check_shapes(input, linear_weight, linear_bias)
    need_tensor(target, "cross_entropy_loss", "target", 2)
    classes, *out_features, features = linear_weight.shape
    probabilities = target.is_floating_point() and tuple(target.shape) == (*input.shape[:-1], classes, *out_features)
    if probabilities and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    piecewise = (
        options is not None
        and label_smoothing == 0
        and not out_features
        and target.dtype is dtypes.int64
        and reduction in ("mean", "sum", "none")
    )
    if piecewise and not isinstance(options, LinearCrossEntropyOptions):
        raise AttributeError(f"'{type(options).__name__}' object has no attribute '_adjust'")
    if options is not None and not piecewise:
        bias = None if linear_bias is None else tuple(linear_bias.shape)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
            "label_smoothing == 0, target.dtype == int64, out_features == (). Got "
            f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
            f"out_features={tuple(out_features)}, tracing=False, linear_bias.shape={bias}.",
            stacklevel=2,
        )
    flat_bias = None if linear_bias is None else linear_bias.reshape(-1)
    flat_weight, dtype = linear_weight.reshape(math.prod((classes, *out_features)), features), input.dtype
    wide = piecewise and dtype in (dtypes.float16, dtypes.bfloat16)  # PyTorch's pieces are computed in float32
    if wide:
        input, flat_weight = input.float(), flat_weight.float()
        flat_bias = None if flat_bias is None else flat_bias.float()
        weight = None if weight is None else weight.float()
    logits = linear(input, flat_weight, flat_bias)
    if out_features:
        logits = logits.reshape(-1, classes, *out_features)
    ignored = -100 if ignore_index is None else ignore_index
    loss = cross_entropy(logits, target, weight, None, ignored, None, reduction, label_smoothing)
    return loss.to(dtype) if wide else loss
