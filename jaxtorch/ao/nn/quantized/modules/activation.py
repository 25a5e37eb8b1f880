"""Quantised activations: of the values, rounded to the layer's scale and zero point."""

from __future__ import annotations

from typing import Any

from ..... import nn
from ....._quantized import layers
from .....nn import functional as F
from ._scaled import Scaled
from .linear import parameters_of


class Hardswish(Scaled, nn.Hardswish):
    """`hardswish` of quantised tensors."""

    def __init__(self, scale: Any, zero_point: Any, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self._named(scale, zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one."""
        return cls(*parameters_of(mod))


class ELU(nn.ELU):
    """`elu` of quantised tensors."""

    def __init__(self, scale: Any, zero_point: Any, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def _get_name(self) -> str:
        return "QuantizedELU"

    def forward(self, input: Any) -> Any:
        return layers.through(lambda x: F.elu(x, self.alpha), input, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one."""
        return cls(*parameters_of(mod), mod.alpha)


class LeakyReLU(Scaled, nn.LeakyReLU):
    """`leaky_relu` of quantised tensors."""

    def __init__(
        self, scale: float, zero_point: int, negative_slope: float = 1e-2, inplace: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(negative_slope, inplace)
        self._named(scale, zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one."""
        return cls(*parameters_of(mod), mod.negative_slope, mod.inplace)


class Sigmoid(nn.Sigmoid):
    """`sigmoid` of quantised tensors."""

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: Any) -> Any:
        return layers.through(F.sigmoid, input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one."""
        return cls(*parameters_of(mod))


class Softmax(nn.Softmax):
    """`softmax` of quantised tensors."""

    def __init__(self, dim: Any = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__(dim)
        self.scale, self.zero_point = scale, zero_point

    def _get_name(self) -> str:
        return "QuantizedSoftmax"

    def forward(self, input: Any) -> Any:
        return layers.through(super().forward, input, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one."""
        return cls(mod.dim, *parameters_of(mod))


class ReLU6(nn.ReLU):
    """Quantised values within [0, 6]."""

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    def forward(self, input: Any) -> Any:
        return F.relu6(input, self.inplace)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one."""
        return cls(mod.inplace)
