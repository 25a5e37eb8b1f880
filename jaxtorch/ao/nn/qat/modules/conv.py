"""Convolutions whose weight is rounded as quantising would, in training."""

from __future__ import annotations

from typing import Any

from ..... import nn
from .linear import config_of, copy_weights

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _Rounding:
    """What the three have in common: `weight_fake_quant`, made by `qconfig.weight()`."""

    _FLOAT_MODULE: Any = None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        construct: Any = super().__init__
        construct(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self: Any, input: Any) -> Any:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one, whose parameters it shares."""
        config = config_of(mod, (cls._FLOAT_MODULE,), cls)
        mod = mod[0] if isinstance(mod, nn.Sequential) else mod
        return copy_weights(cls(*arguments(mod), qconfig=config), mod)

    def to_float(self: Any) -> Any:
        """The float layer with these parameters."""
        made = self._float_class()(*arguments(self))
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made

    def _float_class(self: Any) -> Any:
        return {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[self.weight.dim() - 2]


def arguments(mod: Any) -> tuple[Any, ...]:
    """What a convolution was made with."""
    return (
        mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding, mod.dilation, mod.groups,
        mod.bias is not None, mod.padding_mode,
    )  # fmt: skip


class Conv1d(_Rounding, nn.Conv1d):
    """A convolution of one dimension with a rounded weight."""

    _FLOAT_MODULE = nn.Conv1d


class Conv2d(_Rounding, nn.Conv2d):
    """A convolution of two dimensions with a rounded weight."""

    _FLOAT_MODULE = nn.Conv2d


class Conv3d(_Rounding, nn.Conv3d):
    """A convolution of three dimensions with a rounded weight."""

    _FLOAT_MODULE = nn.Conv3d
