"""`torch.nn.qat`: the old name of `torch.ao.nn.qat`."""

from typing import Any

from ...ao.nn import qat as _qat


def __getattr__(name: str) -> Any:
    return getattr(_qat, name)
