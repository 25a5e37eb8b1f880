"""Linear layers whose weight is rounded as quantising would, in training."""

from __future__ import annotations

from typing import Any

from ..... import nn
from .....nn import functional as F

__all__ = ["Linear"]


def copy_weights(made: Any, mod: Any) -> Any:
    """The layer `made`, with the parameters and the mode of a float one."""
    made.weight, made.bias = mod.weight, mod.bias
    made.train(mod.training)
    return made


def config_of(mod: Any, kinds: tuple[type, ...], cls: Any) -> Any:
    """The `qconfig` of a float layer of one of these types; AssertionError where it has none."""
    if type(mod) not in kinds:
        raise AssertionError(f"qat.{cls.__name__}.from_float only works for {kinds[0].__name__}")
    if not getattr(mod, "qconfig", None):
        raise AssertionError("Input float module must have a valid qconfig")
    return mod.qconfig


class Linear(nn.Linear):
    """A linear layer whose weight (out_features, in_features) goes through `weight_fake_quant`, made by `qconfig.weight()`."""

    _FLOAT_MODULE = nn.Linear

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one, whose parameters it shares."""
        kinds = (cls._FLOAT_MODULE, nn.modules.linear.NonDynamicallyQuantizableLinear)
        config = config_of(mod, kinds, cls)
        relu = type(mod).__name__ == "LinearReLU"
        mod = mod[0] if relu else mod
        made = cls(mod.in_features, mod.out_features, bias=mod.bias is not None, qconfig=config)
        return copy_weights(made, mod)

    def to_float(self) -> nn.Linear:
        """The float layer with these parameters."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made
