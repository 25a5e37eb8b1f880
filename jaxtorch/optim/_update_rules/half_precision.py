"""The update rules for parameters in half precision, which round where PyTorch's operations do.

PyTorch updates one parameter by a sequence of operations, each of which computes in single precision and rounds its result once. Here
each of them is a function: `_lerp` is `Tensor.lerp_`, and so on. Factors of products and quotients are numbers in single
precision, what is added (a number, or the `alpha` that scales what is added) is rounded to the parameter's type first.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

Arrays = list[Any]
_Rule = TypeVar("_Rule", bound=Callable[..., Any])
_HALVES = (jnp.float16, jnp.bfloat16)


def in_halves(half: Callable[..., Any]) -> Callable[[_Rule], _Rule]:
    """Give an update rule another for parameters, gradients and states that are all of one half precision type."""

    def declare(rule: _Rule) -> _Rule:
        @functools.wraps(rule)
        def chosen(params: Arrays, grads: Arrays, states: list[Arrays], *rest: Any) -> Any:
            dtype = params[0].dtype
            alike = all(x.dtype == dtype for kind in (params, grads, *states) for x in kind)
            return (half if dtype in _HALVES and alike else rule)(params, grads, states, *rest)

        return chosen  # pyright: ignore[reportReturnType]

    return declare


# -- PyTorch's operations


def _single(x: Any) -> Any:
    return jnp.asarray(x).astype(jnp.float32)


def _mul(x: Any, by: Any) -> Any:
    return (_single(x) * _single(by)).astype(x.dtype)


def _div(x: Any, by: Any) -> Any:
    return (_single(x) / _single(by)).astype(x.dtype)


def _add(x: Any, y: Any, alpha: Any = 1.0) -> Any:
    term = _single(jnp.asarray(y).astype(x.dtype)) * _single(jnp.asarray(alpha).astype(x.dtype))
    return (_single(x) + term).astype(x.dtype)


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    a, b, w = _single(x), _single(end), _single(weight)
    return jnp.where(w < 0.5, a + w * (b - a), b - (b - a) * (1 - w)).astype(x.dtype)


def _addcmul(x: Any, a: Any, b: Any, value: Any) -> Any:
    return (_single(x) + _single(value) * _single(a) * _single(b)).astype(x.dtype)


def _addcdiv(x: Any, a: Any, b: Any, value: Any) -> Any:
    return (_single(x) + _single(value) * _single(a) / _single(b)).astype(x.dtype)


def _sqrt(x: Any) -> Any:
    return jnp.sqrt(_single(x)).astype(x.dtype)


# -- what rules share


def _decayed(p: Any, g: Any, numbers: dict[str, Any], decay: Any, maximize: bool) -> tuple[Any, Any]:
    """A parameter and its gradient after weight decay: none, coupled (also True) or decoupled."""
    g = -g if maximize else g
    if decay == "decoupled":
        return _mul(p, 1 - numbers["lr"] * numbers["weight_decay"]), g
    return p, _add(g, p, numbers["weight_decay"]) if decay else g


def _betas(betas: Any, numbers: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Both betas, and what they lack to 1."""
    if betas:
        return *betas, 1 - betas[0], 1 - betas[1]
    return tuple(numbers[name] for name in ("beta1", "beta2", "complement1", "complement2"))  # pyright: ignore[reportReturnType]


def _each(update: Callable[..., Any]) -> Callable[..., Any]:
    """A rule on lists from `update(p, g, states, numbers, *static) -> (p, states)` of one parameter."""

    def rule(params: Arrays, grads: Arrays, states: list[Arrays], *rest: Any) -> tuple[Arrays, list[Arrays]]:
        rows = zip(*states, strict=True) if states else [()] * len(params)
        made = [update(p, g, row, *rest) for p, g, row in zip(params, grads, rows, strict=True)]
        return [p for p, _ in made], [list(kind) for kind in zip(*(row for _, row in made), strict=True)]

    return rule


@_each
def sgd(
    p: Any, g: Any, states: Any, numbers: dict[str, Any], decayed: bool, damped: bool, nesterov: bool, maximize: bool,
    first: bool,
) -> Any:  # fmt: skip
    """See `rules.sgd`."""
    _, g = _decayed(p, g, numbers, decayed, maximize)
    if states:
        momentum = numbers["momentum"]
        entering = 1 - numbers["dampening"] if damped else 1.0
        buffer = jax.lax.stop_gradient(g) if first else _add(_mul(states[0], momentum), g, entering)
        states = (buffer,)
        g = _add(g, buffer, momentum) if nesterov else buffer
    return _add(p, g, -numbers["lr"]), states


