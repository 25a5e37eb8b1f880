"""Linear layers on integers."""

from __future__ import annotations

from typing import Any

from ..... import _quantized
from ....._core.define.op import functions
from ....._core.types import dtypes
from ....._ops.types import constants
from ....._quantized import layers
from ..dynamic.modules.linear import LinearPackedParams as LinearPackedParams
from ..dynamic.modules.linear import PackedLinear

__all__ = ["Linear"]


def parameters_of(mod: Any) -> tuple[float, int]:
    """(scale, zero_point) of a layer's results, as its observer has found them."""
    if not hasattr(mod, "activation_post_process"):
        raise AssertionError("Input QAT module must have observer attached")
    scale, zero = mod.activation_post_process.calculate_qparams()
    return float(scale), int(zero)


def quantized_weight(mod: Any, weight: Any, precomputed: bool) -> Any:
    """A layer's weight in integers, by the module that has rounded it in training or by the observer of its `qconfig`."""
    observer = getattr(mod, "weight_fake_quant", None)
    if observer is None:
        observer = mod.qconfig.weight()
    if not precomputed or not hasattr(mod, "weight_fake_quant"):
        observer(weight)
    if observer.dtype is not dtypes.qint8:
        raise AssertionError("Weight observer must have dtype torch.qint8")
    scale, zero = observer.calculate_qparams()
    weight = weight.detach().float()
    if observer.qscheme in (constants.per_channel_affine, constants.per_channel_symmetric):
        return _quantized.quantize_per_channel(weight, scale.double(), zero.long(), observer.ch_axis, dtypes.qint8)
    return _quantized.quantize_per_tensor(weight, float(scale), int(zero), dtypes.qint8)


class Linear(PackedLinear):
    """A linear layer of quantised tensors (..., in_features), whose results have its `scale` and `zero_point`."""

    _relu = False

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = dtypes.qint8) -> None:
        if dtype is not dtypes.qint8:
            raise NotImplementedError(f"torch.ao.nn.quantized.Linear: jaxtorch has it for torch.qint8, not {dtype}")
        super().__init__(in_features, out_features, bias_, dtype)

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def forward(self, x: Any) -> Any:
        weight, bias = self._weight_bias()
        return layers.linear(x, weight, bias, self.scale, self.zero_point, self._relu)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one, or of one trained with rounding."""
        scale, zero = parameters_of(mod)
        inner = mod if hasattr(mod, "weight_fake_quant") else mod[0] if hasattr(mod, "__getitem__") else mod
        if hasattr(mod, "joined"):
            mod.weight, mod.bias = mod.joined()
        if not hasattr(mod, "weight_fake_quant"):
            inner.qconfig = mod.qconfig
        made = cls(inner.in_features, inner.out_features)
        made.set_weight_bias(quantized_weight(inner, inner.weight, use_precomputed_fake_quant), inner.bias)
        made.scale, made.zero_point = scale, zero
        return made


def empty_weight(size: Any) -> Any:
    """A weight of qint8 whose integers are 0."""
    return _quantized._empty_affine_quantized(size, scale=1, zero_point=0, dtype=dtypes.qint8)


def number(value: Any) -> Any:
    """A number as it stands in a `state_dict`."""
    return functions["tensor"](value)
