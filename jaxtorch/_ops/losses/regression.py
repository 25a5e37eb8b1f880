"""Losses of regression, ranking and embedding."""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.missing_dtypes import is_rare
from ..._core.define.op import Array, Number, Operand, functions, inner_op
from ..._core.define.signature import first_looks
from ..._core.record.value_checks import flag
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes
from ..._core.types.value import check_long
from ..common.rules import (
    check_negation,
    check_subtraction,
    derivatives,
    full_precision,
    in_single,
    kind,
    real_only,
    refuse,
    scalar_name,
    to_float,
    unsupported,
    zeros_mask,
)
from ..nn.linear import c_name
from ..nn.normalization import broadcast_shape, vector_norm
from .classification import _common, fits, named, reduced, reduction_of


def _pair(x: Any, y: Any, weight: Any = None) -> tuple[Any, Any]:
    """Input and target, broadcast, in their common type, and that of a weight."""
    shape, dtype = broadcast_shape(x.shape, y.shape), _common(*[a for a in (x, y, weight) if a is not None])
    return jnp.broadcast_to(x, shape).astype(dtype), jnp.broadcast_to(y, shape).astype(dtype)


def warn_sizes(input: Tensor, target: Tensor) -> None:
    """PyTorch's warning before a loss broadcasts its target."""
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
        "This will likely lead "
        "to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )


def _need_sums(x: Any) -> None:
    """NotImplementedError for element types that PyTorch cannot add."""
    if is_rare(dtypes.from_numpy(x.dtype)):
        unsupported("add_stub", x)


def _same_size(loss: Any, weight: Any) -> None:
    if weight is not None and weight.shape != loss.shape:
        raise ValueError("Weights and input must have the same size.")


def _weighted(loss: Any, weight: Any, reduction: str) -> Any:
    """Times a weight; the mean is then taken over the sum of the weights."""
    if weight is None:
        return reduced(loss, reduction)
    _same_size(loss, weight)
    loss = loss * weight
    return to_float(jnp.sum(loss)) / to_float(jnp.sum(weight)) if reduction == "mean" else reduced(loss, reduction)


@inner_op()
def mse_loss(
    input: Array,
    target: Array,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Array | None = None,
):
    """(input - target) ** 2."""
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is None:
        refuse("mse_cpu", _pair(input, target)[0], "int", "bool", "complex")
    else:
        check_subtraction(input, target)
    x, y = _pair(input, target, weight)
    away = x - y  # which half precision rounds, as it does its square
    return in_single(lambda found: _weighted(found, weight, reduction))(away * away)


@derivatives(lambda t, ans, x: t * jnp.sign(x))
def _absolute(x: Any) -> Any:
    return jnp.abs(x)


@derivatives(lambda t, ans, x: t * zeros_mask(x == x, jnp.sign(x)))
def _size(x: Any) -> Any:
    """Its slope at NaN is 0."""
    return jnp.abs(x)


@inner_op(grad=named("", "AbsBackward0"), unsaved=["input", "target"])
def l1_loss(
    input: Array,
    target: Array,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Array | None = None,
):
    """|input - target|."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_subtraction(input, target)
    x, y = _pair(input, target, weight)
    _need_sums(x)
    if jnp.iscomplexobj(x):
        return _weighted(vector_norm((x - y)[..., None], 2, -1), weight, reduction)
    return in_single(lambda away: _weighted(_size(away), weight, reduction))(x - y)


def _smooth(d: Any, beta: float) -> Any:
    size = _absolute(d)
    near = zeros_mask(size < beta, d)  # whose square does not overflow
    return jnp.where(size < beta, near * near * (0.5 / beta), size - 0.5 * beta)


@inner_op(grad="SmoothL1LossBackward0")
def smooth_l1_loss(
    input: Array,
    target: Array,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
):
    """Quadratic (divided by 2 beta) up to a distance `beta`, linear beyond."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    x, y = _pair(input, target)
    if beta == 0:
        check_subtraction(input, target)
        return in_single(lambda a, b: reduced(_absolute(a - b), reduction))(x, y)
    refuse("smooth_l1_cpu", x, "int", "bool", "complex")
    if x.dtype == jnp.float16:  # PyTorch rounds the distance, and in bfloat16 it does not
        found = in_single(lambda away: _smooth(away, beta))(x - y)
    else:
        found = in_single(lambda a, b: _smooth(a - b, beta))(x, y)
    return in_single(lambda found: reduced(found, reduction))(found)