@_each
def adam(
    p: Any, g: Any, states: Any, numbers: dict[str, Any], betas: Any, decay: str, amsgrad: bool, maximize: bool
) -> Any:
    """See `rules.adam`."""
    _, b2, rest1, rest2 = _betas(betas, numbers)
    p, g = _decayed(p, g, numbers, decay, maximize)
    mean, second = _lerp(states[0], g, rest1), _addcmul(_mul(states[1], b2), g, g, rest2)
    kept = (mean, second)
    if amsgrad:
        largest = jnp.maximum(states[2], second)
        kept = (mean, second, largest)
    root = _add(_div(_sqrt(kept[-1]), jnp.sqrt(numbers["correction2"])), numbers["eps"])
    return _addcdiv(p, mean, root, -(numbers["lr"] / numbers["correction1"])), kept


@_each
def adagrad(p: Any, g: Any, states: Any, numbers: dict[str, Any], decayed: bool, maximize: bool) -> Any:
    """See `rules.adagrad`."""
    _, g = _decayed(p, g, numbers, decayed, maximize)
    total = _addcmul(states[0], g, g, 1.0)
    return _addcdiv(p, g, _add(_sqrt(total), numbers["eps"]), -numbers["rate"]), (total,)


@_each
def rmsprop(
    p: Any, g: Any, states: Any, numbers: dict[str, Any], decayed: bool, centered: bool, momentum: bool, maximize: bool
) -> Any:
    """See `rules.rmsprop`."""
    _, g = _decayed(p, g, numbers, decayed, maximize)
    rest = numbers["complement"]
    square = _addcmul(_mul(states[0], numbers["alpha"]), g, g, rest)
    kept, spread, mean = [square], square, None
    if centered:
        mean = _lerp(states[-1], g, rest)
        spread = _addcmul(square, mean, mean, -1.0)
    root = _add(_sqrt(spread), numbers["eps"])
    if momentum:
        kept.append(_addcdiv(_mul(states[1], numbers["momentum"]), g, root, 1.0))
        p = _add(p, kept[1], -numbers["lr"])
    else:
        p = _addcdiv(p, g, root, -numbers["lr"])
    return p, kept if mean is None else [*kept, mean]


@_each
def adadelta(
    p: Any, g: Any, states: Any, numbers: dict[str, Any], rho: float, eps: float, decay: str, maximize: bool
) -> Any:
    """See `more_rules.adadelta`."""
    p, g = _decayed(p, g, numbers, decay, maximize)
    square = _addcmul(_mul(states[0], rho), g, g, 1 - rho)
    root = _sqrt(_add(square, eps))
    delta = _mul(_div(_sqrt(_add(states[1], eps)), root), g)
    moved = _addcmul(_mul(states[1], rho), delta, delta, 1 - rho)
    return _add(p, delta, -numbers["lr"]), (square, moved)


@_each
def adamax(p: Any, g: Any, states: Any, numbers: dict[str, Any], betas: Any, decay: str, maximize: bool) -> Any:
    """See `more_rules.adamax`."""
    _, b2, rest1, _ = _betas(betas, numbers)
    p, g = _decayed(p, g, numbers, decay, maximize)
    mean = _lerp(states[0], g, rest1)
    largest = jnp.maximum(_mul(states[1], b2), _add(jnp.abs(g), numbers["eps"]))
    return _addcdiv(p, mean, largest, -numbers["rate"]), (mean, largest)


@_each
def nadam(p: Any, g: Any, states: Any, numbers: dict[str, Any], betas: Any, decay: str, maximize: bool) -> Any:
    """See `more_rules.nadam`."""
    _, b2, rest1, rest2 = _betas(betas, numbers)
    p, g = _decayed(p, g, numbers, decay, maximize)
    mean, second = _lerp(states[0], g, rest1), _addcmul(_mul(states[1], b2), g, g, rest2)
    root = _add(_sqrt(_div(second, numbers["correction2"])), numbers["eps"])
    p = _addcdiv(p, g, root, -numbers["grad_rate"])
    return _addcdiv(p, mean, root, -numbers["mean_rate"]), (mean, second)


@_each
def radam(p: Any, g: Any, states: Any, numbers: dict[str, Any], betas: Any, decay: str, maximize: bool) -> Any:
    """See `more_rules.radam`."""
    _, b2, rest1, rest2 = _betas(betas, numbers)
    p, g = _decayed(p, g, numbers, decay, maximize)
    mean, second = _lerp(states[0], g, rest1), _addcmul(_mul(states[1], b2), g, g, rest2)
    delta = _mul(_div(mean, numbers["correction1"]), numbers["lr"])
    root2 = _single(jnp.sqrt(numbers["correction2"]))
    scale = (root2 / _single(_add(_sqrt(second), numbers["eps"]))).astype(p.dtype)
    rectified = _mul(_mul(delta, scale), numbers["rectified"] / jnp.sqrt(numbers["correction2"]))
    return _add(p, jnp.where(numbers["adaptive"] > 0, rectified, delta), -1.0), (mean, second)


