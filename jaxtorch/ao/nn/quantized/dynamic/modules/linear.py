"""Linear layers with integer weights that round each input to integers of its own range."""

from __future__ import annotations

from typing import Any

from ...... import _quantized
from ......_core.define.op import functions
from ......_core.types import dtypes
from ......_ops.quantized.quantize import _linear_dynamic
from ......_ops.types import constants
from ......nn import Module
from .....quantization.observer import default_weight_observer

__all__ = ["Linear"]


class LinearPackedParams(Module):
    """The weight (a tensor of `qint8`) and the bias of a layer, as they stand in its `state_dict`."""

    _version = 3
    _packed_params: Any

    def __init__(self, dtype: Any = dtypes.qint8) -> None:
        super().__init__()
        self.dtype = dtype
        self._packed_params = (
            _quantized._empty_affine_quantized([1, 1], scale=1, zero_point=0, dtype=dtypes.qint8),
            None,
        )

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Take over both."""
        self._packed_params = (weight, bias)

    def _weight_bias(self) -> Any:
        return self._packed_params

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._packed_params

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, *args: Any
    ) -> None:
        for name in ("dtype", "_packed_params"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict.pop(prefix + name))
            elif strict:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, *args)

    def __repr__(self) -> str:
        return repr(self._packed_params)


class PackedLinear(Module):
    """What linear layers whose weight is kept in 8 bits have in common."""

    _version = 3
    scale: Any
    zero_point: Any

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = dtypes.qint8) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        weight = _quantized._empty_affine_quantized([out_features, in_features], scale=1, zero_point=0, dtype=dtype)
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, functions["zeros"](out_features) if bias_ else None)
        self.scale, self.zero_point = 1.0, 0

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def weight(self) -> Any:
        """The weight, a tensor of `torch.qint8`."""
        return self._packed_params._packed_params[0]

    def bias(self) -> Any:
        """The bias, or None."""
        return self._packed_params._packed_params[1]

    def _weight_bias(self) -> Any:
        return self._packed_params._packed_params

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take over a weight of `torch.qint8` and a bias."""
        self._packed_params.set_weight_bias(w, b)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = functions["tensor"](self.scale)
        destination[prefix + "zero_point"] = functions["tensor"](self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, *args: Any
    ) -> None:
        for name, kind in (("scale", float), ("zero_point", int)):
            if prefix + name in state_dict:
                setattr(self, name, kind(state_dict.pop(prefix + name)))
            elif strict:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, *args)


class Linear(PackedLinear):
    """A linear layer whose weight is kept in 8 bits; inputs (..., in_features) in float32 are rounded to 7 bits of their own range.

    The result (..., out_features) is float32 and has no gradient. NotImplementedError for another `dtype` than `torch.qint8`.
    """

    _version = 4

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = dtypes.qint8) -> None:
        if dtype is not dtypes.qint8:
            raise NotImplementedError(
                f"torch.ao.nn.quantized.dynamic.Linear: jaxtorch has it for torch.qint8, not {dtype}"
            )
        super().__init__(in_features, out_features, bias_, dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def forward(self, x: Any) -> Any:
        if x.dtype is not dtypes.float32:
            raise RuntimeError(f"quantized::linear_dynamic: expected an input of dtypes.float32, but got {x.dtype}")
        weight, bias = self._weight_bias()
        if x.shape[-1] != weight.shape[1]:
            raise RuntimeError(f"The number of features in the input must be {weight.shape[1]}, but got {x.shape[-1]}")
        scale, zero = weight._scheme.arrays(2, x.device)
        return _linear_dynamic(x.detach(), weight._ints, scale, zero, None if bias is None else bias.detach(), 127)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """The layer of a float one, whose `qconfig` says how its weight is observed; by default the largest value counts."""
        config = getattr(mod, "qconfig", None)
        observer = (config.weight if config is not None else default_weight_observer)()
        observer(mod.weight)
        scale, zero = observer.calculate_qparams()
        weight = mod.weight.detach().float()
        if observer.qscheme in (constants.per_channel_affine, constants.per_channel_symmetric):
            held = _quantized.quantize_per_channel(weight, scale.double(), zero.long(), 0, dtypes.qint8)
        else:
            held = _quantized.quantize_per_tensor(weight, float(scale), int(zero), dtypes.qint8)
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(held, mod.bias)
        return made