@inner_op()
def huber_loss(input: Array, target: Array, reduction: str = "mean", delta: float = 1.0, weight: Array | None = None):
    """Half the square up to a distance `delta`, linear beyond."""
    reduction = reduction_of(reduction)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")

    @derivatives(lambda t, ans, d: t * jnp.where(jnp.abs(d) <= delta, d, jnp.sign(d) * delta))
    def each(d: Any) -> Any:
        size = jnp.abs(d)
        near = jnp.where(size <= delta, size, delta)
        return near * (size - 0.5 * near)

    if kind(input) in ("int", "bool"):
        if kind(target) in ("int", "bool"):
            unsupported("huber_cpu", input)
        fits(_common(input, target), input)
    refuse("huber_cpu", input, "complex")
    real_only(
        f"result type {scalar_name(target)} can't be cast to the desired output type {scalar_name(input)}", target
    )
    common = _common(input, *([] if weight is None else [weight]))
    x, y = _pair(input, target, weight)
    _same_size(x, weight)
    # PyTorch rounds each step in bfloat16, and the result alone in float16
    found = each(x - y) if x.dtype == jnp.bfloat16 else in_single(lambda a, b: each(a - b))(x, y)
    found = found if weight is None else found * weight
    return in_single(lambda found: reduced(found, reduction))(found).astype(common)


def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), 0 where x is 0."""
    zero = x == 0
    return jnp.where(zero, 0, x * jnp.log(jnp.where(zero, 1, y)))


def _kl_name(operands: Any, statics: Any) -> str:
    reduction, log_target = statics[2], statics[3]
    if reduction == "batchmean":
        return "DivBackward0" if operands[0].ndim else "SumBackward0"
    none = "MulBackward0" if log_target else "SubBackward0"
    return {"none": none, "sum": "SumBackward0"}.get(reduction, "MeanBackward0")


@inner_op(grad=_kl_name, unsaved=["input", "target"])
def _kl_div(input: Array, target: Array, size_average: Any, reduce: Any, reduction: str, log_target: bool):
    batch = reduction == "batchmean" and size_average is None and reduce is None
    reduction = "sum" if batch else reduction_of(reduction, size_average, reduce)
    if kind(input) in ("int", "bool") or kind(target) in ("int", "bool"):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    real_only("kl_div: Complex inputs not supported.", input, target)
    x, y = _pair(input, target)

    def loss(a: Any, b: Any) -> Any:
        each = jnp.exp(b) * (b - a) if log_target else xlogy(b, b) - b * a
        total = reduced(each, reduction)
        return total / input.shape[0] if batch and input.ndim else total

    return in_single(loss)(x, y)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence: `input` holds log-probabilities, `target` probabilities (or their
    logarithms).
    """
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support "
            "size.'batchmean' divides only by "
            "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave "
            "the same as "
            "'batchmean' in the next major release.",
            stacklevel=2,
        )
    return _kl_div(input, target, size_average, reduce, reduction, log_target)


@inner_op(grad=named("", "SubBackward0"), unsaved=["input"])
def poisson_nll_loss(
    input: Array,
    target: Array,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
):
    """Minus the log-likelihood of counts under Poisson rates (or their logarithms)."""
    reduction = reduction_of(reduction, size_average, reduce)

    def loss(x: Any, y: Any) -> Any:
        each = jnp.exp(x) - y * x if log_input else x - y * jnp.log(x + eps)
        if full:
            safe = jnp.where(y > 1, y, 2)
            each = each + jnp.where(y > 1, y * jnp.log(safe) - y + 0.5 * jnp.log(2 * math.pi * safe), 0)
        return reduced(each, reduction)

    if full:
        refuse("le_cpu", target, "complex")
        check_subtraction(target, target)
    if kind(input) == "bool" and (kind(target) == "bool" or not log_input):
        check_subtraction(input.astype(jnp.float32), input)
    return in_single(loss)(*_pair(to_float(input), target))


