"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import constraints
from .._families import Binary
from .._torch import F, Tensor, torch
from ..exp_family import ExponentialFamily
from ..utils import alias, broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(Binary, ExponentialFamily):
    """1 with probability `probs` (or log odds `logits`), and 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _expands = "probs logits _param"

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._give(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = alias("probs")

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        return mode.masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = torch.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Tensor:
        return torch.log1p(torch.exp(x))
