"""`torch.utils.tensorboard`: `SummaryWriter`, that of the package tensorboardX, or one over the package tensorboard."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """tensorboardX's names where it is installed. ModuleNotFoundError where neither is."""
    if name not in ("FileWriter", "RecordWriter", "SummaryWriter"):
        raise AttributeError(f"module 'torch.utils.tensorboard' has no attribute '{name}'")
    for module in ("tensorboardX", __name__ + "._writer"):
        try:
            return getattr(importlib.import_module(module), name)
        except ImportError:
            continue
    raise ModuleNotFoundError(
        f"No module named 'tensorboard': torch.utils.tensorboard.{name} needs it, or tensorboardX: pip install tensorboardX",
        name="tensorboard",
    )
