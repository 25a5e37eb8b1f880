"""`torch.quantization.stubs`: the old name of `torch.ao.quantization.stubs`."""

from typing import Any

from ..ao.quantization import stubs as _stubs


def __getattr__(name: str) -> Any:
    return getattr(_stubs, name)
