"""`torch.ao.quantization`: observers, fake quantisation, and models whose layers compute on integers, in eager mode.

The graph modes (`prepare_fx`, `QConfigMapping`) raise NotImplementedError.
"""

# ruff: noqa: F403, F405 - the names of these modules are the package's
from __future__ import annotations

from typing import Any

from .fake_quantize import *
from .fuse_modules import (
    fuse_modules,
    fuse_modules_qat,
)
from .fuser_method_mappings import *
from .observer import *
from .qconfig import *
from .quant_type import QuantType
from .quantization_mappings import *
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
from .stubs import *

__all__ = [
    "QuantType",
    "add_quant_dequant",
    "convert",
    "default_eval_fn",
    "fuse_modules",
    "fuse_modules_qat",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
    "swap_module",
]
__all__ += fake_quantize.__all__
__all__ += fuser_method_mappings.__all__
__all__ += observer.__all__
__all__ += qconfig.__all__
__all__ += quantization_mappings.__all__
__all__ += stubs.__all__


def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Run the model on the first entry of each pair."""
    for data, _ in calib_data:
        model(data)
