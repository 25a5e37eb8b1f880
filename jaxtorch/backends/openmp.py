"""`torch.backends.openmp`: jaxtorch does not use OpenMP itself."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Always False: XLA brings its own kernels."""
    return False
