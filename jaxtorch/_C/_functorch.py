"""`torch._C._functorch`: questions that libraries ask about the transforms of `torch.func`."""

from __future__ import annotations

from typing import Any

from .._absent import absent as _absent


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


globals().update(
    _absent(
        __name__,
        "_add_batch_dim _remove_batch_dim _vmap_decrement_nesting _vmap_increment_nesting get_unwrapped",
        "torch.func.vmap is jax.vmap here",
    )
)
