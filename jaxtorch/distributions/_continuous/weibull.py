"""The Weibull distribution with two parameters."""

from __future__ import annotations

from typing import Any

from .. import constraints
from .._torch import Tensor, torch
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, PowerTransform
from ..utils import broadcast_all, euler_constant
from .exponential import Exponential

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution with two parameters."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale),
        ]  # fmt: skip
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale = self.scale.expand(batch_shape)
        new.concentration = self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        k = self.concentration_reciprocal
        return self.scale.pow(2) * (torch.exp(torch.lgamma(1 + 2 * k)) - torch.exp(2 * torch.lgamma(1 + k)))

    def entropy(self) -> Tensor:
        k = self.concentration_reciprocal
        return euler_constant * (1 - k) + torch.log(self.scale * k) + 1
