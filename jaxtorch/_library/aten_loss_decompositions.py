"""The decompositions of losses (see `aten_decompositions.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.dispatch.torch_dispatch import refused
from .._core.tensor.strides import broadcast_shapes
from .._core.tensor.tensor import Tensor
from .aten_decompositions import aten, made_of, of_operation, rules
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


@of_operation("binary_cross_entropy")
def _binary_cross_entropy(a: Any) -> Tensor:
    if a.size_average is not None or a.reduce is not None:
        raise refused("'binary_cross_entropy' with size_average or reduce")
    if a.weight is not None:
        a.weight = show("expand", a.weight, list(broadcast_shapes(a.target.shape, a.weight.shape)))
    rest = [a.weight, _MEANS[a.reduction]] if a.reduction != "mean" else [a.weight] if a.weight is not None else []
    return aten("binary_cross_entropy")(a.input, a.target, *rest)


@of_operation("binary_cross_entropy_with_logits")
def _binary_cross_entropy_with_logits(a: Any) -> Tensor:
    if a.size_average is not None or a.reduce is not None or a.weight is not None:
        raise refused("'binary_cross_entropy_with_logits' with weight, size_average or reduce")
    more = [None, a.pos_weight, _MEANS[a.reduction]]
    while more and more[-1] in ([1] if len(more) == 3 else [None]):
        more.pop()
    return aten("binary_cross_entropy_with_logits")(a.input, a.target, *more)


@of_operation("l1_loss")
def _l1_loss(a: Any) -> Tensor:
    if a.size_average is not None or a.reduce is not None or a.weight is not None:
        raise refused("'l1_loss' with weights, size_average or reduce")
    loss = (a.input - a.target).abs()
    return loss.mean() if a.reduction == "mean" else loss.sum() if a.reduction == "sum" else loss


@of_operation("nll_loss")
def _nll_loss(a: Any) -> Tensor:
    if a.size_average is not None or a.reduce is not None:
        raise refused("'nll_loss' with size_average or reduce")
    if a.input.dim() == 3 or a.input.dim() > 4:
        flat = show("view", a.input.contiguous(), [*a.input.shape[:2], 1, -1])
        kinds = show("view", a.target.contiguous(), [a.target.shape[0], 1, -1])
        found = aten("nll_loss2d_forward")(flat, kinds, a.weight, _MEANS[a.reduction], a.ignore_index)[0]
        return found if a.reduction != "none" else show("view", found, list(a.target.shape))
    name = "nll_loss2d_forward" if a.input.dim() == 4 else "nll_loss_forward"
    return aten(name)(a.input, a.target, a.weight, _MEANS[a.reduction], a.ignore_index)[0]


@of_operation("cross_entropy")
def _cross_entropy(a: Any) -> Tensor:
    if (a.label_smoothing or a.target.dtype.is_floating_point) and a.weight is not None:
        raise refused("'cross_entropy' with weights, and label_smoothing or probabilities")
    dim = 0 if a.input.dim() == 1 else 1
    scores = aten("_log_softmax")(a.input, dim, False)
    if a.target.dtype.is_floating_point:
        if a.label_smoothing:
            raise refused("'cross_entropy' of probabilities with label_smoothing")
        product = show("mul", scores, a.target)
        if a.reduction == "none":
            return -show("sum", product, [dim])
        total = -show("sum", product)
        return total if a.reduction == "sum" else aten("div.Scalar")(total, a.input.numel() // a.input.shape[dim])
    loss = _nll_loss(scores, a.target, a.weight, a.size_average, a.ignore_index, a.reduce, a.reduction)
    if not a.label_smoothing:
        return loss
    smooth, left_out = -show("sum", scores, [dim]), show("eq", a.target, a.ignore_index)
    smooth = show("masked_fill_", smooth, left_out, 0)
    if a.reduction == "mean":
        count = show("sum", show("bitwise_not", left_out))
        smooth = show("div", show("sum", smooth), count)
    elif a.reduction == "sum":
        smooth = show("sum", smooth)
    second = aten("mul.Scalar")(smooth, a.label_smoothing / a.input.shape[dim])
    return show("add", aten("mul.Scalar")(loss, 1 - a.label_smoothing), second)


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


@of_operation("margin_ranking_loss")
def _margin_ranking_loss(a: Any) -> Tensor:
    if a.size_average is not None or a.reduce is not None or not a.input1.dim() == a.input2.dim() == a.target.dim():
        raise refused("'margin_ranking_loss' with size_average or reduce, or of several dimensions")
    difference = show("sub", a.input1, a.input2)
    loss = aten("add.Scalar")(show("mul", -a.target, difference), a.margin)
    return _of_all(rules["clamp_min_"](loss, 0), a.reduction)


@of_operation("poisson_nll_loss")
def _poisson_nll_loss(a: Any) -> Tensor:
    if a.size_average is not None or a.reduce is not None or a.full or not a.log_input:
        raise refused("'poisson_nll_loss' with size_average, reduce or full, or without log_input")
    product = show("mul", a.target, a.input)
    return _of_all(show("sub", show("exp", a.input), product), a.reduction)
