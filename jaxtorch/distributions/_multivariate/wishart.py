"""The Wishart distribution."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import numpy as np

from .. import constraints
from .._torch import Tensor, torch
from ..exp_family import ExponentialFamily
from ..utils import alias, lazy_property
from .multivariate_normal import _precision_to_scale_tril

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """Positive definite matrices: the scatter of `df` normal vectors with one of: covariance, precision, Cholesky factor.

    Samples are Bartlett's (1933): squares of a triangular matrix of normal and chi variables.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1),
        }  # fmt: skip

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: Any = None,
    ) -> None:  # fmt: skip
        given = {"covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix}
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        n = matrix.shape[-1]
        if not isinstance(df, (Tensor, numbers.Number)) or isinstance(df, np.generic):
            raise AttributeError(f"'{type(df).__name__}' object has no attribute 'shape'")
        df = df if isinstance(df, Tensor) else torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = torch.Size(torch.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(df.shape)))
        if df.le(n - 1).any().item():
            raise ValueError(
                f"Value of df={df.item() if df.dim() == 0 else df} expected to be greater than ndim - 1 = {n - 1}."
            )
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        if df.lt(n).any().item():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = torch.linalg_cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        square = tuple(self._event_shape)
        event = {"df": (), "covariance_matrix": square, "scale_tril": square, "precision_matrix": square}
        new = self._expanded(Wishart, batch_shape, " ".join(event), _instance, event)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _spread(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the scale matrix."""
        return self._spread(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The scale matrix."""
        return self._spread(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the scale matrix."""
        return self._spread(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = torch.where(factor <= 0, torch.full_like(factor, math.nan), factor)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (V.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Any) -> Tensor:
        n = self._event_shape[-1]
        counts = self.df.unsqueeze(-1) - torch.arange(n, dtype=self._scale_type, device=self.df.device)
        shape = (*sample_shape, *self._batch_shape)
        chi = (2.0 * torch._standard_gamma((0.5 * counts).expand((*shape, n)))).clamp(
            min=torch.finfo(counts.dtype).tiny
        )
        noise = torch.diag_embed(chi.sqrt())
        rows, columns = torch.tril_indices(n, n, -1)
        noise[..., rows, columns] = torch.randn((*shape, n * (n - 1) // 2), dtype=noise.dtype, device=noise.device)
        factor = torch.matmul(self._unbroadcasted_scale_tril, noise)
        return torch.matmul(factor, factor.mT)

    _scale_type = alias("_unbroadcasted_scale_tril.dtype")

    def rsample(self, sample_shape: Any = (), max_try_correction: Any = None) -> Tensor:
        if max_try_correction is None:
            max_try_correction = 10
        sample_shape = torch.Size(sample_shape)
        dims = tuple(range(-len(self._batch_shape), 0))
        sample = self._bartlett_sampling(sample_shape)
        # PyTorch draws what passes the check once more, and keeps the second: its numbers are those of the second draw.
        again = self.support.check(sample)
        again = again.amax(dims) if dims else again
        if not again.any().item():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(max_try_correction):
            new = self._bartlett_sampling(again[again].shape)
            sample[again] = new
            singular = ~self.support.check(new)
            again = again.masked_scatter(again, singular.amax(dims) if dims else singular)
            if not again.any().item():
                break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        nu, n, L = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        log_det = L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        trace = torch.cholesky_solve(value, L.expand(value.shape)).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (n * math.log(2) / 2 + log_det) - torch.mvlgamma(nu / 2, n)
            + (nu - n - 1) / 2 * torch.linalg_slogdet(value)[1] - trace / 2
        )  # fmt: skip

    def entropy(self) -> Tensor:
        nu, n = self.df, self._event_shape[-1]
        log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        halves = nu.unsqueeze(-1) / 2 - torch.arange(n, dtype=self._scale_type, device=nu.device) / 2
        return (
            (n + 1) * (n * math.log(2) / 2 + log_det) + torch.mvlgamma(nu / 2, n)
            - (nu - n - 1) / 2 * torch.digamma(halves).sum(-1) + nu * n / 2
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:
        n = self._event_shape[-1]
        return (y + (n + 1) / 2) * (-torch.linalg_slogdet(-2 * x)[1] + n * math.log(2)) + torch.mvlgamma(
            y + (n + 1) / 2, n
        )
