"""`torch.backends.mps`: Apple's GPUs, which jaxtorch does not run on."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_available() -> bool:
    """Always False."""
    return False


def is_built() -> bool:
    """Always False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """RuntimeError: there is no such device."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """RuntimeError: there is no such device."""
    return is_macos_or_newer(13, minor)
