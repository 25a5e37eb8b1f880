"""The update rules of the optimizers beside SGD, Adam, Adagrad and RMSprop; see `rules.py` for the conventions."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from . import half_precision
from .half_precision import in_halves
from .joined_updates import by_elements
from .rules import Arrays, _apply, _cast, _moment, _signed, alike


def _decayed(
    params: Arrays, grads: Arrays, numbers: dict[str, Any], decay: str, maximize: bool
) -> tuple[Arrays, Arrays]:
    """Parameters and gradients after weight decay of either kind."""
    grads = _signed(grads, maximize)
    if not decay:
        return params, grads
    rate = _cast(numbers["weight_decay"], params[0])
    if decay == "decoupled":
        return [p * (1 - _cast(numbers["lr"], p) * rate) for p in params], grads
    return params, [g + rate.astype(g.dtype) * p for g, p in zip(grads, params, strict=True)]


def _two_moments(grads: Arrays, states: list[Arrays], numbers: dict[str, Any], betas: Any) -> tuple[Arrays, Arrays]:
    b1, b2 = betas if betas else (numbers["beta1"], numbers["beta2"])
    mu = _moment(grads, states[0], b1, numbers.get("complement1"), 1)
    return mu, _moment(grads, states[1], b2, numbers.get("complement2"), 2)


@by_elements
@in_halves(half_precision.adadelta)
def adadelta(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], rho: float, eps: float, decay: str,
    maximize: bool,
) -> tuple[Arrays, list[Arrays]]:  # fmt: skip
    """Adadelta (Zeiler, 2012): `optax.scale_by_adadelta`."""
    import optax

    params, grads = _decayed(params, grads, numbers, decay, maximize)
    tx = optax.chain(optax.scale_by_adadelta(rho, eps), optax.scale_by_learning_rate(_cast(numbers["lr"], params[0])))
    start = (optax.ScaleByAdaDeltaState(e_g=states[0], e_x=states[1]), optax.ScaleState())
    new, state = _apply(tx, params, grads, start)
    return new, [state[0].e_g, state[0].e_x]


@by_elements
@in_halves(half_precision.adamax)
def adamax(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], betas: Any, decay: str, maximize: bool
) -> tuple[Arrays, list[Arrays]]:
    """Adamax (Kingma and Ba, 2015), with optax's moments."""
    params, grads = _decayed(params, grads, numbers, decay, maximize)
    b1, b2 = betas if betas else (numbers["beta1"], _cast(numbers["beta2"], params[0]))
    mu = _moment(grads, states[0], b1, numbers.get("complement1"), 1)
    eps, rate = _cast(numbers["eps"], params[0]), _cast(numbers["rate"], params[0])
    largest = [jnp.maximum(b2 * u, jnp.abs(g) + eps) for u, g in zip(states[1], grads, strict=True)]
    return [p - rate * (m / u) for p, m, u in zip(params, mu, largest, strict=True)], [mu, largest]


@by_elements
@in_halves(half_precision.nadam)
def nadam(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], betas: Any, decay: str, maximize: bool
) -> tuple[Arrays, list[Arrays]]:
    """NAdam (Dozat, 2016) with PyTorch's momentum schedule, which optax does not have."""
    params, grads = _decayed(params, grads, numbers, decay, maximize)
    mu, nu = _two_moments(grads, states, numbers, betas)
    eps, correction = _cast(numbers["eps"], params[0]), _cast(numbers["correction2"], params[0])
    by_grad, by_mean = _cast(numbers["grad_rate"], params[0]), _cast(numbers["mean_rate"], params[0])
    new = []
    for p, g, m, v in zip(params, grads, mu, nu, strict=True):
        denominator = jnp.sqrt(v / correction) + eps
        new.append(p - by_grad * (g / denominator) - by_mean * (m / denominator))
    return new, [mu, nu]


@by_elements
@in_halves(half_precision.radam)
def radam(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], betas: Any, decay: str, maximize: bool
) -> tuple[Arrays, list[Arrays]]:
    """RAdam (Liu et al., 2020). optax corrects the second moment before eps is added, PyTorch after.

    `adaptive` is 1 once the variance is tractable and 0 before, a number so that both phases are one program.
    """
    params, grads = _decayed(params, grads, numbers, decay, maximize)
    mu, nu = _two_moments(grads, states, numbers, betas)
    eps, rate = _cast(numbers["eps"], params[0]), _cast(numbers["rate"], params[0])
    rectified, adaptive = _cast(numbers["rectified"], params[0]), numbers["adaptive"] > 0
    new = []
    for p, m, v in zip(params, mu, nu, strict=True):
        scale = jnp.where(adaptive, rectified / (jnp.sqrt(jnp.where(adaptive, v, 1)) + eps), 1)
        new.append(p - rate * m * scale)
    return new, [mu, nu]


