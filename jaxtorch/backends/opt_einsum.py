"""`torch.backends.opt_einsum`: the order in which `einsum` contracts; JAX always optimises it."""

from __future__ import annotations

__all__ = ["enabled", "is_available", "strategy"]

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """Always True: JAX depends on opt_einsum."""
    return True
