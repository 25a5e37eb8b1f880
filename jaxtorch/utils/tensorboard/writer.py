"""`torch.utils.tensorboard.writer`: the writers under the name of PyTorch's file."""

from __future__ import annotations

from . import __getattr__

__all__ = ["__getattr__"]
