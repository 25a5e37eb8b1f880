"""`torch.utils.tensorboard`: `SummaryWriter`, that of the package tensorboardX."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """tensorboardX's names. ImportError, as in PyTorch without its package, where it is not installed."""
    if name not in ("FileWriter", "RecordWriter", "SummaryWriter"):
        raise AttributeError(f"module 'torch.utils.tensorboard' has no attribute '{name}'")
    try:
        return getattr(importlib.import_module("tensorboardX"), name)
    except ImportError as error:
        raise ImportError(
            f"torch.utils.tensorboard.{name}: jaxtorch's is that of tensorboardX, which is not installed: "
            "pip install tensorboardX"
        ) from error
