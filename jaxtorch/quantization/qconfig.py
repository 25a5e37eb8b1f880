"""`torch.quantization.qconfig`: the old name of `torch.ao.quantization.qconfig`."""

from typing import Any

from ..ao.quantization import qconfig as _qconfig


def __getattr__(name: str) -> Any:
    return getattr(_qconfig, name)
