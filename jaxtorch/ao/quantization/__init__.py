"""`torch.ao.quantization`: observers, fake quantisation, and models whose layers compute on integers, in eager mode.

The graph modes (`prepare_fx`, `QConfigMapping`) raise NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from .fake_quantize import (
    FakeQuantize,
    FakeQuantizeBase,
    FixedQParamsFakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_affine_fixed_qparams_fake_quant,
    default_dynamic_fake_quant,
    default_fake_quant,
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_histogram_fake_quant,
    default_per_channel_weight_fake_quant,
    default_symmetric_fixed_qparams_fake_quant,
    default_weight_fake_quant,
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    enable_observer,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
    fused_wt_fake_quant_range_neg_127_to_127,
)
from .fuse_modules import (
    fuse_modules,
    fuse_modules_qat,
)
from .fuser_method_mappings import (
    fuse_conv_bn,
    fuse_conv_bn_relu,
    fuse_convtranspose_bn,
    fuse_linear_bn,
    get_fuser_method,
)
from .observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    RecordingObserver,
    UniformQuantizationObserverBase,
    default_affine_fixed_qparams_observer,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    default_histogram_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_symmetric_fixed_qparams_observer,
    default_weight_observer,
    get_observer_state_dict,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)
from .qconfig import (
    QConfig,
    default_activation_only_qconfig,
    default_debug_qconfig,
    default_dynamic_qat_qconfig,
    default_dynamic_qconfig,
    default_per_channel_qconfig,
    default_qat_qconfig,
    default_qat_qconfig_v2,
    default_qconfig,
    default_symmetric_qnnpack_qat_qconfig,
    default_symmetric_qnnpack_qconfig,
    default_weight_only_qconfig,
    float16_dynamic_qconfig,
    float16_static_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
    per_channel_dynamic_qconfig,
)
from .quant_type import QuantType
from .quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    DEFAULT_QAT_MODULE_MAPPINGS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
)
from .quantize import (
    add_quant_dequant,
    convert,
    prepare,
    prepare_qat,
    propagate_qconfig_,
    quantize,
    quantize_dynamic,
    quantize_qat,
    swap_module,
)
from .stubs import (
    DeQuantStub,
    QuantStub,
    QuantWrapper,
)

__all__ = ["DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS", "DEFAULT_QAT_MODULE_MAPPINGS",
           "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "DeQuantStub", "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize",
           "FixedQParamsObserver", "FusedMovingAvgObsFakeQuantize", "HistogramObserver", "MinMaxObserver",
           "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase",
           "PerChannelMinMaxObserver", "PlaceholderObserver", "QConfig", "QuantStub", "QuantType",
           "QuantWrapper", "RecordingObserver",
           "UniformQuantizationObserverBase", "add_quant_dequant", "convert", "default_activation_only_qconfig",
           "default_affine_fixed_qparams_fake_quant", "default_affine_fixed_qparams_observer", "default_debug_observer",
           "default_debug_qconfig", "default_dynamic_fake_quant", "default_dynamic_qat_qconfig", "default_dynamic_qconfig",
           "default_dynamic_quant_observer", "default_eval_fn", "default_fake_quant",
           "default_fixed_qparams_range_0to1_fake_quant", "default_fixed_qparams_range_0to1_observer",
           "default_fixed_qparams_range_neg1to1_fake_quant", "default_fixed_qparams_range_neg1to1_observer",
           "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant",
           "default_histogram_fake_quant", "default_histogram_observer", "default_observer", "default_per_channel_qconfig",
           "default_per_channel_weight_fake_quant", "default_per_channel_weight_observer", "default_placeholder_observer",
           "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_symmetric_fixed_qparams_fake_quant",
           "default_symmetric_fixed_qparams_observer", "default_symmetric_qnnpack_qat_qconfig",
           "default_symmetric_qnnpack_qconfig", "default_weight_fake_quant", "default_weight_observer",
           "default_weight_only_qconfig", "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer",
           "float16_dynamic_qconfig", "float16_static_qconfig", "fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn",
           "fuse_linear_bn", "fuse_modules", "fuse_modules_qat",
           "fused_per_channel_wt_fake_quant_range_neg_127_to_127", "fused_wt_fake_quant_range_neg_127_to_127",
           "get_default_dynamic_quant_module_mappings", "get_default_qat_module_mappings", "get_default_qat_qconfig",
           "get_default_qconfig", "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings",
           "get_fuser_method", "get_observer_state_dict", "per_channel_dynamic_qconfig",
           "per_channel_weight_observer_range_neg_127_to_127", "prepare", "prepare_qat", "propagate_qconfig_", "quantize",
           "quantize_dynamic", "quantize_qat", "swap_module", "weight_observer_range_neg_127_to_127"]  # fmt: skip


def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Run the model on the first entry of each pair."""
    for data, _ in calib_data:
        model(data)
