"""What PyTorch's Python functions look at before their arguments' kinds, in their order.

Each function here stands for the steps of one of PyTorch's that end in an error: it is asked when a call has failed (`_border` in
`_core/dispatch/codegen.py`), with the arguments as they were given, and raises what PyTorch raises first. Where it raises nothing,
the error stays as it is. Several compute the function again from smaller ones, whose errors then come in PyTorch's order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..._core.define.op import functions, registry
from ..._core.define.signature import first_looks
from ..._core.tensor.tensor import Tensor
from ..._core.types.size import need_sizes
from ..losses.classification import legacy_reduction, reduction_of
from ..nn import padding
from ..nn.pooling import avg_pool1d, avg_pool2d, avg_pool3d

_AVERAGES = (avg_pool1d, avg_pool2d, avg_pool3d)


def looks(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register what is looked at first in the operations of these names."""

    def register(fn: Callable[..., None]) -> Callable[..., None]:
        for name in names:
            first_looks[name] = fn
        return fn

    return register


def _reduction(reduction: Any, size_average: Any = None, reduce: Any = None) -> None:
    if size_average is None and reduce is None:
        reduction_of(reduction)
    else:
        legacy_reduction(size_average, reduce, False)


def _together(input: Any, target: Any) -> None:
    """A pair's sizes, and whether they broadcast."""
    if target.size() != input.size():
        functions["broadcast_tensors"](input, target)


def _same_size(weight: Any, input: Any) -> None:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


@looks("mse_loss", "l1_loss")
def _distances(input: Any, target: Any, size_average: Any, reduce: Any, reduction: Any, weight: Any = None) -> None:
    _together(input, target)
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, False)
    if weight is not None:
        _same_size(weight, input)
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    else:
        reduction_of(reduction)


@looks("smooth_l1_loss")
def _smooth(input: Any, target: Any, size_average: Any, reduce: Any, reduction: Any, beta: Any) -> None:
    _together(input, target)
    _reduction(reduction, size_average, reduce)


@looks("huber_loss")
def _huber(input: Any, target: Any, reduction: Any, delta: Any, weight: Any) -> None:
    _distances(input, target, None, None, reduction if weight is None else "none")
    if weight is not None:
        _same_size(weight, input)
        registry["huber_loss"].public(input, target, "none", delta)


@looks("binary_cross_entropy")
def _binary_cross_entropy(input: Any, target: Any, weight: Any, size_average: Any, reduce: Any, reduction: Any) -> None:
    _reduction(reduction, size_average, reduce)
    _ = target.size(), input.size()


