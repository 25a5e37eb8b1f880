"""`torch._C._functorch`: questions that libraries ask about the transforms of `torch.func`."""

from __future__ import annotations

from typing import Any


def is_batchedtensor(t: Any) -> bool:
    """False: under `vmap` tensors hold JAX's tracers and have no class of their own."""
    return False


def is_gradtrackingtensor(t: Any) -> bool:
    """False: under `grad` tensors hold JAX's tracers and have no class of their own."""
    return False


def is_functionaltensor(t: Any) -> bool:
    """False: there is no functionalization."""
    return False


def is_legacy_batchedtensor(t: Any) -> bool:
    """False: `torch._vmap_internals.vmap` is `torch.func.vmap` here."""
    return False


def maybe_current_level() -> None:
    """None: there are no levels."""
