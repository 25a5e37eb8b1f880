"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from .. import constraints
from .._torch import F, Tensor, torch
from ..exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """`torch._sample_dirichlet`: a sample for the concentrations in the last dimension."""
    parts = torch._standard_gamma(input.double(), generator=generator)
    limits = torch.finfo(input.dtype)
    return (parts / parts.sum(-1, keepdim=True)).to(input.dtype).clamp(limits.tiny, 1 - limits.eps / 2)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution with concentrations (..., K).

    The gradient of `rsample` is that of normalized gamma variables; PyTorch uses another unbiased one.
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: Any = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Dirichlet, batch_shape, "concentration", _instance, {"concentration": self.event_shape})

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        a = self.concentration
        return torch.xlogy(a - 1.0, value).sum(-1) + torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1)
        best = F.one_hot(mode.argmax(dim=-1), less.shape[-1]).to(mode)
        return torch.where(flat.unsqueeze(-1), best, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        k = self.concentration.size(-1)
        a = self.concentration
        total = a.sum(-1)
        return (
            torch.lgamma(a).sum(-1) - torch.lgamma(total) - (k - total) * torch.digamma(total)
            - ((a - 1.0) * torch.digamma(a)).sum(-1)
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Tensor:
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
