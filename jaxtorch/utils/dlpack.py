"""`torch.utils.dlpack`: memory that libraries share."""

from __future__ import annotations

from typing import Any

from .._core.tensor.tensor import Tensor
from .._tensor.interop import DLDeviceType, from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of a tensor."""
    return tensor.__dlpack__()
