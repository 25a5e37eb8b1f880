"""`torch._utils_internal`."""

from __future__ import annotations

from typing import Any

USE_GLOBAL_DEPS = False


def log_export_usage(**kwargs: Any) -> None:
    """Nothing to do: nothing is logged."""


def justknobs_check(name: str, default: bool = True) -> bool:
    """The default."""
    return default
