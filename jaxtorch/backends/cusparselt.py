"""`torch.backends.cusparselt`: kernels for semi-structured sparse tensors, which jaxtorch does not use."""

from __future__ import annotations

__all__ = ["get_max_alg_id", "is_available", "version"]


def is_available() -> bool:
    """Always False: jaxtorch has no semi-structured sparse tensors."""
    return False


def version() -> int | None:
    """Always None, see `is_available`."""
    return None


def get_max_alg_id() -> int | None:
    """Always None, see `is_available`."""
    return None
