"""`torch.nn.quantizable`: the old name of `torch.ao.nn.quantizable`."""

from typing import Any

from ...ao.nn import quantizable as _quantizable


def __getattr__(name: str) -> Any:
    return getattr(_quantizable, name)
