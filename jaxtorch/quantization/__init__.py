"""`torch.quantization`: the old name of `torch.ao.quantization`."""

from typing import Any

from ..ao import quantization as _quantization


def __getattr__(name: str) -> Any:
    return getattr(_quantization, name)
