"""Whether mixed precision is possible."""

from __future__ import annotations

from ..._core.types.device import jax_devices


def amp_definitely_not_available() -> bool:
    """Is there no GPU?"""
    return not jax_devices("cuda")
