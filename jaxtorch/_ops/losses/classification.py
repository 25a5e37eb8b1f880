"""Losses of classification: cross entropy and its relatives, likelihoods."""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.missing_dtypes import is_rare
from ..._core.define.op import Array, Arrays, Operand, inner_op
from ..._core.record.value_checks import Within, first, flag
from ..._core.tensor.strides import wrap_dim
from ..._core.types import dtypes
from ..common.exact_division import average
from ..common.rules import (
    check_mean,
    check_negation,
    check_subtraction,
    default_float,
    derivatives,
    in_single,
    kind,
    refuse,
    scalar_name,
    to_float,
    unsupported,
)
from ..elementwise.unary import log1p_of
from ..nn.activation import log_softmax_of
from ..nn.normalization import broadcast_shape

OFFSET = 2**40  # added to an offending number in a flag, so that 0 stays free for 'all is well'


def reduction_of(reduction: str, size_average: Any = None, reduce: Any = None) -> str:
    """The reduction, from the arguments of today or from the two old flags; ValueError for an unknown one."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def legacy_reduction(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
    """What `size_average` and `reduce` mean, with PyTorch's warning."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    found = "none" if not reduce else "mean" if size_average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.",
            stacklevel=3,
        )
    return found


def reduced(x: Any, reduction: str) -> Any:
    """Sum or mean of a loss."""
    if reduction == "none":
        return x
    if reduction == "sum":
        return jnp.sum(x, dtype=jnp.int64 if kind(x) in ("int", "bool") else None)
    check_mean(x)
    return average(x)


def named(plain: str, none: str, total: str = "SumBackward0", mean: str = "MeanBackward0") -> Any:
    """The grad_fn name of a composite loss, by its reduction."""

    def name(operands: Any, statics: Any) -> str:
        return {"none": none, "sum": total, "mean": mean}.get(_reduction_in(statics), plain)

    return name


def _reduction_in(statics: Any) -> str:
    return next((s for s in statics if isinstance(s, str)), "mean")


def _nll_name(operands: Any, statics: Any) -> str:
    x, target = operands[0], operands[1]
    reduction = _reduction_in(statics)
    if target.dtype.is_floating_point:
        return "DivBackward1" if reduction == "mean" else "NegBackward0"
    if len(statics) > 4 and statics[4]:
        return "AddBackward0"
    if x.ndim in (3, 5) or x.ndim > 5:
        return "ViewBackward0" if reduction == "none" else "NllLoss2DBackward0"
    return "NllLoss2DBackward0" if x.ndim == 4 else "NllLossBackward0"


def _check_class_type(target: Any) -> None:
    if target.dtype not in (jnp.int64, jnp.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_name(target)}")


def _check_target(x: Any, target: Any, weight: Any) -> None:
    """Raise PyTorch's errors for class numbers that do not fit the scores."""
    if x.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {x.ndim})")
    if x.ndim == 1:
        if target.ndim == 1 and target.shape[0] != 1:
            _check_class_type(target)
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    elif target.ndim == 0 or x.shape[0] != target.shape[0]:
        size = target.shape[0] if target.ndim else 1
        raise ValueError(f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({size}).")
    if x.ndim in (1, 2) and target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    expected = [x.shape[0], *x.shape[2:]]
    if x.ndim == 4 and list(target.shape) != expected:
        if target.ndim != 3:
            raise RuntimeError(
                "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
                + str(target.ndim)
            )
        raise RuntimeError(f"size mismatch (got input: {list(x.shape)} , target: {list(target.shape)}")
    if x.ndim > 2 and list(target.shape) != expected:
        raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    if target.dtype not in (jnp.int64, jnp.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_name(target)}")
    classes = x.shape[1] if x.ndim > 1 else x.shape[0]
    if weight is not None and (weight.size != classes or (x.ndim < 3 and weight.ndim != 1)):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got "
            "weight tensor of shape: "
            f"{list(weight.shape)}"
        )
    weight = None if weight is None else weight.reshape(-1)
    refuse("nll_loss_out_frame", x, "bool", "int", "complex")
    if weight is not None and weight.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {scalar_name(x)} but found {scalar_name(weight)}")


