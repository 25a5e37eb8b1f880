"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import constraints
from .._torch import Tensor, torch
from ..distribution import Distribution
from ..utils import _standard_normal, alias, broadcast_all
from .chi2 import Chi2

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    mode = alias("loc")

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return torch.where(self.df > 2, finite, math.inf).masked_fill(self.df <= 1, math.nan)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(StudentT, batch_shape, "df loc scale", _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * x * torch.rsqrt(z / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        y = (value - self.loc) / self.scale
        norm = (
            self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1.0))
        )  # fmt: skip
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(0.5 * (self.df + 1))
        difference = torch.digamma(0.5 * (self.df + 1)) - torch.digamma(half)
        return self.scale.log() + 0.5 * (self.df + 1) * difference + 0.5 * self.df.log() + beta
