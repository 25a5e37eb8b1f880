"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import constraints
from .._torch import Tensor, torch
from ..distribution import Distribution
from ..utils import alias, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over the threshold `loc`, with a tail as heavy as `concentration` says: 0 is exponential, below 0 is bounded."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _expands = "loc scale concentration"

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _parts(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is as good as 0, and a concentration that can be divided by."""
        k = self.concentration
        flat = torch.isclose(k, torch.zeros_like(k))
        return flat, torch.where(flat, torch.ones_like(k), k)

    def _standardised(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z = self._standardised(value)
        flat, k = self._parts()
        return torch.where(flat, -z, -(1 + 1 / k) * torch.log1p(k * z)) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than `value`."""
        self._check_sample(value)
        z = self._standardised(value)
        flat, k = self._parts()
        return torch.where(flat, -z, -torch.log1p(k * z) / k)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of at most `value`."""
        return torch.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        flat, k = self._parts()
        survival = torch.log1p(-value)
        return self.loc + self.scale * torch.where(flat, -survival, torch.expm1(-k * survival) / k)

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        return torch.where(k < 1, self.loc + self.scale / (1 - k), torch.full_like(k, math.nan))

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        found = self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))
        return torch.where(k < 0.5, found, torch.full_like(k, math.nan))

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1

    mode = alias("loc")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        k = self.concentration
        above = torch.where(k < 0, self.loc - self.scale / k, torch.full_like(k, math.inf))
        return constraints.interval(self.loc, above)