def _picked(scores: Any, target: Any, axis: int, ignore_index: int) -> tuple[Any, Any]:
    """(score of the target class, is it counted); class numbers out of range are flagged.

    The score is picked by comparing, not by a gather: forward and backward stay one fused loop without a
    scatter.
    """
    classes = scores.shape[axis]
    counted = target != ignore_index
    bad = counted & ((target < 0) | (target >= classes))
    if target.size:
        found, wrong = first(bad, target)
        flag(
            jnp.where(found, wrong + OFFSET, 0),
            lambda code: IndexError(f"Target {code - OFFSET} is out of bounds."),
            Within("target", 0, classes, ignore_index),
        )
    hit = jnp.expand_dims(jnp.where(counted, target, -1), axis) == np.arange(classes).reshape(
        (-1, *(1,) * (scores.ndim - 1 - axis))
    )
    return jnp.sum(jnp.where(hit, scores, 0), axis), (hit, counted)


def _nll(scores: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    axis = 1 if scores.ndim > 1 else 0
    target = target.astype(jnp.int64)
    if scores.ndim == 1 and target.ndim == 1:
        target = target[0]
        out = _nll(scores, target, weight, ignore_index, reduction)
        return out
    picked, (hit, counted) = _picked(scores, target, axis, ignore_index)
    if weight is None:
        each = counted.astype(scores.dtype)
        loss = -picked
    else:
        shape = (-1, *(1,) * (scores.ndim - 1 - axis))
        each = jnp.sum(jnp.where(hit, weight.reshape(shape), 0), axis).astype(scores.dtype)
        loss = -picked * each
    if reduction == "mean":
        return jnp.sum(loss) / jnp.sum(each)
    return loss if reduction == "none" else jnp.sum(loss)


@inner_op(grad=_nll_name, saved=["input"])
def nll_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
):
    """Minus the log-probability of the target class: (N, C, *) log-probabilities, (N, *) class numbers."""
    reduction = reduction_of(reduction, size_average, reduce)
    _check_target(input, target, weight)
    if kind(input) != "float":
        unsupported("nll_loss2d_forward_out_frame" if input.ndim > 2 else "nll_loss_out_frame", input)
    fn = lambda x: _nll(x, target, weight, ignore_index, reduction)  # noqa: E731
    return in_single(fn)(input)


