"""Quantised activations and normalisations: of the values, rounded to the layer's `scale` and `zero_point`."""

from __future__ import annotations

from typing import Any

from ..... import nn
from ....._core.op import functions
from ....._quantized import layers
from .....nn import functional as F
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


class _Scaled:
    """A float layer, and the scale and zero point of its results as buffers."""

    def _named(self: Any, scale: Any, zero_point: Any) -> None:
        self.register_buffer("scale", functions["tensor"](scale))
        self.register_buffer("zero_point", functions["tensor"](zero_point))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def forward(self: Any, input: Any) -> Any:
        return layers.through(lambda x: super(_Scaled, self).forward(x).detach(), input, self.scale, self.zero_point)  # pyright: ignore[reportAttributeAccessIssue]


class Hardswish(_Scaled, nn.Hardswish):
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


class LeakyReLU(_Scaled, nn.LeakyReLU):
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


class Dropout(nn.Dropout):
    """The input, in evaluation."""

    def _get_name(self) -> str:
        return "QuantizedDropout"

    def forward(self, input: Any) -> Any:
        return input

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one."""
        return cls(mod.p, mod.inplace)


class LayerNorm(_Scaled, nn.LayerNorm):
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


class GroupNorm(_Scaled, nn.GroupNorm):
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
