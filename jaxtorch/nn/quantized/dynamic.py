"""`torch.nn.quantized.dynamic`: the old name of `torch.ao.nn.quantized.dynamic`."""

from typing import Any

from ...ao.nn.quantized import dynamic as _dynamic


def __getattr__(name: str) -> Any:
    return getattr(_dynamic, name)
