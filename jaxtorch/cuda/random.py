"""`torch.cuda.random`: the names of `torch.cuda` under another address."""

from typing import Any

from .. import cuda as _cuda


def __getattr__(name: str) -> Any:
    return getattr(_cuda, name)
