"""Dropout layers."""

from __future__ import annotations

from ..._core.tensor.tensor import Tensor
from ..._ops.nn.dropout import check_probability
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool
    _extra_repr_names = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p == p:  # PyTorch refuses NaN where it is used
            check_probability(p)
        self.p = p
        self.inplace = inplace


class Dropout(_DropoutNd):
    """In training, zero elements with probability `p` and scale the rest by 1 / (1 - p); Hinton et al. (2012).

    ValueError for p outside of [0, 1]. On the CPU the mask is the one that PyTorch draws from the same seed.

        >>> _ = torch.manual_seed(0)
        >>> torch.nn.Dropout(0.5)(torch.ones(8))
        tensor([0., 0., 2., 0., 0., 0., 2., 2.])
        >>> torch.nn.Dropout(0.5).eval()(torch.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W); Tompson et al. (2015)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout for SELU networks, which keeps mean and variance (Klambauer et al., 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Alpha dropout of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
