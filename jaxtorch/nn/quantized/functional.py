"""`torch.nn.quantized.functional`: the old name of `torch.ao.nn.quantized.functional`."""

from typing import Any

from ...ao.nn.quantized import functional as _functional


def __getattr__(name: str) -> Any:
    return getattr(_functional, name)