@inner_op(grad=_nll_name, unsaved=["input"])
def cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
):
    """Cross entropy between softmax(input), classes in dimension 1, and class numbers (N, *) or
    probabilities (N, C, *).
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input.shape == target.shape:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing if label_smoothing > 0.0 else 0.0)
    axis = 0 if input.ndim == 1 else 1
    wrap_dim(axis, input.ndim, scalar=False)
    if input.size and (kind(input) != "float" or is_rare(dtypes.from_numpy(input.dtype))):
        unsupported(f"log_softmax{'_lastdim' if axis == input.ndim - 1 else ''}_kernel_impl", input)
    _check_target(input, target, weight)
    if kind(input) != "float":
        unsupported("nll_loss2d_forward_out_frame" if input.ndim > 2 else "nll_loss_out_frame", input)

    def loss(x: Any) -> Any:
        scores = log_softmax_of(x, axis)
        if not label_smoothing > 0.0:
            return _nll(scores, target, weight, ignore_index, reduction)
        return _smoothed(scores, target, weight, ignore_index, reduction, label_smoothing, axis)

    return in_single(loss)(input)


def _each(smoothing: float, classes: int) -> float:
    """What smoothing gives each class."""
    return smoothing / classes if classes else math.inf


def _smoothed(
    scores: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float, axis: int
) -> Any:
    classes = scores.shape[axis]
    shape = (-1, *(1,) * (scores.ndim - 1 - axis))
    counted = (target.reshape(()) if axis == 0 else target) != ignore_index
    weighted = scores if weight is None else scores * weight.reshape(shape)
    spread = jnp.where(counted, -jnp.sum(weighted, axis), 0)
    own = _nll(scores, target, weight, ignore_index, reduction)
    if reduction == "none":
        total = spread
    elif reduction == "sum":
        total = jnp.sum(spread)
    elif weight is None:
        total = jnp.sum(spread) / jnp.sum(counted)
    else:
        _, (hit, _) = _picked(jnp.zeros_like(scores), (target.reshape(()) if axis == 0 else target), axis, ignore_index)
        total = jnp.sum(spread) / jnp.sum(jnp.where(hit, weight.reshape(shape), 0))
    return ((1 - smoothing) * own + _each(smoothing, classes) * total).astype(scores.dtype)


def _soft_cross_entropy(x: Any, target: Any, weight: Any, reduction: str, smoothing: float) -> Any:
    if kind(target) != "float":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {scalar_name(target)}"
        )
    axis = 1 if x.ndim > 1 else 0
    if kind(x) != "float":
        unsupported(f"log_softmax{'_lastdim' if axis == x.ndim - 1 else ''}_kernel_impl", x)
    classes = x.shape[axis]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no "
            "classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )

    def loss(v: Any, t: Any) -> Any:
        scores = log_softmax_of(v, axis)
        if smoothing:
            t = t * (1 - smoothing) + _each(smoothing, classes)
        product = scores * t
        if weight is not None:
            product = product * weight.reshape(-1, *(1,) * (v.ndim - 1 - axis))
        total = -jnp.sum(product, axis)
        if reduction == "mean":
            return jnp.sum(total) / (v.size // max(classes, 1))
        return reduced(total, reduction)

    return loss(*[a.astype(jnp.promote_types(a.dtype, np.float32)) for a in (x, target)]).astype(_common(x, target))


@inner_op(grad="AddBackward0")
def adaptive_log_probability(head: Array, target: Array, clusters: Arrays, cutoffs: Any):
    """The log-probability of each target: head (N, shortlist + clusters), target (N), and the scores (N, size) of each cluster.

    cutoffs: where the clusters begin, then the number of classes.
    """
    if target.dtype not in (jnp.int32, jnp.int64):
        refuse("ge_cpu", target, "complex")
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    target = target.astype(jnp.int64)
    if target.size:
        low, high, last = jnp.min(target), jnp.max(target), cutoffs[-1] - 1
        bad = (low < 0) | (high > last)
        flag(
            jnp.where(bad, (low + 2**30) * 2**31 + high + 2**30, 0),
            lambda code: RuntimeError(
                f"Target values should be in [0, {last}], but values in range [{code // 2**31 - 2**30}, "
                f"{code % 2**31 - 2**30}] were found. "
            ),
        )

    def gathered(scores: Any, index: Any) -> Any:
        index = jnp.clip(index, 0, scores.shape[1] - 1)
        return jnp.take_along_axis(log_softmax_of(scores, 1), index[:, None], 1)[:, 0]

    place, local = target, jnp.zeros(target.shape, head.dtype)
    for k, scores in enumerate(clusters):
        inside = (target >= cutoffs[k]) & (target < cutoffs[k + 1])
        place = jnp.where(inside, cutoffs[0] + k, place)
        local = local + jnp.where(inside, gathered(scores, target - cutoffs[k]), 0)
    return gathered(head, place) + local


# -- binary ------------------------------------------------------------------------------------------------


@derivatives(
    lambda t, ans, x, y: t * (x - y) / jnp.maximum((1 - x) * x, np.asarray(1e-12, x.dtype)),
    lambda t, ans, x, y: t * (_log_limited(1 - x) - _log_limited(x)),
)
def _binary_entropy(x: Any, y: Any) -> Any:
    return (y - 1) * _log_limited(1 - x) - y * _log_limited(x)


def _log_limited(x: Any) -> Any:
    return jnp.maximum(jnp.log(x), -100)


@inner_op(saved=["target"])
def binary_cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
):
    """Cross entropy between probabilities; logarithms are limited to -100."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size (torch.Size({list(target.shape)})) that is different to the input size "
            f"(torch.Size({list(input.shape)})) is deprecated. Please ensure they have the same size."
        )
    if input.dtype != target.dtype:
        raise RuntimeError(f"Found dtype {scalar_name(target)} but expected {scalar_name(input)}")
    if kind(input) != "float":
        unsupported("binary_cross_entropy", input)
    if weight is not None:
        _check_factor(input, weight)
    if input.size:
        for name, x in (("input", input), ("target", target)):
            _between_0_and_1(name, x)
    loss = in_single(_binary_entropy)(input, target)
    if weight is not None:
        loss = loss * jnp.broadcast_to(weight, broadcast_shape(weight.shape, target.shape))
    return reduced(loss, reduction).astype(input.dtype)


def _check_factor(x: Any, weight: Any, shaped: bool = True) -> None:
    """A weight is multiplied into the loss in place."""
    if jnp.iscomplexobj(weight):
        raise RuntimeError(
            f"result type {scalar_name(weight)} can't be cast to the desired output type {scalar_name(x)}"
        )
    shape = broadcast_shape(weight.shape, x.shape)
    if shaped and shape != x.shape:
        raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(shape)}")


