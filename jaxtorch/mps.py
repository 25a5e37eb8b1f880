"""`torch.mps`: Apple's GPUs, which jaxtorch does not run on."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "seed", "synchronize"]


def is_available() -> bool:
    """Always False."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


def synchronize() -> NoReturn:
    """RuntimeError: there is no such device."""
    raise RuntimeError("torch.mps.synchronize(): jaxtorch has no MPS backend")


def empty_cache() -> None:
    """Nothing to do: there is no such device."""


def manual_seed(seed: int) -> None:
    """Nothing to do: there is no such device."""


def seed() -> None:
    """Nothing to do: there is no such device."""
