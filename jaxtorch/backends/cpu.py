"""`torch.backends.cpu`."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Always 'DEFAULT': XLA finds out by itself what the CPU can do."""
    return "DEFAULT"
