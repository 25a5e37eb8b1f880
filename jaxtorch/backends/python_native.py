"""`torch.backends.python_native`: kernels that PyTorch has in languages within Python. jaxtorch has none."""

from __future__ import annotations

__all__ = ["all_dsls", "available_dsls"]

all_dsls: list[str] = []
available_dsls: list[str] = []
