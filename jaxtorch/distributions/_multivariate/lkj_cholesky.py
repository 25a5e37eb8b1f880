"""The LKJ distribution of the Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from .. import constraints
from .._continuous.beta import Beta
from .._torch import Tensor, torch
from ..distribution import Distribution
from ..utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors of `dim` x `dim` correlation matrices C, with density proportional to det(C)^(concentration - 1).

    Lewandowski, Kurowicka and Joe, Generating random correlation matrices based on vines and extended onion method, 2009.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: Any = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        event_shape = torch.Size((dim, dim))
        # Row i + 1 of the factor lies on a ball of i + 1 dimensions, and its squared radius is a beta variable.
        order = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        order = torch.cat([torch.zeros_like(order[:1]), order])
        rest = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * order
        self._beta = Beta(order + 0.5, rest)
        super().__init__(self.concentration.size(), event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = torch.Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand((*batch_shape, self.dim))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = torch.randn(shape, dtype=squared.dtype, device=squared.device).tril(-1)
            sphere = normal / normal.norm(dim=-1, keepdim=True)
            sphere[..., 0, :] = 0.0  # the first row is a unit vector already
            w = squared.sqrt() * sphere
            tiny = torch.finfo(w.dtype).tiny
            return w + torch.diag_embed((1 - (w**2).sum(-1)).clamp(min=tiny).sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        n = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        alpha = self.concentration + 0.5 * n
        normalizer = 0.5 * n * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n) - torch.lgamma(alpha) * n
        return (order * diagonal.log()).sum(-1) - normalizer
