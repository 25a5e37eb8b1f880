"""The rules of losses (see `aten_rules.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.dispatching import refused
from .._core.tensor import Tensor
from .aten_rules import aten, made_of, rules

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
    if size_average is not None or reduce is not None or weight is not None:
        raise refused("'binary_cross_entropy' with weights, size_average or reduce")
    return aten("binary_cross_entropy")(input, target, *[None, _MEANS[reduction]] * (reduction != "mean"))


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
    if size_average is not None or reduce is not None or weight is not None or pos_weight is not None:
        raise refused("'binary_cross_entropy_with_logits' with weights, size_average or reduce")
    more = [None, None, _MEANS[reduction]] * (reduction != "mean")
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
    if size_average is not None or reduce is not None or input.dim() not in (1, 2, 4):
        raise refused("'nll_loss' with size_average or reduce, or of other than 1, 2 or 4 dimensions")
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
    if label_smoothing or target.dtype.is_floating_point:
        raise refused("'cross_entropy' with label_smoothing, or of probabilities")
    scores = aten("_log_softmax")(input, 0 if input.dim() == 1 else 1, False)
    return _nll_loss(scores, target, weight, size_average, ignore_index, reduce, reduction)
