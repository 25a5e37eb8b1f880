"""`torch.ao.quantization`: the stubs that models carry. Quantization itself raises NotImplementedError."""

from __future__ import annotations

from typing import Any

from ..._absent import absent as _absent
from ...nn import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper", "fuse_modules"]

globals().update(
    _absent(
        __name__,
        "QConfig QConfigMapping ObserverBase MinMaxObserver MovingAverageMinMaxObserver PerChannelMinMaxObserver HistogramObserver "
        "FakeQuantizeBase FakeQuantize FixedQParamsFakeQuantize disable_observer enable_observer disable_fake_quant "
        "enable_fake_quant default_observer default_weight_observer default_fake_quant get_default_qconfig get_default_qat_qconfig "
        "get_default_qconfig_mapping quantize quantize_dynamic quantize_qat prepare prepare_qat convert "
        "default_qconfig float_qparams_weight_only_qconfig",
        "jaxtorch has no quantized tensors",
    )
)


class QuantStub(Module):
    """Marks where a model would be quantized; gives back its input."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Marks where a model would be dequantized; gives back its input."""


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant = QuantStub()
        self.dequant = DeQuantStub()
        self.module = module
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))


def fuse_modules(model: Module, modules_to_fuse: Any, inplace: bool = False, **kwargs: Any) -> Module:
    """The model as it is: XLA fuses what it can."""
    import copy

    return model if inplace else copy.deepcopy(model)


fuse_modules_qat = fuse_modules
