"""`torch.nn.intrinsic`: the old name of `torch.ao.nn.intrinsic`."""

from typing import Any

from ...ao.nn import intrinsic as _intrinsic


def __getattr__(name: str) -> Any:
    return getattr(_intrinsic, name)
