"""Alignments of labels with a signal: the best one of CTC, and the transducer's loss over all."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core.define.op import Array, op
from .._core.run.runner import concrete_array
from .._core.tensor.tensor import Tensor, from_host


def _need(holds: bool, words: str) -> None:
    if not holds:
        raise RuntimeError(words)


def _best_path(scores: Any, labels: Any, blank: int) -> Any:
    """The label of each step on the likeliest path through blank, label, blank, ..., label, blank (Viterbi's)."""
    steps, places = len(scores), 2 * len(labels) + 1
    states = np.full(places, blank, labels.dtype)
    states[1::2] = labels
    skips = np.zeros(places, bool)  # may a state be reached from the one before the last?
    skips[3::2] = labels[1:] != labels[:-1]
    at = np.arange(places)
    worth = np.where(at < 2, scores[0][states], -np.inf)
    moves = np.zeros((steps, places), np.int8)
    for t in range(1, steps):
        one = np.concatenate([[-np.inf], worth[:-1]])[:places]
        two = np.where(skips, np.concatenate([[-np.inf, -np.inf], worth[:-2]])[:places], -np.inf)
        move = np.where((two > one) & (two > worth), 2, np.where((one > worth) & (one > two), 1, 0))
        worth = np.choose(move, [worth, one, two]) + scores[t][states]
        moves[t] = move
    place = places - 1 if places == 1 or worth[-1] > worth[-2] else places - 2
    path = np.empty(steps, labels.dtype)
    for t in range(steps - 1, -1, -1):
        path[t] = states[place]
        place -= moves[t, place]
    return path


def forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """The likeliest path of labels and blanks (1, T) for log probabilities (1, T, C) and labels (1, L), and `log_probs` itself.

    Computed on the host.
    """
    _need(
        log_probs.dtype.is_floating_point and log_probs.dtype.itemsize > 1,
        "log_probs must be float64, float32 or float16 (half) type",
    )
    _need(str(targets.dtype) in ("torch.int32", "torch.int64"), "targets must be int32 or int64 type")
    _need(log_probs.ndim == 3, "log_probs must be 3-D (batch_size, input length, num classes)")
    _need(targets.ndim == 2, "targets must be 2-D (batch_size, target length,)")
    _need(input_lengths.ndim == 1, "input_lengths must be 1-D")
    _need(target_lengths.ndim == 1, "target_lengths must be 1-D")
    _need(log_probs.shape[0] == 1, "The batch dimension for log_probs must be 1 at the current version.")
    _need(targets.shape[0] == 1, "The batch dimension for targets must be 1 at the current version.")
    _need(0 <= blank < log_probs.shape[-1], "blank must be within [0, num classes)")
    scores, labels, steps, count = (
        concrete_array(t.detach()._array(), "torchaudio::forced_align")
        for t in (log_probs, targets, input_lengths, target_lengths)
    )
    _need(log_probs.shape[1] == steps.max(), "input length mismatch")
    _need(targets.shape[1] == count.max(), "target length mismatch")
    row = labels[0]
    repeats = int((row[1:] == row[:-1]).sum())
    _need(
        scores.shape[1] >= len(row) + repeats,
        f"targets length is too long for CTC. Found log_probs length: {scores.shape[1]}, targets length: {len(row)}, "
        f"and number of repeats: {repeats}",
    )
    path = _best_path(scores[0].astype(np.promote_types(scores.dtype, np.float32)), row, blank)
    return from_host(path[None], targets._value.aval.slot.device), log_probs


def _costs(logits: Any, targets: Any, logit_lengths: Any, target_lengths: Any, blank: int, normalise: bool) -> Any:
    """The negative log probability of the targets (Graves, 2012), (N,), by diagonals of the (T, U) lattice."""
    scores = jax.nn.log_softmax(logits, -1) if normalise else logits
    n, steps, places, _ = scores.shape
    low = np.asarray(-1e30, scores.dtype)
    stay = scores[..., blank]  # (N, T, U)
    labels = jnp.pad(targets, ((0, 0), (0, places - targets.shape[1]))).astype(jnp.int32)
    emit = jnp.take_along_axis(scores, labels[:, None, :, None], -1)[..., 0]
    emit = jnp.where(jnp.arange(places) < target_lengths[:, None, None], emit, low)
    u = jnp.arange(places)

    def at(table: Any, diagonal: Any) -> Any:
        t = diagonal - u
        found = jnp.take_along_axis(table, jnp.clip(t, 0, steps - 1)[None, None, :], 1)[:, 0]
        return jnp.where((t >= 0) & (t < steps), found, low)

    def step(alpha: Any, diagonal: Any) -> tuple[Any, Any]:
        here = alpha + at(stay, diagonal - 1)
        moved = alpha + at(emit, diagonal - 1)
        from_left = jnp.concatenate([jnp.full((n, 1), low), moved[:, :-1]], 1)
        new = jnp.maximum(jnp.logaddexp(here, from_left), low)
        return new, new

    start = jnp.where(u == 0, 0, low).astype(scores.dtype) + jnp.zeros((n, 1), scores.dtype)
    later = lax.scan(step, start, jnp.arange(1, steps + places))[1]
    alphas = jnp.concatenate([start[None], later])  # (diagonals, N, U)
    last = logit_lengths.astype(jnp.int32) - 1
    of = jnp.arange(n)
    ends = target_lengths.astype(jnp.int32)
    return -(alphas[last + ends, of, ends] + stay[of, last, ends])


@op(name="_rnnt_loss", function=False, method=False, out=False, differentiable=False)
def _rnnt_loss(
    logits: Array,
    targets: Array,
    logit_lengths: Array,
    target_lengths: Array,
    blank: int,
    clamp: float,
    normalise: bool,
):
    """(costs, their gradients by the logits)."""
    wide = logits.astype(jnp.promote_types(logits.dtype, jnp.float32))
    costs, back = jax.vjp(lambda x: _costs(x, targets, logit_lengths, target_lengths, blank, normalise), wide)
    (gradient,) = back(jnp.ones_like(costs))
    if clamp > 0:
        gradient = jnp.clip(gradient, -clamp, clamp)
    return costs.astype(logits.dtype), gradient.astype(logits.dtype)


def rnnt_loss_forward(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    clamp: float,
    fused_log_softmax: bool,
) -> tuple[Tensor, Tensor]:
    """The transducer's loss (N,) and its gradients, clipped to `clamp` where that is positive.

    logits: (N, T, U + 1, C), log probabilities unless `fused_log_softmax`; targets: (N, U), int32; lengths: (N,), int32.
    """
    _need(str(logits.dtype) in ("torch.float32", "torch.float16"), "logits must be float32 or float16 (half) type")
    for name, t in (("targets", targets), ("logit_lengths", logit_lengths), ("target_lengths", target_lengths)):
        _need(str(t.dtype) == "torch.int32", f"{name} must be int32 type")
    _need(logits.ndim == 4, "logits must be 4-D (batch, time, target, class)")
    _need(targets.ndim == 2, "targets must be 2-D (batch, max target length)")
    _need(logit_lengths.ndim == 1, "logit_lengths must be 1-D")
    _need(target_lengths.ndim == 1, "target_lengths must be 1-D")
    for name, t in (("logit_lengths", logit_lengths), ("target_lengths", target_lengths), ("targets", targets)):
        _need(t.shape[0] == logits.shape[0], f"batch dimension mismatch between logits and {name}")
    _need(0 <= blank < logits.shape[-1], "blank must be within [0, logits.shape[-1])")
    longest, most = (
        int(concrete_array(t.detach()._array(), "torchaudio::rnnt_loss").max()) for t in (logit_lengths, target_lengths)
    )
    _need(logits.shape[1] == longest, "input length mismatch")
    _need(logits.shape[2] == most + 1, "output length mismatch")
    _need(targets.shape[1] == most, "target length mismatch")
    return _rnnt_loss(
        logits.detach(), targets, logit_lengths, target_lengths, int(blank), float(clamp), bool(fused_log_softmax)
    )
