"""Samples made from the generator's numbers, as on PyTorch's CPU: multinomial, Poisson, gamma, Dirichlet.

How many words one Poisson or gamma number takes depends on the words, so those are plain loops over floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tuning import SAMPLED_AT_ONCE
from .mersenne import SIGNIFICAND, MersenneTwister, in_memory_order, require

_THIRD = float(np.float32(1 / 3))  # PyTorch holds this constant in single precision

_SCALAR_NAMES = {
    "bool": "Bool",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
}
_SCALAR_NAMES |= {"float16": "Half", "bfloat16": "BFloat16"}


class _Uniforms:
    """u53 after u53 from a generator, read ahead in blocks; `close` returns what was read and not used."""

    def __init__(self, generator: MersenneTwister) -> None:
        self._generator = generator
        self._start = generator.position()
        self._values: list[float] = []
        self._next = 0
        self._used = 0

    def __call__(self) -> float:
        if self._next == len(self._values):
            self._used += self._next
            self._values = self._generator.uniform((SAMPLED_AT_ONCE,), np.float64).tolist()
            self._next = 0
        self._next += 1
        return self._values[self._next - 1]

    def normal(self) -> float:
        """A standard normal number, sharing the generator's spare sample."""
        spare = self._generator.cached_normal
        if spare is not None:
            self._generator.cached_normal = None
            return spare
        turn, length = self(), self()
        radius = math.sqrt(-2 * math.log1p(-length))
        self._generator.cached_normal = radius * math.sin(2 * math.pi * turn)
        return radius * math.cos(2 * math.pi * turn)

    def close(self) -> None:
        self._generator.rewind(self._start, 2 * (self._used + self._next))


def _poisson(rate: float, uniform: _Uniforms) -> int:
    if rate == 0:
        return 0
    if rate < 10:  # count uniforms until their product falls below exp(-rate)
        limit, product, count = math.exp(-rate), 1.0, 0
        while True:
            product *= uniform()
            if product <= limit:
                return count
            count += 1
    # W. Hormann, "The transformed rejection method for generating Poisson random variables" (1993): PTRS.
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2)
    log_rate = math.log(rate)
    while True:
        u = uniform() - 0.5
        v = uniform()
        distance = 0.5 - abs(u)
        if distance == 0:
            continue  # the proposal is infinite there: it would be rejected
        k = math.floor((2 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= quick:
            return k
        if k < 0 or (distance < 0.013 and v > distance):
            continue
        log_density = -rate + k * log_rate - math.lgamma(k + 1)
        if v == 0 or math.log(v) + math.log(inverse_alpha) - math.log(a / distance**2 + b) <= log_density:
            return k


def _gamma(alpha: float, uniform: _Uniforms, rounded: Callable[[float], float]) -> float:
    # `rounded` rounds to the element type, where PyTorch does.
    # G. Marsaglia, W. Tsang, "A simple method for generating gamma variables" (2000), with the boost below 1.
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - uniform()) ** rounded(1 / alpha)
        alpha = rounded(alpha + 1)
    d = rounded(alpha - _THIRD)
    c = 1 / math.sqrt(9 * d)
    while True:
        x = uniform.normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y**3
        u = 1 - uniform()
        if u < 1 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return scale * d * v


def poisson(generator: MersenneTwister, rates: Any) -> Any:
    """Poisson counts of `rates` (any shape), in the dtype of `rates`, as `torch.poisson` draws them."""
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    uniform = _Uniforms(generator)
    counts = [_poisson(rate, uniform) for rate in rates.astype(np.float64).ravel().tolist()]
    uniform.close()
    return np.array(counts, np.float64).astype(rates.dtype).reshape(rates.shape)


def _stirling_error(k: float) -> float:
    """ln k! less Stirling's approximation of it."""
    if k <= 9:
        return math.lgamma(k + 1) - (math.log(math.sqrt(2 * math.pi)) + (k + 0.5) * math.log(k + 1) - (k + 1))
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _binomial(count: float, p: float, uniform: _Uniforms) -> float:
    if count <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return count
    if p > 0.5:
        return count - _binomial(count, 1 - p, uniform)
    if count * p < 10:  # add up geometric numbers until they exceed the count
        log_failure, total, successes = math.log1p(-p), 0.0, 0
        while True:
            draw = uniform()
            total += math.ceil(math.log(draw) / log_failure) if draw > 0 else math.inf
            if total > count:
                return successes
            successes += 1
    # W. Hormann, "The generation of binomial random variates" (1993): BTRS.
    deviation = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    quick = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + 1) * p)
    while True:
        u = uniform() - 0.5
        v = uniform()
        distance = 0.5 - abs(u)
        if distance == 0:
            continue
        k = math.floor((2 * a / distance + b) * u + count * p + 0.5)
        if distance >= 0.07 and v <= quick:
            return k
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_error(mode)
            + _stirling_error(count - mode)
            - _stirling_error(k)
            - _stirling_error(count - k)
        )
        if v == 0 or math.log(v * alpha / (a / distance**2 + b)) <= bound:
            return k


