"""`ExponentialFamily`."""

from __future__ import annotations

from typing import Any

from .._private_names.absent import undefined
from ..autograd._gradients import grad
from ._torch import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(t(x) . theta - F(theta) + k(x)); the entropy comes from the gradient of F (Nielsen and Nock, 2010)."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise undefined(self, "_natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise undefined(self, "_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> float:
        raise undefined(self, "_mean_carrier_measure")

    def entropy(self) -> Tensor:
        params = [p.detach().requires_grad_() for p in self._natural_params]
        log_normal = self._log_normalizer(*params)
        result = -self._mean_carrier_measure + log_normal
        for p, g in zip(params, grad(log_normal.sum(), params, create_graph=True), strict=True):
            result = result - (p * g).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