@_each
def asgd(p: Any, g: Any, states: Any, numbers: dict[str, Any], decay: str, maximize: bool) -> Any:
    """See `more_rules.asgd`."""
    p, g = _decayed(p, g, numbers, decay, maximize)
    p = _add(_mul(p, numbers["keep"]), g, -numbers["eta"])
    moved = _add(states[0], _mul(_add(p, states[0], -1.0), numbers["mu"]))
    return p, (jnp.where(numbers["mu"] == 1, p, moved),)


@_each
def rprop(p: Any, g: Any, states: Any, numbers: dict[str, Any], maximize: bool) -> Any:
    """See `more_rules.rprop`."""
    g = -g if maximize else g
    last, size = states
    agreed = _mul(g, last)
    down, up, low, high = (numbers[name].astype(p.dtype) for name in ("down", "up", "low", "high"))
    factor = jnp.where(agreed > 0, up, jnp.where(agreed < 0, down, jnp.ones_like(up)))
    size = jnp.clip(_mul(size, factor), low, high)
    g = jnp.where(agreed < 0, jnp.zeros_like(g), g)
    return _addcmul(p, jnp.sign(g), size, -1.0), (g, size)


def _norm(x: Any, axis: int | None = None) -> Any:
    return jnp.sqrt(jnp.sum(_single(x) ** 2, axis, keepdims=axis is not None)).astype(x.dtype)


@_each
def adafactor(p: Any, g: Any, states: Any, numbers: dict[str, Any], maximize: bool, eps1: float | None) -> Any:
    """See `more_rules.adafactor`."""
    g = -g if maximize else g
    weight, dtype = numbers["weight"], p.dtype
    eps1 = float(jnp.finfo(dtype).eps) if eps1 is None else eps1
    alpha = jnp.maximum(numbers["eps2"], _norm(p).astype(jnp.float64) / math.sqrt(p.size)) * numbers["rho"]
    p = _mul(p, numbers["keep"])
    if len(states) == 2:
        means = [_div(_mul(n, n), g.shape[axis]) for axis in (-1, -2) for n in [_norm(g, axis)]]
        states = tuple(_lerp(state, mean, weight) for state, mean in zip(states, means, strict=True))
        row, column = states
        average = jnp.mean(_single(row), -2, keepdims=True).astype(dtype)
        product = (_single(row) @ _single(column)).astype(dtype)
        variance = _div(product, jnp.maximum(average, jnp.asarray(eps1, dtype)))
    else:
        variance = _lerp(states[0], _mul(g, g), weight)
        states = (variance,)
    least = jnp.asarray(eps1 * eps1, dtype)
    change = _mul(jax.lax.rsqrt(_single(jnp.maximum(variance, least))).astype(dtype), g)
    scale = jnp.maximum(1.0, _norm(change).astype(jnp.float64) / (math.sqrt(change.size) * numbers["clip"]))
    return _add(p, change, -alpha / scale), states


def _of_norm_one(x: Any, eps: float) -> Any:
    return _div(x, jnp.maximum(_norm(x), jnp.asarray(eps, x.dtype)))


def _orthogonalized(x: Any, coefficients: tuple[float, float, float], steps: int) -> Any:
    """Newton and Schulz's iteration in bfloat16, see `more_rules.muon`."""
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(steps):
        gram = (_single(x) @ _single(x).T).astype(x.dtype)
        polynomial = (b * _single(gram) + c * (_single(gram) @ _single(gram))).astype(x.dtype)
        x = (a * _single(x) + _single(polynomial) @ _single(x)).astype(x.dtype)
    return x.T if tall else x


@_each
def muon(
    p: Any, g: Any, states: Any, numbers: dict[str, Any], nesterov: bool, coefficients: tuple[float, float, float],
    steps: int, eps: float, adjust: str | None,
) -> Any:  # fmt: skip
    """See `more_rules.muon`."""
    buffer = _lerp(states[0], g, numbers["complement"])
    change = _lerp(g, buffer, numbers["momentum"]) if nesterov else buffer
    change = _of_norm_one(change.astype(jnp.bfloat16), eps)
    if not nesterov and p.dtype == change.dtype:
        buffer = change  # PyTorch divides in place what is the buffer itself then
    change = _orthogonalized(change, coefficients, steps)
    rows, columns = p.shape
    rate = 0.2 * max(rows, columns) ** 0.5 if adjust == "match_rms_adamw" else max(1.0, rows / columns) ** 0.5
    p, rate = _mul(p, numbers["keep"]), -(numbers["lr"] * rate)
    if p.dtype == change.dtype:
        return _add(p, change, rate), (buffer,)
    return (_single(p) + _single(rate) * _single(change)).astype(p.dtype), (
        buffer,
    )  # of two types: in single precision
