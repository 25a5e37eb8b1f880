"""Quantised layer and group normalisation."""

from __future__ import annotations

from typing import Any

from ..... import nn
from ._scaled import Scaled
from .linear import parameters_of


class LayerNorm(Scaled, nn.LayerNorm):
    """Layer normalisation of quantised tensors."""

    def __init__(
        self, normalized_shape: Any, weight: Any, bias: Any, scale: Any, zero_point: Any, eps: float = 1e-5,
        elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine)
        self.weight, self.bias = weight, bias
        self._named(scale, zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one."""
        return cls(mod.normalized_shape, mod.weight, mod.bias, *parameters_of(mod), mod.eps, mod.elementwise_affine)


class GroupNorm(Scaled, nn.GroupNorm):
    """Group normalisation of quantised tensors."""

    def __init__(
        self, num_groups: int, num_channels: int, weight: Any, bias: Any, scale: Any, zero_point: Any, eps: float = 1e-5,
        affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_groups, num_channels, eps, affine)
        self.weight, self.bias = weight, bias
        self._named(scale, zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one."""
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *parameters_of(mod), mod.eps, mod.affine)
