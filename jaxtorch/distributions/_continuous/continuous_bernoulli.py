"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import constraints
from .._families import Binary
from .._torch import F, Tensor, torch
from ..exp_family import ExponentialFamily
from ..utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Binary, ExponentialFamily):
    """Numbers in [0, 1] with a density proportional to probs^x (1 - probs)^(1 - x).

    lims: between these probabilities, around 1/2, formulas with a division by 1 - 2 probs give way to Taylor expansions.
    Loaiza-Ganem and Cunningham, The continuous Bernoulli: fixing a pervasive error in variational autoencoders, 2019.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: Any = None,
    ) -> None:
        self._give(probs, logits)
        if logits is None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        number = isinstance(probs if logits is None else logits, int | float)
        self._lims = lims
        super().__init__(torch.Size() if number else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ContinuousBernoulli, _instance)
        new._lims = self._lims
        for name in ("probs", "logits"):
            if name in self.__dict__:
                new.__dict__[name] = new._param = getattr(self, name).expand(torch.Size(batch_shape))
        ExponentialFamily.__init__(new, torch.Size(batch_shape), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter, in (0, 1)."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> tuple[Tensor, Tensor, Tensor]:
        """Where `probs` is far enough from 1/2; `probs` there, and a number that does no harm elsewhere; the distance."""
        p = self.probs
        far = (p <= self._lims[0]) | (p > self._lims[1])
        return far, torch.where(far, p, self._lims[0] * torch.ones_like(p)), p - 0.5

    def _cont_bern_log_norm(self) -> Tensor:
        far, p, x = self._stable()
        below = torch.where(p <= 0.5, p, torch.zeros_like(p))
        above = torch.where(p >= 0.5, p, torch.ones_like(p))
        distance = torch.where(p <= 0.5, torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0))
        exact = (torch.log1p(-p) - p.log()).abs().log() - distance
        return torch.where(far, exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x**2) * x**2)

    @property
    def mean(self) -> Tensor:
        far, p, x = self._stable()
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - p.log())
        return torch.where(far, exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        far, p, x = self._stable()
        exact = p * (p - 1.0) / (1.0 - 2.0 * p) ** 2 + 1.0 / (torch.log1p(-p) - p.log()) ** 2
        return torch.where(far, exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x**2) * x**2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        far, p, _ = self._stable()
        exact = (p**value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        found = torch.where(far, exact, value)
        found = torch.where(value <= 0.0, torch.zeros_like(found), found)
        return torch.where(value >= 1.0, torch.ones_like(found), found)

    def icdf(self, value: Tensor) -> Tensor:
        far, p, _ = self._stable()
        exact = (torch.log1p(-p + value * (2.0 * p - 1.0)) - torch.log1p(-p)) / (p.log() - torch.log1p(-p))
        return torch.where(far, exact, value)

    def entropy(self) -> Tensor:
        against = torch.log1p(-self.probs)
        return self.mean * (against - self.probs.log()) - self._cont_bern_log_norm() - against

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Tensor:
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = torch.where(far, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.exp(safe) - 1)) - torch.log(torch.abs(safe))
        return torch.where(far, exact, 0.5 * x + x**2 / 24.0 - x**4 / 2880.0)
