"""`torch.quantization.quantize`: the old name of `torch.ao.quantization.quantize`."""

from importlib import import_module
from typing import Any

_quantize = import_module("..ao.quantization.quantize", __package__)  # a function has the name in that package


def __getattr__(name: str) -> Any:
    return getattr(_quantize, name)
