"""`torch.backends.kleidiai`: kernels for ARM, which jaxtorch does not use."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Always False: XLA brings its own kernels."""
    return False
