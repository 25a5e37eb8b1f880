"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

from .. import constraints
from .._torch import Tensor, torch
from ..distribution import Distribution
from ..utils import _standard_normal, alias, lazy_property
from .multivariate_normal import _batch_mahalanobis, _batch_mv

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T D^-1 W."""
    m = W.size(-1)
    K = torch.matmul(W.mT / D.unsqueeze(-2), W)
    return torch.linalg_cholesky(K + torch.eye(m, dtype=K.dtype, device=K.device))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    Wt_Dinv_x = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, Wt_Dinv_x)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with covariance cov_factor cov_factor^T + diag(cov_diag)."""

    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: Any = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if tuple(cov_factor.shape[-2:-1]) != tuple(event_shape):
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if tuple(cov_diag.shape[-1:]) != tuple(event_shape):
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        batch = torch.broadcast_shapes(tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1]))
        self.loc = loc.expand((*batch, *event_shape))
        self.cov_diag = cov_diag.expand((*batch, *event_shape))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(torch.Size(batch), event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        n = self.event_shape
        event = {"loc": n, "cov_diag": n, "cov_factor": tuple(self.cov_factor.shape[-2:])}
        new = self._expanded(LowRankMultivariateNormal, batch_shape, "loc cov_diag cov_factor", _instance, event)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return new

    mean = mode = alias("loc")

    @lazy_property
    def variance(self) -> Tensor:
        both = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return both.expand((*self._batch_shape, *self._event_shape))

    def _spread(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        W = self._unbroadcasted_cov_factor
        return self._spread(torch.matmul(W, W.mT) + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The covariance's Cholesky factor."""
        return self._spread(torch.linalg_cholesky(self.covariance_matrix))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse covariance."""
        W, D = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        A = torch.linalg_solve_triangular(self._capacitance_tril, W.mT / D.unsqueeze(-2), upper=False)
        return self._spread(torch.diag_embed(D.reciprocal()) - A.mT @ A)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        kind = {"dtype": self.loc.dtype, "device": self.loc.device}
        eps_W = _standard_normal((*shape[:-1], self._unbroadcasted_cov_factor.shape[-1]), **kind)
        eps_D = _standard_normal(shape, **kind)
        return self.loc + _batch_mv(self._unbroadcasted_cov_factor, eps_W) + self._unbroadcasted_cov_diag.sqrt() * eps_D

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        W, D, L = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        distance = _batch_lowrank_mahalanobis(W, D, value - self.loc, L)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + _batch_lowrank_logdet(W, D, L) + distance)

    def entropy(self) -> Tensor:
        W, D, L = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        h = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + _batch_lowrank_logdet(W, D, L))
        return h if len(self._batch_shape) == 0 else h.expand(self._batch_shape)
