"""Convolutions with batch normalisation in training, whose weight is rounded as it will be once both are one convolution."""

from __future__ import annotations

from typing import Any

from ...... import nn
from ......_core.define.op import functions
from ......nn import functional as F
from ......nn.utils.fusion import fuse_conv_bn_weights
from ....qat.modules.conv import Conv2d, Conv3d, arguments
from ....qat.modules.linear import config_of
from ...modules import fused

__all__ = ["ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU2d", "ConvReLU3d",
           "freeze_bn_stats", "update_bn_stats"]  # fmt: skip


class _Normed:
    """A convolution whose weight is scaled by batch normalisation's running statistics and then rounded.

    The result is scaled back, so that the normalisation `bn` sees that of the plain convolution.
    """

    _FLOAT_MODULE: Any = None
    _norm: Any = None
    _relu = False
    _fused = True
    qconfig: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: Any = None, padding_mode: str = "zeros", eps: float = 1e-05, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        construct: Any = super().__init__
        construct(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        me: Any = self
        me.freeze_bn = freeze_bn if me.training else True
        me.bn = self._norm(out_channels, eps, momentum, True, True)
        me.weight_fake_quant = qconfig.weight()
        if bias:
            me.bias = nn.Parameter(functions["empty"](out_channels))
        me.reset_bn_parameters()
        me.update_bn_stats() if me.training and not freeze_bn else me.freeze_bn_stats()

    def reset_running_stats(self: Any) -> None:
        """Forget the statistics seen."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self: Any) -> None:
        """Draw the normalisation's parameters, and the bias, anew."""
        self.bn.reset_running_stats()
        nn.init.uniform_(self.bn.weight)
        nn.init.zeros_(self.bn.bias)
        if self.bias is not None:
            fan_in, _ = nn.init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / fan_in**0.5
            nn.init.uniform_(self.bias, -bound, bound)

    def update_bn_stats(self: Any) -> Any:
        """Let training change the running statistics."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self: Any) -> Any:
        """Normalise by the running statistics as they are."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self: Any, mode: bool = True) -> Any:
        """As `nn.Module.train`; frozen statistics stay so."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    def forward(self: Any, input: Any) -> Any:
        factor = self.bn.weight / functions["sqrt"](self.bn.running_var + self.bn.eps)
        ones = [1] * (self.weight.dim() - 1)
        weight = self.weight_fake_quant(self.weight * factor.reshape(-1, *ones))
        out = self._conv_forward(input, weight, None) / factor.reshape(1, -1, *ones[1:])
        if self.bias is not None:
            out = out + self.bias.reshape(1, -1, *ones[1:])
        out = self.bn(out)
        return F.relu(out) if self._relu else out

    @classmethod
    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a fused float one, whose parameters it shares."""
        config = config_of(mod, (cls._FLOAT_MODULE,), cls)
        conv, bn = mod[0], mod[1]
        made = cls(*arguments(conv), bn.eps, bn.momentum, False, config)
        made.weight, made.bias = conv.weight, conv.bias
        made.bn.weight, made.bn.bias = bn.weight, bn.bias
        made.bn.running_mean, made.bn.running_var = bn.running_mean, bn.running_var
        made.bn.num_batches_tracked = bn.num_batches_tracked
        return made

    def joined(self: Any) -> tuple[Any, Any]:
        """(weight, bias) of the one convolution that this is in evaluation."""
        bn = self.bn
        return fuse_conv_bn_weights(self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)


def _normed(name: str, base: Any, norm: Any, floats: Any, relu: bool) -> Any:
    names = {"__module__": __name__, "__doc__": _Normed.__doc__, "_FLOAT_MODULE": floats, "_norm": norm, "_relu": relu}
    return type(name, (_Normed, base), names)


ConvBn1d = _normed("ConvBn1d", nn.Conv1d, nn.BatchNorm1d, fused.ConvBn1d, False)
ConvBn2d = _normed("ConvBn2d", nn.Conv2d, nn.BatchNorm2d, fused.ConvBn2d, False)
ConvBn3d = _normed("ConvBn3d", nn.Conv3d, nn.BatchNorm3d, fused.ConvBn3d, False)
ConvBnReLU1d = _normed("ConvBnReLU1d", nn.Conv1d, nn.BatchNorm1d, fused.ConvBnReLU1d, True)
ConvBnReLU2d = _normed("ConvBnReLU2d", nn.Conv2d, nn.BatchNorm2d, fused.ConvBnReLU2d, True)
ConvBnReLU3d = _normed("ConvBnReLU3d", nn.Conv3d, nn.BatchNorm3d, fused.ConvBnReLU3d, True)


class ConvReLU2d(Conv2d):
    """A convolution with a rounded weight, then `relu`."""

    _FLOAT_MODULE = fused.ConvReLU2d
    _fused = True

    def forward(self, input: Any) -> Any:
        return F.relu(super().forward(input))


class ConvReLU3d(Conv3d):
    """The same in three dimensions."""

    _FLOAT_MODULE = fused.ConvReLU3d
    _fused = True

    def forward(self, input: Any) -> Any:
        return F.relu(super().forward(input))


def update_bn_stats(mod: Any) -> None:
    """For `Module.apply`: let training change the running statistics."""
    if hasattr(mod, "freeze_bn"):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """For `Module.apply`: normalise by the running statistics as they are."""
    if hasattr(mod, "freeze_bn"):
        mod.freeze_bn_stats()
