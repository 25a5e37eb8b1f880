"""`torch.backends.mps`: Apple's GPUs, which jaxtorch does not run on."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Always False."""
    return False


def is_built() -> bool:
    """Always False."""
    return False
