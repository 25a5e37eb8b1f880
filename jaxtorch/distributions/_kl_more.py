"""Divergences between distributions of different families, and those of the rarer families."""

from __future__ import annotations

import math
from typing import Any

from ._continuous.beta import Beta
from ._continuous.continuous_bernoulli import ContinuousBernoulli
from ._continuous.exponential import Exponential
from ._continuous.gamma import Gamma
from ._continuous.gumbel import Gumbel
from ._continuous.laplace import Laplace
from ._continuous.normal import Normal
from ._continuous.pareto import Pareto
from ._continuous.uniform import Uniform
from ._discrete.bernoulli import Bernoulli
from ._discrete.poisson import Poisson
from ._multivariate.lowrank_multivariate_normal import LowRankMultivariateNormal
from ._multivariate.multivariate_normal import MultivariateNormal
from ._torch import Tensor, torch
from .kl import _always_infinite, kl_divergence, register_kl

__all__ = []

# Each is -entropy(p) - E[log q], whose expectation needs a few moments of p.


def _against_exponential(p: Any, q: Any, mean: Tensor) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * mean


def _against_gamma(p: Any, q: Any, mean: Tensor, mean_log: Tensor) -> Tensor:
    c, r = q.concentration, q.rate
    return -p.entropy() + c.lgamma() - c * r.log() - (c - 1) * mean_log + r * mean


def _against_normal(p: Any, q: Any, mean: Tensor, square: Tensor) -> Tensor:
    """square: the expectation of x ** 2."""
    variance = q.scale.square()
    return (
        -p.entropy()
        + 0.5 * torch.log(variance * 2 * math.pi)
        + (square / 2 - mean * q.loc + q.loc.square() / 2) / variance
    )


def _against_gumbel(p: Any, q: Any, mean: Tensor, decay: Tensor) -> Tensor:
    """decay: the expectation of exp(-x / scale)."""
    return -p.entropy() + q.scale.log() + (mean - q.loc) / q.scale + torch.exp(q.loc / q.scale) * decay


def _against_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


def _infinite_where(mask: Any, result: Tensor) -> Tensor:
    return torch.where(mask, math.inf, result)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    own = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + own - q._cont_bern_log_norm() - torch.log1p(-q.probs)


@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Beta, Exponential)
def _unit_exponential(p: Any, q: Any) -> Tensor:
    return _against_exponential(p, q, p.mean)


@register_kl(ContinuousBernoulli, Normal)
@register_kl(Beta, Normal)
@register_kl(Gumbel, Normal)
def _moments_normal(p: Any, q: Any) -> Tensor:
    return _against_normal(p, q, p.mean, p.variance + p.mean.square())


@register_kl(ContinuousBernoulli, Uniform)
@register_kl(Beta, Uniform)
def _unit_uniform(p: Any, q: Any) -> Tensor:
    return _infinite_where((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log())


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return _against_continuous_bernoulli(p, q)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return _infinite_where((p.high >= 1) | (p.low <= 0), _against_continuous_bernoulli(p, q))


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    total = p.concentration1 + p.concentration0
    return _against_gamma(p, q, p.mean, p.concentration1.digamma() - total.digamma())


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    ratio = p.rate * q.scale
    return _against_gumbel(p, q, p.rate.reciprocal(), ratio / (ratio + 1))


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    decay = (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    return _against_gumbel(p, q, p.concentration / p.rate, decay)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    return _infinite_where(p.alpha <= 1, _against_exponential(p, q, p.alpha * p.scale / (p.alpha - 1)))


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    mean = p.alpha * p.scale / (p.alpha - 1)
    return _infinite_where(p.alpha <= 1, _against_gamma(p, q, mean, p.scale.log() + p.alpha.reciprocal()))


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    mean, square = p.alpha * p.scale / (p.alpha - 1), p.alpha * p.scale.square() / (p.alpha - 2)
    return _infinite_where(p.alpha <= 2, _against_normal(p, q, mean, square))


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log(x) between two places."""
    return (torch.special_xlogy(high, high) - torch.special_xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    return _infinite_where((p.high > 1) | (p.low < 0), -(p.high - p.low).log() + norm - logs)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    return _infinite_where(p.low < 0, _against_gamma(p, q, p.mean, _mean_log(p.low, p.high)))


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    decay = q.scale * (torch.exp(-p.low / q.scale) - torch.exp(-p.high / q.scale)) / (p.high - p.low)
    return _against_gumbel(p, q, p.mean, decay)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    rest = -(p.high - p.low).log() - q.alpha.log() - q.alpha * q.scale.log()
    return _infinite_where(p.low < q.scale, rest + (q.alpha + 1) * _mean_log(p.low, p.high))


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed"
        )
    dense = [MultivariateNormal(d.loc, scale_tril=d.scale_tril, validate_args=False) for d in (p, q)]
    return kl_divergence(*dense)


_always_infinite(
    (Beta, Pareto), (ContinuousBernoulli, Pareto), (Exponential, ContinuousBernoulli), (Gamma, ContinuousBernoulli),
    (Gumbel, Uniform), (Gumbel, Pareto), (Gumbel, Gamma), (Gumbel, Exponential), (Gumbel, ContinuousBernoulli), (Gumbel, Beta),
    (Laplace, ContinuousBernoulli), (Normal, ContinuousBernoulli), (Pareto, Uniform), (Pareto, ContinuousBernoulli), (Pareto, Beta),
)  # fmt: skip
