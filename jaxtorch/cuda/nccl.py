"""`torch.cuda.nccl`: there is no NCCL; `torch.distributed` has the backend 'gloo'."""

from __future__ import annotations

import warnings
from typing import Any

SUM = 0
"""The only reduction that its functions know by name."""


def is_available(tensors: Any) -> bool:
    """False, with PyTorch's warning."""
    warnings.warn("PyTorch is not compiled with NCCL support", stacklevel=2)
    return False
