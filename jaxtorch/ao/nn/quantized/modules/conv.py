"""Convolutions on integers."""

from __future__ import annotations

from typing import Any

from ....._core.define.op import functions
from ....._private_names.absent import absent
from ....._quantized import layers
from .....nn import Module
from .....nn.modules.utils import _pair, _single, _triple
from .linear import empty_weight, number, parameters_of, quantized_weight

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _Conv(Module):
    """A convolution of quantised tensors, whose results have its `scale` and `zero_point`."""

    _sizes: Any = staticmethod(_pair)
    _relu = False
    scale: Any
    zero_point: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        sizes = self._sizes
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size, self.stride, self.dilation = sizes(kernel_size), sizes(stride), sizes(dilation)
        self.padding = padding if isinstance(padding, str) else sizes(padding)
        self.output_padding = sizes(0)
        self.transposed = False
        self._weight = empty_weight([out_channels, in_channels // groups, *self.kernel_size])
        self._bias = functions["zeros"](out_channels) if bias else None
        self.scale, self.zero_point = 1.0, 0

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", scale={self.scale}, zero_point={self.zero_point}"
        none = (0,) * len(self.kernel_size)
        text += f", padding={self.padding}" if self.padding != none else ""
        text += f", dilation={self.dilation}" if self.dilation != (1,) * len(self.dilation) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False" if self._bias is None else "")

    def weight(self) -> Any:
        """The weight, a tensor of `torch.qint8`."""
        return self._weight

    def bias(self) -> Any:
        """The bias, or None."""
        return self._bias

    def _weight_bias(self) -> Any:
        return self._weight, self._bias

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take over a weight of `torch.qint8` and a bias."""
        object.__setattr__(self, "_weight", w)
        object.__setattr__(self, "_bias", b)

    def forward(self, input: Any) -> Any:
        if input.dim() != len(self.kernel_size) + 2:
            raise ValueError(f"Input shape must be `(N, C, {'D, H, W'[3 * (3 - len(self.kernel_size)) :]})`!")
        return layers.conv(
            input, self._weight, self._bias, self.stride, self.padding, self.dilation, self.groups, self.scale,
            self.zero_point, self._relu, self.padding_mode,
        )  # fmt: skip

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ("weight", "bias"):
            destination[prefix + name] = getattr(self, "_" + name)
        for name in ("scale", "zero_point"):
            destination[prefix + name] = number(getattr(self, name))

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, *args: Any
    ) -> None:
        given = {
            n: state_dict.pop(prefix + n) for n in ("weight", "bias", "scale", "zero_point") if prefix + n in state_dict
        }
        missing_keys += [prefix + n for n in ("weight", "bias", "scale", "zero_point") if strict and n not in given]
        self.set_weight_bias(given.get("weight", self._weight), given.get("bias", self._bias))
        self.scale, self.zero_point = (
            float(given.get("scale", self.scale)),
            int(given.get("zero_point", self.zero_point)),
        )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, *args)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed float one, or of one trained with rounding."""
        scale, zero = parameters_of(mod)
        inner = mod if hasattr(mod, "weight_fake_quant") else mod[0] if hasattr(mod, "__getitem__") else mod
        if hasattr(mod, "joined"):
            mod.weight, mod.bias = mod.joined()
        if not hasattr(mod, "weight_fake_quant"):
            inner.qconfig = mod.qconfig
        made = cls(
            inner.in_channels, inner.out_channels, inner.kernel_size, inner.stride, inner.padding, inner.dilation,
            inner.groups, inner.bias is not None, inner.padding_mode,
        )  # fmt: skip
        made.set_weight_bias(quantized_weight(inner, inner.weight, use_precomputed_fake_quant), inner.bias)
        made.scale, made.zero_point = scale, zero
        return made


class Conv1d(_Conv):
    """A convolution of quantised tensors (N, C, L)."""

    _sizes = staticmethod(_single)


class Conv2d(_Conv):
    """A convolution of quantised tensors (N, C, H, W)."""


class Conv3d(_Conv):
    """A convolution of quantised tensors (N, C, D, H, W)."""

    _sizes = staticmethod(_triple)


globals().update(
    absent(
        __name__,
        "ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "jaxtorch has no quantised transposed convolutions",
    )
)
