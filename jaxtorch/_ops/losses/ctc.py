"""Connectionist temporal classification."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, inner_op
from ..._core.record.value_checks import Total, Within, flag
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..._core.types.size import kind_name, need_sizes
from ..common.rules import kind, unsupported
from .classification import reduction_of


def _ctc_name(operands: Any, statics: Any) -> str:
    return {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(statics[1], "CtcLossBackward0")


@inner_op(grad=_ctc_name)
def _ctc(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    reduction: str,
    zero_infinity: bool,
):
    reduction = reduction_of(reduction)
    if kind(log_probs) != "float":
        unsupported("ctc_loss_cpu", log_probs)
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim + (log_probs.ndim < 2)}-dimensional tensor for argument #1 "
            f"'log_probs'{_IN_CTC}"
        )
    if not log_probs.size:
        raise RuntimeError("log_probs tensor must not be empty")
    single = log_probs.ndim == 2
    scores = log_probs[:, None] if single else log_probs  # (T, N, C)
    steps, batch, classes = scores.shape
    for name, given in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if kind(given) != "int":
            raise RuntimeError(f"{name} must be integral")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    lengths, sizes = input_lengths.reshape(-1), target_lengths.reshape(-1)
    if lengths.shape[0] != batch:
        raise RuntimeError("input_lengths must be of size batch_size")
    if sizes.shape[0] != batch:
        raise RuntimeError("target_lengths must be of size batch_size")
    _check_ctc(targets, lengths, sizes, steps, batch)
    labels = _ctc_labels(targets, sizes, batch, single)  # (N, S)
    longest = labels.shape[1]
    extended = jnp.full((batch, 2 * longest + 1), blank, labels.dtype).at[:, 1::2].set(labels)
    states = extended.shape[1]  # one where no target has a label
    skip = jnp.pad(extended[:, 2:] != extended[:, :-2], [(0, 0), (2, 0)])[
        :, :states
    ]  # never to a blank between two labels
    low = -jnp.inf
    emitted = jnp.take_along_axis(scores, jnp.clip(extended, 0, classes - 1)[None], axis=2)  # (T, N, 2S + 1)
    first = jnp.where(np.arange(2 * longest + 1) < 2, emitted[0], low)
    first = jnp.where((np.arange(2 * longest + 1) == 1) & (sizes[:, None] == 0), low, first)

    def step(alpha: Any, now: Any) -> Any:
        t, scores_now = now
        one = jnp.pad(alpha[:, :-1], [(0, 0), (1, 0)], constant_values=low)
        two = jnp.where(skip, jnp.pad(alpha[:, :-2], [(0, 0), (2, 0)], constant_values=low)[:, :states], low)
        moved = _log_sum(jnp.stack([alpha, one, two])) + scores_now
        alpha = jnp.where((t < lengths)[:, None], moved, alpha)
        return alpha, None

    first = jnp.where((lengths > 0)[:, None], first, jnp.where(np.arange(2 * longest + 1) == 0, 0.0, low))
    alpha, _ = lax.scan(step, first, (jnp.arange(1, steps), emitted[1:]))
    end = jnp.take_along_axis(alpha, (2 * sizes)[:, None], axis=1)[:, 0]
    before = jnp.take_along_axis(alpha, jnp.maximum(2 * sizes - 1, 0)[:, None], axis=1)[:, 0]
    loss = -_log_sum(jnp.stack([end, jnp.where(sizes > 0, before, low)]))
    # PyTorch's derivative takes the log-probabilities for the output of log_softmax: it is exp(log_probs)
    # more than the
    # loss's own. After log_softmax the two give the same.
    inside = (np.arange(steps)[:, None] < lengths)[..., None]
    total = jnp.sum(jnp.where(inside, jnp.exp(scores), 0), axis=(0, 2))
    loss = loss + (total - lax.stop_gradient(total))
    if zero_infinity:
        loss = jnp.where(jnp.isinf(loss), 0, loss)
    if reduction == "mean":
        return jnp.mean(loss / jnp.maximum(sizes, 1).astype(loss.dtype))
    return jnp.sum(loss) if reduction == "sum" else loss[0] if single else loss


_IN_CTC = " (while checking arguments for ctc_loss_allocate_outputs)"
_LARGE = 1 << 62


def _check_ctc(targets: Any, lengths: Any, sizes: Any, steps: int, batch: int) -> None:
    """Refuse targets and lengths that do not fit, in PyTorch's order. A flag's code is the offending number, but 1 more for a sum."""

    def at(name: str, bound: str) -> Any:
        return lambda code: RuntimeError(f"Expected {name} to have value {bound}, but got value {code}{_IN_CTC}")

    def size(dimension: int, expected: Any) -> RuntimeError:
        return RuntimeError(
            f"Expected tensor to have size {expected} at dimension {dimension}, but got size {targets.shape[dimension]} for "
            f"argument #2 'targets'{_IN_CTC}"
        )

    def first(bad: Any, values: Any) -> Any:
        return jnp.where(jnp.any(bad), values[jnp.argmax(bad)], 0).astype(jnp.int64)

    if targets.ndim not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets'{_IN_CTC}"
        )
    if targets.ndim == 2 and targets.shape[0] != batch:
        raise size(0, batch)
    if not batch:
        return
    flag(first(sizes < 0, sizes), at("target_lengths", "at least 0"), Within("target_lengths", 0, _LARGE))
    if targets.ndim == 1:
        total = jnp.sum(sizes.astype(jnp.int64))
        flag(
            jnp.where(total == targets.shape[0], 0, total + 1),
            lambda code: size(0, code - 1),
            Total("target_lengths", targets.shape[0]),
        )
    else:
        longest = targets.shape[1]
        flag(
            jnp.where(jnp.max(sizes) > longest, jnp.max(sizes), 0).astype(jnp.int64),
            lambda code: size(1, f"at least {code}"),
            Within("target_lengths", -_LARGE, longest + 1),
        )
    outside = (lengths < 0) | (lengths > steps)
    flag(
        first(outside, lengths),
        lambda code: at("input_lengths", "at least 0" if code < 0 else f"at most {steps}")(code),
        Within("input_lengths", 0, steps + 1),
    )


def _ctc_labels(targets: Any, sizes: Any, batch: int, single: bool) -> Any:
    """Targets as (N, longest); those given end to end are cut up by their lengths."""
    targets = targets.astype(jnp.int64)
    if targets.ndim == 2:
        return targets
    if single or batch == 1:
        return targets.reshape(1, -1)
    start = jnp.cumsum(sizes) - sizes
    index = start[:, None] + np.arange(targets.shape[0])
    return jnp.take(targets, index, mode="clip") if targets.shape[0] else jnp.zeros((batch, 0), jnp.int64)


def _log_sum(x: Any) -> Any:
    """logsumexp over the first axis, with a zero derivative where all are -inf."""
    top = lax.stop_gradient(jnp.max(x, 0))
    none = jnp.isneginf(top)
    top = jnp.where(none, 0, top)
    total = jnp.sum(jnp.exp(x - top), 0)
    return jnp.where(none, -jnp.inf, jnp.log(jnp.where(none, 1, total)) + top)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification (Graves et al., 2006): (T, N, C) log-probabilities, (N, S)
    labels.

    As in PyTorch, the gradient is right where `log_probs` came from `log_softmax`, and only there.
    """
    reduction_of(reduction)
    need_tensor(log_probs, "ctc_loss", "log_probs")
    need_tensor(targets, "ctc_loss", "targets", 2)
    if isinstance(input_lengths, Tensor) is not isinstance(target_lengths, Tensor):
        given = ", ".join([kind_name(x) for x in (log_probs, targets, input_lengths, target_lengths)])
        raise TypeError(
            f"ctc_loss() received an invalid combination of arguments - got ({given}): the lengths are both tensors, or both tuples"
        )
    lengths = [x if isinstance(x, Tensor) else _host_lengths(x, log_probs) for x in (input_lengths, target_lengths)]
    return _ctc(log_probs, targets, *lengths, blank, reduction, zero_infinity)


def _host_lengths(x: Any, like: Tensor) -> Tensor:
    need_sizes("ctc_loss", "input_lengths", x)
    return from_host(np.asarray(x, np.int64), like._value.aval.slot.device)
