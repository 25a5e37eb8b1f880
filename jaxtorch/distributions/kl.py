"""Kullback-Leibler divergences, and the registry of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import total_ordering
from typing import Any

from ..autograd._gradients import grad
from ._continuous.beta import Beta
from ._continuous.cauchy import Cauchy
from ._continuous.dirichlet import Dirichlet
from ._continuous.exponential import Exponential
from ._continuous.gamma import Gamma
from ._continuous.gumbel import Gumbel
from ._continuous.half_normal import HalfNormal
from ._continuous.laplace import Laplace
from ._continuous.log_normal import LogNormal
from ._continuous.normal import Normal
from ._continuous.pareto import Pareto
from ._continuous.uniform import Uniform
from ._discrete.bernoulli import Bernoulli
from ._discrete.binomial import Binomial
from ._discrete.categorical import Categorical
from ._discrete.geometric import Geometric
from ._discrete.one_hot_categorical import OneHotCategorical
from ._discrete.poisson import Poisson
from ._multivariate.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from ._torch import Tensor, torch
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .independent import Independent
from .transformed_distribution import TransformedDistribution
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}
_found: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorator of a function of two distributions, of these types or more special ones: their divergence.

    The types need not be subclasses of `Distribution`: libraries have base classes of their own. TypeError for what is no class.
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise TypeError("issubclass() arg 1 must be a class")

    def register(fn: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = fn
        _found.clear()
        return fn

    return register


@total_ordering
class _Match:
    """How special a pair of types is."""

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    def __le__(self, other: Any) -> bool:
        for x, y in zip(self.types, other.types):
            if not issubclass(x, y):
                return False
            if x is not y:
                break
        return True

    __hash__ = None


def _dispatch(p: type, q: type) -> Any:
    """The most special function for a pair of types, the first type's first."""
    matches = [(a, b) for a, b in _KL_REGISTRY if issubclass(p, a) and issubclass(q, b)]
    if not matches:
        return NotImplemented
    left = min(_Match(*m) for m in matches).types
    right = min(_Match(*reversed(m)) for m in matches).types
    if (left[0], left[1]) != (right[1], right[0]):
        import warnings

        warnings.warn(
            f"Ambiguous kl_divergence({p.__name__}, {q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[0].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left[0], left[1]]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q), of shape batch_shape. NotImplementedError where no function is registered."""
    key = type(p), type(q)
    fn = _found.get(key)
    if fn is None:
        fn = _found[key] = _dispatch(*key)
    if fn is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return fn(p, q)


def _infinite_like(x: Tensor) -> Tensor:
    return torch.full_like(x, math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    softplus = torch.logaddexp
    zero = torch.zeros_like(p.logits)
    t1 = p.probs * (softplus(-q.logits, zero) - softplus(-p.logits, zero))
    t1 = torch.where(q.probs == 0, math.inf, t1)
    t1 = torch.where(p.probs == 0, 0.0, t1)
    t2 = (1 - p.probs) * (softplus(q.logits, zero) - softplus(p.logits, zero))
    t2 = torch.where(q.probs == 1, math.inf, t2)
    return t1 + torch.where(p.probs == 1, 0.0, t2)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    t1 = c.lgamma() + d.lgamma() + (a + b).lgamma() - (a.lgamma() + b.lgamma() + (c + d).lgamma())
    return t1 + (a - c) * a.digamma() + (b - d) * b.digamma() + (c + d - a - b) * (a + b).digamma()


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = torch.where((q.probs == 0).expand_as(t), math.inf, t)
    t = torch.where((p.probs == 0).expand_as(t), 0.0, t)
    return t.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    t1 = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return t1 + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    p_params = [x.detach().requires_grad_() for x in p._natural_params]
    log_normal = p._log_normalizer(*p_params)
    result = q._log_normalizer(*q._natural_params) - log_normal
    for x, y, g in zip(p_params, q._natural_params, grad(log_normal.sum(), p_params, create_graph=True)):
        result = result - _sum_rightmost((y - x) * g, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    t1 = q.concentration * (p.rate / q.rate).log() + torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    t2 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return t1 + t2 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    t1, t2 = q.loc / q.scale, p.loc / q.scale
    t3 = torch.exp(t1 - t2 + torch.lgamma(1 + ratio))
    return -ratio.log() - t1 + t2 + ratio * euler_constant + t3 - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    a, b = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half = b.diagonal(dim1=-2, dim2=-1).log().sum(-1) - a.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    n = p.event_shape[0]
    shape = torch.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    solved = torch.linalg_solve_triangular(b.expand((*shape, n, n)), a.expand((*shape, n, n)), upper=False)
    return half + 0.5 * (solved.pow(2).sum((-2, -1)) + _batch_mahalanobis(b, q.loc - p.loc) - n)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    scale, alpha = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * scale.log() - alpha.log() + alpha - 1
    return torch.where(p.support.lower_bound < q.support.lower_bound, math.inf, result)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "kl_divergence: of transformed distributions with the same transforms and event shapes only"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(LogNormal, LogNormal)
def _log_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    t1 = -q.concentration * torch.log(ratio)
    return t1 + ratio + q.concentration.lgamma() + q.concentration * euler_constant - (1 + euler_constant)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Exponential, Normal)
def _exponential_normal(p: Any, q: Any) -> Tensor:
    variance, rate2 = q.scale.pow(2), p.rate.pow(2)
    t1 = 0.5 * torch.log(rate2 * variance * 2 * math.pi)
    return t1 - 1 + (rate2.reciprocal() - q.loc / p.rate + q.loc.pow(2) / 2) / variance


@register_kl(Gamma, Normal)
def _gamma_normal(p: Any, q: Any) -> Tensor:
    variance, beta2, a = q.scale.pow(2), p.rate.pow(2), p.concentration
    t1 = 0.5 * torch.log(beta2 * variance * 2 * math.pi) - a - a.lgamma()
    t2 = 0.5 * (a.pow(2) + a) / beta2
    return t1 + (a - 1) * a.digamma() + (t2 - q.loc * a / p.rate + 0.5 * q.loc.pow(2)) / variance


@register_kl(Laplace, Normal)
def _laplace_normal(p: Any, q: Any) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    t1 = 0.5 * torch.log(2 * ratio / math.pi)
    return -t1 + ratio + 0.5 * p.loc.pow(2) / variance - p.loc * q.loc / variance + 0.5 * q.loc.pow(2) / variance - 1


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    ratio, square = p.loc / q.scale, (p.scale / q.scale).pow(2)
    shift = q.loc / q.scale
    t3 = torch.exp(-ratio + 0.5 * square + shift)
    return -p.scale.log() + q.scale.log() + ratio - shift + t3 - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    distance = p.loc - q.loc
    ratio = p.scale / q.scale
    spread = distance / p.scale
    t1 = torch.log(ratio)
    t2 = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * spread.pow(2))
    t3 = distance * torch.erf(math.sqrt(0.5) * spread)
    return -t1 + (t2 + t3) / q.scale - (0.5 * (1.0 + math.log(0.5 * math.pi)))


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    t1 = (math.sqrt(math.pi * 2) * q.scale / width).log()
    return t1 + 0.5 * (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / q.scale.pow(2)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return torch.where(p.low < 0, math.inf, result)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: of Independent with the same reinterpreted_batch_ndims only")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _always_infinite(*pairs: tuple[type, type]) -> None:
    for pair in pairs:
        register_kl(*pair)(
            lambda p, q: _infinite_like(
                getattr(p, next((k for k in p.arg_constraints if k in p.__dict__), next(iter(p.arg_constraints))))
            )
        )


_always_infinite(
    (Exponential, Beta), (Exponential, Pareto), (Exponential, Uniform), (Gamma, Beta),
    (Gamma, Pareto), (Gamma, Uniform), (Laplace, Beta), (Laplace, Exponential), (Laplace, Gamma), (Laplace, Pareto),
    (Laplace, Uniform), (Normal, Beta), (Normal, Exponential), (Normal, Gamma), (Normal, Pareto), (Normal, Uniform),
    (Poisson, Bernoulli), (Poisson, Binomial),
)  # fmt: skip
