"""`torch.mps`: Apple's GPUs, which jaxtorch does not run on."""

from __future__ import annotations

from typing import NoReturn

__all__ = [
    "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache", "get_rng_state", "is_available",
    "manual_seed", "seed", "set_rng_state", "synchronize",
]  # fmt: skip


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


def get_rng_state() -> NoReturn:
    """RuntimeError: there is no such device."""
    raise RuntimeError("torch.mps.get_rng_state(): jaxtorch has no MPS backend")


def set_rng_state(new_state: object) -> NoReturn:
    """RuntimeError: there is no such device."""
    raise RuntimeError("torch.mps.set_rng_state(): jaxtorch has no MPS backend")


def current_allocated_memory() -> NoReturn:
    """RuntimeError: there is no such device."""
    raise RuntimeError("torch.mps.current_allocated_memory(): jaxtorch has no MPS backend")


def driver_allocated_memory() -> NoReturn:
    """RuntimeError: there is no such device."""
    raise RuntimeError("torch.mps.driver_allocated_memory(): jaxtorch has no MPS backend")


def seed() -> None:
    """Nothing to do: there is no such device."""
