"""The decompositions of losses (see `aten_decompositions.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.dispatch.torch_dispatch import refused
from .._core.tensor.strides import broadcast_shapes
from .._core.tensor.tensor import Tensor
from .aten_decompositions import aten, made_of, rules
from .aten_overloads import show

_MEANS = {"none": 0, "mean": 1, "sum": 2}

# -- losses


def _reduced(name: str, *names: str) -> Callable[..., Any]:
    """A loss of two tensors that is one operation; `names` are its further arguments, with defaults after '='."""

    def rule(
        input: Tensor,
        target: Tensor,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        **more: Any,
    ) -> Tensor:
        if size_average is not None or reduce is not None or more.get("weight") is not None:
            raise refused(f"'{name}' with weights, size_average or reduce")
        rest = [_MEANS[reduction], *more.values()]
        while rest and rest[-1] == ([1] + [1.0] * len(more))[len(rest) - 1]:
            rest.pop()
        return aten(name)(input, target, *rest)

    return rule


rules["mse_loss"] = _reduced("mse_loss")


def _robust(name: str, threshold: str) -> Callable[..., Any]:
    def rule(
        input: Tensor,
        target: Tensor,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        **more: Any,
    ) -> Tensor:
        bound = more.pop(threshold, 1.0)
        if size_average is not None or reduce is not None or any(x is not None for x in more.values()):
            raise refused(f"'{name}' with weights, size_average or reduce")
        rest = [_MEANS[reduction], bound]
        return aten(name)(input, target, *(rest if bound != 1.0 else rest[:1] if rest[0] != 1 else ()))

    return rule


rules["smooth_l1_loss"], rules["huber_loss"] = _robust("smooth_l1_loss", "beta"), _robust("huber_loss", "delta")


@made_of("binary_cross_entropy")
def _binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    if size_average is not None or reduce is not None:
        raise refused("'binary_cross_entropy' with size_average or reduce")
    if weight is not None:
        weight = show("expand", weight, list(broadcast_shapes(target.shape, weight.shape)))
    rest = [weight, _MEANS[reduction]] if reduction != "mean" else [weight] if weight is not None else []
    return aten("binary_cross_entropy")(input, target, *rest)


@made_of("binary_cross_entropy_with_logits")
def _binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Tensor:
    if size_average is not None or reduce is not None or weight is not None:
        raise refused("'binary_cross_entropy_with_logits' with weight, size_average or reduce")
    more = [None, pos_weight, _MEANS[reduction]]
    while more and more[-1] in ([1] if len(more) == 3 else [None]):
        more.pop()
    return aten("binary_cross_entropy_with_logits")(input, target, *more)


@made_of("l1_loss")
def _l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Tensor:
    if size_average is not None or reduce is not None or weight is not None:
        raise refused("'l1_loss' with weights, size_average or reduce")
    loss = (input - target).abs()
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


@made_of("nll_loss")
def _nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    if size_average is not None or reduce is not None:
        raise refused("'nll_loss' with size_average or reduce")
    if input.dim() == 3 or input.dim() > 4:
        flat = show("view", input.contiguous(), [*input.shape[:2], 1, -1])
        kinds = show("view", target.contiguous(), [target.shape[0], 1, -1])
        found = aten("nll_loss2d_forward")(flat, kinds, weight, _MEANS[reduction], ignore_index)[0]
        return found if reduction != "none" else show("view", found, list(target.shape))
    name = "nll_loss2d_forward" if input.dim() == 4 else "nll_loss_forward"
    return aten(name)(input, target, weight, _MEANS[reduction], ignore_index)[0]


@made_of("cross_entropy")
def _cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    if (label_smoothing or target.dtype.is_floating_point) and weight is not None:
        raise refused("'cross_entropy' with weights, and label_smoothing or probabilities")
    dim = 0 if input.dim() == 1 else 1
    scores = aten("_log_softmax")(input, dim, False)
    if target.dtype.is_floating_point:
        if label_smoothing:
            raise refused("'cross_entropy' of probabilities with label_smoothing")
        product = show("mul", scores, target)
        if reduction == "none":
            return -show("sum", product, [dim])
        total = -show("sum", product)
        return total if reduction == "sum" else aten("div.Scalar")(total, input.numel() // input.shape[dim])
    loss = _nll_loss(scores, target, weight, size_average, ignore_index, reduce, reduction)
    if not label_smoothing:
        return loss
    smooth, left_out = -show("sum", scores, [dim]), show("eq", target, ignore_index)
    smooth = show("masked_fill_", smooth, left_out, 0)
    if reduction == "mean":
        count = show("sum", show("bitwise_not", left_out))
        smooth = show("div", show("sum", smooth), count)
    elif reduction == "sum":
        smooth = show("sum", smooth)
    second = aten("mul.Scalar")(smooth, label_smoothing / input.shape[dim])
    return show("add", aten("mul.Scalar")(loss, 1 - label_smoothing), second)


def _of_all(loss: Tensor, reduction: str) -> Tensor:
    return show("mean", loss) if reduction == "mean" else show("sum", loss) if reduction == "sum" else loss


@made_of("_kl_div")
def _kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    if size_average is not None or reduce is not None or target.requires_grad:
        raise refused("'kl_div' with size_average or reduce, or by its target")
    if log_target:
        difference = show("sub", target, input)
        loss = show("mul", show("exp", target), difference)
    else:
        product = show("mul", target, input)
        loss = show("sub", show("xlogy", target, target), product)
    if reduction == "batchmean" and loss.dim():
        return show("div", show("sum", loss), loss.shape[0])
    return _of_all(loss, reduction)


@made_of("margin_ranking_loss")
def _margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    if size_average is not None or reduce is not None or not input1.dim() == input2.dim() == target.dim():
        raise refused("'margin_ranking_loss' with size_average or reduce, or of several dimensions")
    difference = show("sub", input1, input2)
    loss = aten("add.Scalar")(show("mul", -target, difference), margin)
    return _of_all(rules["clamp_min_"](loss, 0), reduction)


@made_of("poisson_nll_loss")
def _poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    if size_average is not None or reduce is not None or full or not log_input:
        raise refused("'poisson_nll_loss' with size_average, reduce or full, or without log_input")
    product = show("mul", target, input)
    return _of_all(show("sub", show("exp", input), product), reduction)
