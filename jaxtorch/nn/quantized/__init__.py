"""`torch.nn.quantized`: the old name of `torch.ao.nn.quantized`."""

from typing import Any

from ...ao.nn import quantized as _quantized


def __getattr__(name: str) -> Any:
    return getattr(_quantized, name)
