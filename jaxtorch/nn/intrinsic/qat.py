"""`torch.nn.intrinsic.qat`: the old name of `torch.ao.nn.intrinsic.qat`."""

from typing import Any

from ...ao.nn.intrinsic import qat as _qat


def __getattr__(name: str) -> Any:
    return getattr(_qat, name)
