"""`torch.backends.opt_einsum`: the order in which `einsum` contracts more than two operands."""

from __future__ import annotations

import sys

from .._ops.einsum import plan_by

__all__ = ["enabled", "is_available", "strategy"]

enabled = True
"""Otherwise from left to right."""
strategy: str | None = "auto"


def is_available() -> bool:
    """Always True: JAX depends on opt_einsum."""
    return True


plan_by(sys.modules[__name__])
