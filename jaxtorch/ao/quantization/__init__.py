"""`torch.ao.quantization`: observers, fake quantisation, `quantize_dynamic` of linear layers, and the stubs that models carry.

Static quantisation (`prepare`, `convert`) raises NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from ..._absent import absent as _absent
from ...nn import Module
from .fake_quantize import _ABSENT as _ABSENT_FAKE_QUANTIZE
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
from .observer import _ABSENT as _ABSENT_OBSERVERS
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
from .qconfig import _ABSENT as _ABSENT_QCONFIG
from .qconfig import _REASON, QConfig, default_dynamic_qconfig, per_channel_dynamic_qconfig
from .quantize import _ABSENT as _ABSENT_QUANTIZE
from .quantize import quantize_dynamic
from .stubs import DeQuantStub, QuantStub, QuantWrapper

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
    _absent(__name__, "QConfigMapping get_default_qconfig_mapping get_default_qat_qconfig_mapping", _REASON)
    | _ABSENT_FAKE_QUANTIZE
    | _ABSENT_OBSERVERS
    | _ABSENT_QCONFIG
    | _ABSENT_QUANTIZE
)


def fuse_modules(model: Module, modules_to_fuse: Any, inplace: bool = False, **kwargs: Any) -> Module:
    """The model as it is: XLA fuses what it can."""
    import copy

    return model if inplace else copy.deepcopy(model)


fuse_modules_qat = fuse_modules
