"""`torch.ao.quantization`: observers, fake quantisation, `quantize_dynamic` of linear layers, and the stubs that models carry.

Static quantisation (`prepare`, `convert`) raises NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from ..._absent import absent as _absent
from ...nn import Module
from .fake_quantize import (
    FakeQuantize,
    FakeQuantizeBase,
    default_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    enable_observer,
)
from .observer import (
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    UniformQuantizationObserverBase,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)
from .qconfig import QConfig, default_dynamic_qconfig, per_channel_dynamic_qconfig
from .quantize import quantize_dynamic

__all__ = [
    "DeQuantStub", "FakeQuantize", "FakeQuantizeBase", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "ObserverBase", "PerChannelMinMaxObserver", "QConfig", "QuantStub", "QuantWrapper",
    "UniformQuantizationObserverBase", "default_dynamic_qconfig", "default_fake_quant", "default_observer",
    "default_per_channel_weight_fake_quant", "default_per_channel_weight_observer", "default_weight_fake_quant",
    "default_weight_observer", "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer", "fuse_modules",
    "per_channel_dynamic_qconfig", "per_channel_weight_observer_range_neg_127_to_127", "quantize_dynamic",
    "weight_observer_range_neg_127_to_127",
]  # fmt: skip

globals().update(
    _absent(
        __name__,
        "QConfigMapping HistogramObserver FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize "
        "FixedQParamsObserver PlaceholderObserver NoopObserver RecordingObserver get_default_qconfig "
        "get_default_qat_qconfig get_default_qconfig_mapping "
        "get_default_qat_qconfig_mapping quantize quantize_qat prepare prepare_qat convert default_qconfig default_qat_qconfig "
        "propagate_qconfig_ swap_module add_quant_dequant float_qparams_weight_only_qconfig float16_dynamic_qconfig",
        "jaxtorch quantises dynamically only, by quantize_dynamic",
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