@inner_op(grad=named("", "MulBackward0"), unsaved=["input", "target", "var"])
def _gaussian_nll(input: Array, target: Operand, var: Array, full: bool, eps: float, reduction: str):
    refuse("lt_cpu", var, "complex")
    if kind(var) in ("int", "bool"):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {c_name(var)}")
    check_subtraction(input, target)
    if not target.ndim and input.ndim and kind(target) != "complex":
        target = target.astype(input.dtype)  # a number
    negative = jnp.any(var < 0).astype(jnp.int64)
    flag(negative, lambda code: ValueError("var has negative entry/entries"))
    check_long(eps)
    least = np.asarray(eps, var.dtype)
    limited = var + lax.stop_gradient(jnp.where((var < least) | (eps != eps), least - var, 0))
    loss = 0.5 * (jnp.log(limited) + (input - target) ** 2 / limited)
    if full:
        loss = loss + np.asarray(0.5 * math.log(2 * math.pi), loss.dtype)
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of targets under normal distributions (input, var); `var` at least `eps`.

    A negative variance raises ValueError at the next synchronisation.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * input.new_ones(input.size())
    if not isinstance(var, Tensor):
        functions["any"](var < 0)  # its error
    if not isinstance(input, Tensor) and (var < 0).any():
        raise ValueError("var has negative entry/entries")
    shape, given = tuple(input.size()), tuple(var.size())
    if given != shape or reduction not in ("none", "mean", "sum"):
        first_looks["_gaussian_nll"](input, target, var)
    if given != shape:
        if shape[:-1] == given:
            var = var.unsqueeze(-1)
        elif shape[:-1] == given[:-1] and given[-1] == 1:
            pass
        elif not (len(given) == len(shape) and all(g in (1, s) for g, s in zip(given, shape, strict=True))):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if eps.__class__ is not float:
        if isinstance(eps, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
        functions["clamp"](var.detach(), eps)  # its errors
        eps = float(eps)
    return _gaussian_nll(input, target, var, bool(full), eps, reduction)


# -- margins -----------------------------------------------------------------------------------------------


def _above_zero(x: Any) -> Any:
    """max(x, 0), whose derivative at 0 is 1, and at NaN 0, as that of clamp_min in PyTorch."""
    return jnp.where(x >= 0, x, lax.stop_gradient(jnp.where(x < 0, 0, x)))


@inner_op(grad=named("", "ClampMinBackward0"), unsaved=["input1", "input2", "target"])
def margin_ranking_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
):
    """max(0, -target * (input1 - input2) + margin)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        shown = ", ".join(
            f"{n}: torch.Size({list(x.shape)})" for n, x in (("input1", input1), ("input2", input2), ("target", target))
        )
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: {shown} "
        )
    check_subtraction(input1, input2)
    check_negation(target)
    real_only("clamp is not supported for complex types", input1, input2, target, error=NotImplementedError)
    gap = to_float(-target * (input1 - input2))
    return reduced(_above_zero(gap + margin), reduction)


@inner_op(grad=named("", "AddBackward0"), unsaved=["input", "target"])
def hinge_embedding_loss(
    input: Array,
    target: Array,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
):
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    _need_sums(input)
    check_subtraction(input, input)
    real_only("clamp is not supported for complex types", input, error=NotImplementedError)
    x, y = jnp.broadcast_arrays(input, target)
    margin = margin if kind(input) == "float" else int(margin)  # PyTorch fills integers with it
    far = jnp.where(y != 1, _above_zero(np.asarray(margin, x.dtype) - x), 0)
    return reduced(far + jnp.where(y != -1, x, 0), reduction)


@inner_op(grad=named("", "AddBackward0"), unsaved=["target"])
def cosine_embedding_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
):
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    wanted = {0: 1, 1: 2}[target.ndim]
    if not input1.ndim == input2.ndim == wanted:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {wanted}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    real_only("clamp is not supported for complex types", input1, input2, error=NotImplementedError)
    a, b = [to_float(x) for x in _pair(input1, input2)]
    product, eps = jnp.sum(a * b, -1), 1e-12
    cosine = product / jnp.sqrt((jnp.sum(a * a, -1) + eps) * (jnp.sum(b * b, -1) + eps))
    broadcast_shape(target.shape, cosine.shape)
    loss = jnp.where(target == 1, 1 - cosine, 0) + jnp.where(target == -1, _above_zero(cosine - margin), 0)
    return reduced(loss, reduction).astype(a.dtype)


def _need_classes(input: Any) -> None:
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )


def _need_class_numbers(target: Any) -> None:
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_name(target)}")


@inner_op(grad="MultiMarginLossBackward0")
def multi_margin_loss(
    input: Array,
    target: Array,
    p: Any = 1,
    margin: Number = 1.0,
    weight: Array | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
):
    """The mean over wrong classes of max(0, margin - score[target] + score[class]) ** p."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    _need_classes(input)
    x = input if input.ndim == 2 else input.reshape(1, -1)
    if weight is not None and weight.size != x.shape[1]:
        raise RuntimeError(f"inconsistent weight size, expected {x.shape[1]} but got {list(weight.shape)}")
    if target.ndim > 1 or target.size != x.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            "samples (batch size). "
            f"Expected target size [{x.shape[0]}], but got {list(target.shape)}. Input has shape "
            f"{list(input.shape)}."
        )
    refuse("multi_margin_loss_cpu_kernel", input, "int", "bool", "complex")
    if input.dtype == jnp.float16:
        unsupported("multi_margin_loss_cpu_kernel", input)
    _need_class_numbers(target)
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {scalar_name(input)} but found {scalar_name(weight)}")
    y = target.reshape(-1, 1)
    classes = x.shape[1]
    bad = jnp.any((y < 0) | (y >= classes)).astype(jnp.int64)
    flag(bad, lambda code: RuntimeError("target out of range"))
    hit = y == np.arange(classes)
    own = jnp.sum(jnp.where(hit, x, 0), 1, keepdims=True)
    each = margin - own + x
    each = jnp.where(each > 0, each, 0)
    each = each * each if p == 2 else each
    if weight is not None:
        each = each * jnp.sum(jnp.where(hit, weight, 0), 1, keepdims=True)
    loss = jnp.sum(jnp.where(hit, 0, each), 1) / classes
    loss = loss if input.ndim == 2 and target.ndim else loss.reshape(()) if not target.ndim else loss
    return reduced(loss, reduction)