def _between_0_and_1(name: str, x: Any) -> None:
    bad = jnp.any(~((x >= 0) & (x <= 1)))
    flag(bad.astype(jnp.int64), lambda code: RuntimeError(f"all elements of {name} should be between 0 and 1"))


@inner_op(saved=["target"])
def binary_cross_entropy_with_logits(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Array | None = None,
):
    """`binary_cross_entropy` of sigmoid(input), computed stably; `pos_weight` multiplies the positive
    class's part.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Target size (torch.Size({list(target.shape)})) must be the same as input size "
            f"(torch.Size({list(input.shape)}))"
        )
    if pos_weight is not None:
        broadcast_shape(pos_weight.shape, target.shape)
    if weight is not None:
        _check_factor(input, weight, False)
    dtype = _common(input, target)
    refuse("log_sigmoid_cpu", input, "int", "bool", "complex")
    check_subtraction(target, target)
    fits(dtype, target)

    def loss(x: Any, y: Any, w: Any, positive: Any) -> Any:
        softplus = jnp.logaddexp(-x, 0)
        out = (1 - y) * x + (softplus if positive is None else (1 + (positive - 1) * y) * softplus)
        return out if w is None else out * w

    given = (input.astype(dtype), target.astype(dtype), weight, pos_weight)
    wide = [a if a is None else a.astype(jnp.promote_types(a.dtype, np.float32)) for a in given]
    return reduced(loss(*wide).astype(target.dtype), reduction)


def fits(result: Any, x: Any) -> None:
    """RuntimeError where a result of this type does not fit the operand in whose memory PyTorch computes."""
    if kind(x) in ("int", "bool"):
        name = dtypes.scalar_name(dtypes.from_numpy(np.dtype(result)))
        raise RuntimeError(f"result type {name} can't be cast to the desired output type {scalar_name(x)}")


def _common(*xs: Any) -> Any:
    found = dtypes.from_numpy(xs[0].dtype)
    for x in xs[1:]:
        found = dtypes.promote(found, dtypes.from_numpy(x.dtype))
    return found.np


@inner_op(grad="SoftMarginLossBackward0", unsaved=["result"])
def soft_margin_loss(
    input: Array, target: Array, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
):
    """log(1 + exp(-target * input)) for targets 1 and -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if is_rare(dtypes.from_numpy(input.dtype)):
        unsupported("neg_cpu", input)
    shape = broadcast_shape(input.shape, target.shape)
    if shape != input.shape:
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    check_negation(input)
    fits(default_float(), input)
    if kind(target) == "complex" and kind(input) == "float":
        raise RuntimeError(
            f"result type {scalar_name(target)} can't be cast to the desired output type {scalar_name(input)}"
        )
    target, found = target.astype(_common(input, target)), to_float(input).dtype
    return reduced(log1p_of(jnp.exp(-input * target)).astype(found), reduction)  # overflows as PyTorch does


def _as_factor(x: Any, of: Any) -> Any:
    """A number in the type of the tensor that it meets."""
    return x.astype(of.dtype) if x is not None and not x.ndim and of.ndim and kind(x) != "complex" else x


def _multilabel_soft_name(operands: Any, statics: Any) -> str:
    return {"none": "DivBackward0", "sum": "SumBackward0"}.get(_reduction_in(statics), "MeanBackward0")


@inner_op(grad=_multilabel_soft_name)
def multilabel_soft_margin_loss(
    input: Array,
    target: Operand,
    weight: Operand | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
):
    """The mean over the classes (last dimension) of a binary cross entropy each, from scores."""
    reduction = reduction_of(reduction, size_average, reduce)
    refuse("log_sigmoid_cpu", input, "int", "bool", "complex")
    check_subtraction(input, target)
    if not input.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")

    def formula(x: Any, y: Any) -> Any:
        loss = y * jnp.logaddexp(-x, 0) + (1 - y) * jnp.logaddexp(x, 0)
        if weight is not None:
            loss = loss * weight
        return reduced(jnp.sum(loss, input.ndim - 1) / input.shape[-1], reduction)

    target, weight = _as_factor(target, input), _as_factor(weight, input)
    found = _common(input, target, *([] if weight is None else [weight]))
    return in_single(formula)(input.astype(found), target).astype(found)
