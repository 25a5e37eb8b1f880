"""`torch._custom_ops`: old names of `torch.library`."""

from __future__ import annotations

from typing import Any

from ..library import impl as _impl
from ..library import register_fake as _register_fake

__all__ = ["impl", "impl_abstract"]


def impl(qualname: str, *, device_types: Any = ("cpu", "cuda"), func: Any = None) -> Any:
    """As `torch.library.impl`."""
    return _impl(qualname, device_types, func)


def impl_abstract(qualname: str, *, func: Any = None) -> Any:
    """As `torch.library.register_fake`."""
    return _register_fake(qualname, func)