@by_elements
@in_halves(half_precision.asgd)
def asgd(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], decay: str, maximize: bool
) -> tuple[Arrays, list[Arrays]]:
    """Averaged SGD (Polyak and Juditsky, 1992), which optax does not have."""
    params, grads = _decayed(params, grads, numbers, decay, maximize)
    eta, keep, mu = (_cast(numbers[name], params[0]) for name in ("eta", "keep", "mu"))
    new = [p * keep - eta * g for p, g in zip(params, grads, strict=True)]
    mean = [jnp.where(mu == 1, p, a + (p - a) * mu) for p, a in zip(new, states[0], strict=True)]
    return new, [mean]


@by_elements
@in_halves(half_precision.rprop)
def rprop(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], maximize: bool
) -> tuple[Arrays, list[Arrays]]:
    """Rprop (Riedmiller and Braun, 1993). PyTorch's state is the last gradient, optax's the last update."""
    grads = _signed(grads, maximize)
    down, up, low, high = (_cast(numbers[name], params[0]) for name in ("down", "up", "low", "high"))
    new, kept, sizes = [], [], []
    for p, g, last, size in zip(params, grads, *states, strict=True):
        agreed = jnp.sign(g * last)
        size = jnp.clip(size * jnp.where(agreed > 0, up, jnp.where(agreed < 0, down, 1)), low, high)
        g = jnp.where(agreed < 0, 0, g)
        new.append(p - jnp.sign(g) * size)
        kept.append(g)
        sizes.append(size)
    return new, [kept, sizes]


def _norm(x: Any) -> Any:
    return jnp.sqrt(jnp.sum(x * x))


@in_halves(half_precision.adafactor)
def adafactor(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], maximize: bool, eps1: float | None
) -> tuple[Arrays, list[Arrays]]:
    """Adafactor (Shazeer and Stern, 2018) with PyTorch's order of clipping, which optax does not have.

    states: [row variances, column variances] of matrices, or [variances] of vectors.
    """
    grads = _signed(grads, maximize)
    alike(states[0], grads)
    like = params[0]
    eps1 = float(jnp.finfo(like.dtype).eps) if eps1 is None else eps1
    weight, rho, eps2, d, keep = (_cast(numbers[n], like) for n in ("weight", "rho", "eps2", "clip", "keep"))
    new, kept = [], []
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        alpha = jnp.maximum(eps2, _norm(p.astype(weight.dtype)) / math.sqrt(p.size)) * rho
        if len(states) == 2:
            row, column = states[0][i], states[1][i]
            row = row + weight * (jnp.sum(g * g, -1, keepdims=True) / g.shape[-1] - row)
            column = column + weight * (jnp.sum(g * g, -2, keepdims=True) / g.shape[-2] - column)
            kept.append((row, column))
            variance = row @ column / jnp.maximum(jnp.mean(row, -2, keepdims=True), eps1)
        else:
            variance = states[0][i] + weight * (g * g - states[0][i])
            kept.append((variance,))
        change = g / jnp.sqrt(jnp.maximum(variance, eps1 * eps1))
        scale = jnp.maximum(1.0, _norm(change) / (math.sqrt(change.size) * d))
        new.append(p * keep - alpha / scale * change)
    return new, [list(kind) for kind in zip(*kept, strict=True)]


def _orthogonalized(x: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Newton and Schulz's iteration towards the nearest orthogonal matrix, in bfloat16 as PyTorch runs it."""
    a, b, c = coefficients
    half = jnp.bfloat16
    x = x.astype(half)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    norm = _norm(x.astype(jnp.float32)).astype(half)
    x = x / jnp.maximum(norm, jnp.asarray(eps, half))

    def matmul(u: Any, v: Any) -> Any:
        return jnp.matmul(u, v, preferred_element_type=jnp.float32)

    for _ in range(steps):
        gram = matmul(x, x.T).astype(half)
        polynomial = (b * gram.astype(jnp.float32) + c * matmul(gram, gram)).astype(half)
        x = (a * x.astype(jnp.float32) + matmul(polynomial, x)).astype(half)
    return x.T if tall else x


@in_halves(half_precision.muon)
def muon(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], nesterov: bool,
    coefficients: tuple[float, float, float], steps: int, eps: float, adjust: str | None,
) -> tuple[Arrays, list[Arrays]]:  # fmt: skip
    """Muon (Jordan et al., 2024). optax's runs the iteration in the parameter's precision, PyTorch in bfloat16.

    adjust: how the shape of a matrix multiplies the learning rate, see `Muon`.
    """
    like = params[0]
    alike(states[0], grads)
    complement, keep, lr = (_cast(numbers[name], like) for name in ("complement", "keep", "lr"))
    buffers = [m + complement * (g - m) for m, g in zip(states[0], grads, strict=True)]
    new = []
    for p, g, m in zip(params, grads, buffers, strict=True):
        change = g + _cast(numbers["momentum"], like) * (m - g) if nesterov else m
        change = _orthogonalized(change, coefficients, steps, eps)
        rows, columns = p.shape
        match = adjust == "match_rms_adamw"
        rate = 0.2 * max(rows, columns) ** 0.5 if match else max(1.0, rows / columns) ** 0.5
        new.append(p * keep - lr * rate * change.astype(p.dtype))
    return new, [buffers]
