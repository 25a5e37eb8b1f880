"""What several distributions share: a probability or its log odds, |x| of a symmetric x, a temperature."""

from __future__ import annotations

import math
from typing import Any

from . import constraints
from ._torch import Tensor, torch
from .transformed_distribution import TransformedDistribution
from .utils import alias, broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def given_one(probs: Any, logits: Any) -> str:
    """'probs' or 'logits': which is given; ValueError unless one of them is."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "probs" if logits is None else "logits"


class Binary:
    """The parameter `probs` or `logits` (log odds), whichever is given; the other is computed when it is asked for."""

    _param: Tensor

    def _give(self, probs: Any, logits: Any, *others: Any) -> list[Tensor]:
        """Set the one that is given, in one shape with the other parameters, which are returned."""
        name = given_one(probs, logits)
        *wide, self._param = broadcast_all(*others, probs if name == "probs" else logits)
        setattr(self, name, self._param)
        return wide

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()


class Half(TransformedDistribution):
    """|x| of a variable x whose distribution `base_dist` is symmetric around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    scale = alias("base_dist.scale", "The scale of x.")

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self._log_density(value)

    def _log_density(self, value: Tensor) -> Tensor:
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class Relaxed(TransformedDistribution):
    """A continuous variable that comes close to a discrete one as the temperature of `base_dist` falls to 0."""

    has_rsample = True

    temperature = alias("base_dist.temperature", "The temperature.")
    logits = alias("base_dist.logits", "Log odds, or log probabilities of several outcomes.")
    probs = alias("base_dist.probs", "Probabilities.")