@inner_op(grad="MultilabelMarginLossBackward0")
def multilabel_margin_loss(
    input: Array, target: Array, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
):
    """The mean over classes of all max(0, 1 - score[label] + score[other]); labels end at the first -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    _need_classes(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    full_precision("multilabel_margin_loss_forward_out_frame", input)
    refuse("multilabel_margin_loss_forward_out_frame", input, "int", "bool")
    _need_class_numbers(target)
    x, y = jnp.atleast_2d(input), jnp.atleast_2d(target)
    classes = x.shape[1]
    flag(
        jnp.any((y < -1) | (y >= classes)).astype(jnp.int64),
        lambda code: RuntimeError("argument #2 'target' is out of range"),
    )
    valid = jnp.cumprod((y >= 0).astype(jnp.int64), axis=1) > 0  # (N, C): labels before the first -1
    hit = valid[..., None] & (y[..., None] == np.arange(classes))  # (N, label, class)
    is_label = jnp.any(hit, axis=1)
    own = jnp.sum(jnp.where(hit, x[:, None, :], 0), axis=2)  # (N, label)
    each = 1 - own[..., None] + x[:, None, :]
    counted = valid[..., None] & ~is_label[:, None, :] & (each > 0)
    loss = jnp.sum(jnp.where(counted, each, 0), axis=(1, 2)) / classes
    return reduced(loss.reshape(()) if input.ndim < 2 else loss, reduction)


@inner_op(grad=named("", "ClampMinBackward0"), unsaved=["anchor", "positive", "negative"])
def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
):
    """max(0, |anchor - positive| - |anchor - negative| + margin), distances in the p-norm of the last
    dimension.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            "dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )

    def distance(a: Any, b: Any) -> Any:
        check_subtraction(a, b)
        a, b = _pair(a, b)
        apart = to_float(a - b)  # whole numbers are subtracted as such, and may wrap
        apart = apart + np.asarray(eps, apart.dtype)
        return vector_norm(apart, p, -1) if apart.ndim else vector_norm(apart.reshape(1), p, -1)

    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        other = distance(positive, negative)
        far = jnp.where(far == other, (far + other) / 2, jnp.minimum(far, other))
    return reduced(_above_zero(margin + near - far), reduction)
