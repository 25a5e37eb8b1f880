"""A linear layer with batch normalisation in training, whose weight is rounded as it will be once both are one layer."""

from __future__ import annotations

from typing import Any

from ...... import nn
from ......_core.define.op import functions
from ......nn import functional as F
from ......nn.utils.fusion import fuse_linear_bn_weights
from ....qat.modules.linear import config_of
from ...modules import fused

__all__ = ["LinearBn1d"]


class LinearBn1d(nn.Linear):
    """A linear layer whose weight is scaled by batch normalisation's running statistics and then rounded."""

    _FLOAT_MODULE = fused.LinearBn1d
    _fused = True
    bn: Any

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-05, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, False)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = nn.BatchNorm1d(out_features, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        if bias:
            self.bias = nn.Parameter(functions["empty"](out_features))
        self.bn.reset_running_stats()
        nn.init.uniform_(self.bn.weight)
        nn.init.zeros_(self.bn.bias)
        if self.bias is not None:
            bound = 1 / in_features**0.5
            nn.init.uniform_(self.bias, -bound, bound)
        self.update_bn_stats() if self.training and not freeze_bn else self.freeze_bn_stats()

    def update_bn_stats(self) -> LinearBn1d:
        """Let training change the running statistics."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> LinearBn1d:
        """Normalise by the running statistics as they are."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode: bool = True) -> LinearBn1d:
        """As `nn.Module.train`; frozen statistics stay so."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    def forward(self, input: Any) -> Any:
        factor = self.bn.weight / functions["sqrt"](self.bn.running_var + self.bn.eps)
        weight = self.weight_fake_quant(self.weight * factor.reshape(-1, 1))
        out = F.linear(input, weight) / factor.reshape(1, -1)
        return self.bn(out if self.bias is None else out + self.bias.reshape(1, -1))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LinearBn1d:
        """The layer of a fused float one, whose parameters it shares."""
        config = config_of(mod, (cls._FLOAT_MODULE,), cls)
        linear, bn = mod[0], mod[1]
        bias = linear.bias is not None
        made = cls(linear.in_features, linear.out_features, bias, bn.eps, bn.momentum, False, config)
        made.weight, made.bias = linear.weight, linear.bias
        made.bn.weight, made.bn.bias = bn.weight, bn.bias
        made.bn.running_mean, made.bn.running_var = bn.running_mean, bn.running_var
        made.bn.num_batches_tracked = bn.num_batches_tracked
        return made

    def joined(self) -> tuple[Any, Any]:
        """(weight, bias) of the one linear layer that this is in evaluation."""
        bn = self.bn
        bias = functions["zeros_like"](bn.running_mean) if self.bias is None else self.bias
        return fuse_linear_bn_weights(self.weight, bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
