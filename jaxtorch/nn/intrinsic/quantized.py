"""`torch.nn.intrinsic.quantized`: the old name of `torch.ao.nn.intrinsic.quantized`."""

from typing import Any

from ...ao.nn.intrinsic import quantized as _quantized


def __getattr__(name: str) -> Any:
    return getattr(_quantized, name)