@looks("binary_cross_entropy_with_logits")
def _with_logits(
    input: Any, target: Any, weight: Any, size_average: Any, reduce: Any, reduction: Any, pos_weight: Any
) -> None:
    _reduction(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")


@looks("cosine_embedding_loss", "hinge_embedding_loss")
def _by_reduction(*given: Any) -> None:
    _reduction(given[-1], *given[-3:-1])


@looks("soft_margin_loss", "multilabel_margin_loss")
def _of_two(input: Any, target: Any, size_average: Any, reduce: Any, reduction: Any) -> None:
    _reduction(reduction, size_average, reduce)


@looks("nll_loss", "cross_entropy")
def _of_classes(
    input: Any, target: Any, weight: Any, size_average: Any, ignore_index: Any, reduce: Any, reduction: Any, *rest: Any
) -> None:
    _reduction(reduction, size_average, reduce)


@looks("_kl_div")
def _kl_div(input: Any, target: Any, size_average: Any, reduce: Any, reduction: Any, log_target: Any) -> None:
    _reduction("mean" if reduction.__class__ is str and reduction == "batchmean" else reduction, size_average, reduce)


@looks("margin_ranking_loss")
def _ranking(
    input1: Any, input2: Any, target: Any, margin: Any, size_average: Any, reduce: Any, reduction: Any
) -> None:
    _reduction(reduction, size_average, reduce)
    if input1.dim() == input2.dim():
        target.dim()
    else:
        target.size()


@looks("multi_margin_loss")
def _margins(
    input: Any, target: Any, p: Any, margin: Any, weight: Any, size_average: Any, reduce: Any, reduction: Any
) -> None:
    _reduction(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")


@looks("multilabel_soft_margin_loss")
def _multilabel_soft(input: Any, target: Any, weight: Any, size_average: Any, reduce: Any, reduction: Any) -> None:
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, False)
    scores = registry["logsigmoid"].public
    loss = -(target * scores(input) + (1 - target) * scores(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(dim=input.dim() - 1) / input.size(input.dim() - 1)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")


@looks("poisson_nll_loss")
def _poisson(
    input: Any, target: Any, log_input: Any, full: Any, size_average: Any, eps: Any, reduce: Any, reduction: Any
) -> None:
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, False)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")


@looks("_gaussian_nll")
def _variances(input: Any, target: Any, var: Any, *rest: Any) -> None:
    if (var.detach() < 0).any():
        raise ValueError("var has negative entry/entries")


@looks("triplet_margin_loss")
def _triplets(
    anchor: Any, positive: Any, negative: Any, margin: Any, p: Any, eps: Any, swap: Any,
    size_average: Any, reduce: Any, reduction: Any,
) -> None:  # fmt: skip
    _reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    tensors = [x for x in (anchor, positive, negative) if isinstance(x, Tensor)]
    if len(tensors) == 3 and len({x.dim() for x in tensors}) == 1:
        for other in (positive, negative):
            _ = anchor - other


@looks("normalize")
def _normalized(input: Any, p: Any, dim: Any, eps: Any) -> None:
    input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


@looks("glu")
def _halved(input: Any, dim: Any) -> None:
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")


@looks("tanhshrink")
def _shrunk(input: Any) -> None:
    _ = input - input.tanh()


@looks("softsign")
def _soft_sign(input: Any) -> None:
    input.abs()


@looks("local_response_norm")
def _responses(input: Any, size: Any, alpha: Any, beta: Any, k: Any) -> None:
    if input.dim() < 3:
        gap = " " * 25
        raise ValueError(f"Expected 3D or higher dimensionality {gap}input (got {input.dim()} dimensions)")
    if isinstance(size, int) and size < 1:
        return
    square = input.mul(input).unsqueeze(1)
    sides = (size // 2, (size - 1) // 2)
    pad = padding.pad
    if input.dim() == 3:
        mean = avg_pool2d(pad(square, (0, 0, *sides)), (size, 1), stride=1).squeeze(1)
    else:
        n, c, *rest = input.size()
        flat = pad(square.view(n, 1, c, rest[0], -1), (0, 0, 0, 0, *sides))
        mean = avg_pool3d(flat, (size, 1, 1), stride=1).squeeze(1).view(input.size())
    _ = input / mean.mul(alpha).add(k).pow(beta)


@looks("cross_map_lrn")
def _responses_of_old(input: Any, size: Any, alpha: Any, beta: Any, k: Any) -> None:
    if input.dim() != 4:
        raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
    square = input.new_empty(input.size()).copy_(input).pow(2)
    int((size - 1) / 2 + 1)
    square.mul(alpha / size).add(k).pow(-beta)


def _powers(n: int) -> Callable[..., None]:
    def look(input: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: Any) -> None:
        if n > 1:
            sides = tuple(kernel_size) if isinstance(kernel_size, Iterable) else (kernel_size,) * n
            if len(sides) != n:
                raise ValueError(f"expected {n} values to unpack of kernel_size, got {len(sides)}")
        if isinstance(norm_type, float) and math.isinf(norm_type):
            input.abs()
            return
        given = (kernel_size,) if stride is None else (kernel_size, stride)
        out = _AVERAGES[n - 1](input.pow(norm_type), *given, padding=0, ceil_mode=ceil_mode)
        out = out.sign() * out.abs().relu()
        size = kernel_size if n == 1 else math.prod(sides)
        out.mul(size).pow(1.0 / norm_type)

    return look


for _n in (1, 2, 3):
    looks(f"lp_pool{_n}d")(_powers(_n))


def _adaptive(name: str) -> Callable[..., None]:
    def look(input: Any, output_size: Any) -> None:
        input.size()
        need_sizes(name, "output_size", output_size, 2, alone=True)

    return look


for _name in ("adaptive_avg_pool2d", "adaptive_avg_pool3d"):
    looks(_name)(_adaptive(_name))
for _name in ("adaptive_max_pool2d", "adaptive_max_pool3d"):
    looks(_name + "_with_indices")(_adaptive(_name))


@looks("max_pool3d_with_indices")
def _whole_windows(input: Any, *rest: Any) -> None:
    if not isinstance(input, Tensor):
        input.is_cuda  # noqa: B018  (its AttributeError)


@looks("group_norm")
def _grouped(input: Any, *rest: Any) -> None:
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
