"""Quantised batch normalisation by running statistics."""

from __future__ import annotations

from typing import Any

from ..... import nn
from ....._quantized import layers
from .linear import number, parameters_of


class _BatchNorm(nn.modules.batchnorm._BatchNorm):
    """Batch normalisation by running statistics, of quantised tensors."""

    _relu = False
    scale: Any
    zero_point: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(num_features, eps, momentum, True, True)
        self.register_buffer("scale", number(1.0))
        self.register_buffer("zero_point", number(0))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def forward(self, input: Any) -> Any:
        return layers.batch_norm(input, self, self.scale.item(), self.zero_point.item(), self._relu)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one."""
        scale, zero = parameters_of(mod)
        inner = mod[0] if isinstance(mod, nn.Sequential) else mod
        made = cls(inner.num_features, inner.eps)
        made.weight, made.bias = inner.weight, inner.bias
        made.running_mean, made.running_var = inner.running_mean, inner.running_var
        made.scale, made.zero_point = number(scale), number(zero)
        return made


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of quantised tensors (N, C, H, W)."""


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of quantised tensors (N, C, D, H, W)."""