def binomial(generator: MersenneTwister, counts: Any, probs: Any) -> Any:
    """Successes in `counts` trials of probability `probs` (same shape and dtype), as `torch.binomial` draws them."""
    uniform = _Uniforms(generator)
    pairs = zip(counts.astype(np.float64).ravel().tolist(), probs.astype(np.float64).ravel().tolist(), strict=True)
    values = [_binomial(n, p, uniform) for n, p in pairs]
    uniform.close()
    return np.array(values, np.float64).astype(counts.dtype).reshape(counts.shape)


def _gamma_doubles(generator: MersenneTwister, alpha: Any, dtype: Any) -> Any:
    def rounded(value: float) -> float:
        return float(dtype(value))

    uniform = _Uniforms(generator)
    values = [_gamma(shape, uniform, rounded) for shape in alpha.astype(np.float64).ravel().tolist()]
    uniform.close()
    return np.array(values, np.float64).reshape(alpha.shape)


def standard_gamma(generator: MersenneTwister, alpha: Any) -> Any:
    """Gamma numbers of shape `alpha`, rate 1, float32 or float64, as `torch._standard_gamma` draws them."""
    _check_gamma(alpha, "gamma_cpu")
    tiny = np.finfo(alpha.dtype).tiny
    return np.maximum(_gamma_doubles(generator, alpha, alpha.dtype.type).astype(alpha.dtype), tiny)


def dirichlet(generator: MersenneTwister, alpha: Any) -> Any:
    """Dirichlet numbers with concentrations `alpha` (..., n), as `torch._sample_dirichlet` draws them."""
    _check_gamma(alpha, "dirichlet")
    values = _gamma_doubles(generator, alpha, np.float64)
    values /= values.sum(-1, keepdims=True)
    return np.maximum(values.astype(alpha.dtype), np.finfo(alpha.dtype).tiny)


def _check_gamma(alpha: Any, kernel: str) -> None:
    if alpha.dtype not in (np.float32, np.float64):
        got = _SCALAR_NAMES.get(alpha.dtype.name, alpha.dtype.name)
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{got}'")


def multinomial(
    generator: MersenneTwister, probs: Any, num_samples: int, replacement: bool = False, strides: Any = None
) -> Any:
    """Indices drawn by weight along the last dimension, int64: (n,) or (rows, n) -> n becomes num_samples.

    Raises RuntimeError for weights or a count PyTorch refuses. Categories whose scores tie may come in
    another order than PyTorch's. `strides`: those of the tensor of weights, in whose order PyTorch draws.
    """
    require(probs.ndim in (1, 2), "prob_dist must be 1 or 2 dim")
    if probs.dtype.name not in SIGNIFICAND:
        got = _SCALAR_NAMES.get(probs.dtype.name, probs.dtype.name)
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {got}")
    categories = probs.shape[-1]
    require(num_samples > 0, "cannot sample n_sample <= 0 samples")
    require(
        replacement or num_samples <= categories,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    )
    require(categories <= 1 << 24, "number of categories cannot exceed 2^24")
    work = np.float64 if probs.dtype == np.float64 else np.float32
    weights = probs.astype(work, copy=False)
    if replacement and num_samples > 1:
        for bad, what in ((~(weights >= 0), "< 0"), (~np.isfinite(weights), "= infinity or NaN")):
            require(not bad.any(), f"invalid multinomial distribution (encountering probability entry {what})")
    require(
        bool((np.isfinite(weights) & (weights >= 0)).all()),
        "probability tensor contains either `inf`, `nan` or element < 0",
    )
    require(bool((weights.sum(-1) > 0).all()), "invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement or num_samples == 1:
        lengths = generator.exponential(probs.shape, probs.dtype).astype(work, copy=False)
        if strides is not None and probs.ndim > 1:
            lengths = in_memory_order(lengths, probs.shape, strides)
        scores = weights / lengths
        scores = scores.astype(probs.dtype, copy=False).astype(work, copy=False)
        if num_samples == 1:
            return scores.argmax(-1, keepdims=True)
        return np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    rows = weights.reshape(-1, categories)
    uniform = generator.uniform((len(rows), num_samples), np.float64)
    result = np.empty(uniform.shape, np.int64)
    for index, row in enumerate(rows):
        cumulative = np.cumsum(row, dtype=work)
        cumulative /= cumulative[-1]
        cumulative[-1] = 1
        result[index] = np.searchsorted(cumulative.astype(np.float64), uniform[index])
    return result.reshape(*probs.shape[:-1], num_samples)
