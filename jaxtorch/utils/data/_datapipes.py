"""Decorators of DataPipes, which libraries apply at import: the classes are left as they are, and making one raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["argument_validation", "functional_datapipe", "runtime_validation"]


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[Any], Any]:
    """Would make a DataPipe a method of the others; registers nothing."""
    return lambda cls: cls


def argument_validation(f: Any) -> Any:
    """Would check the types of DataPipes given to `f`."""
    return f


def runtime_validation(f: Any) -> Any:
    """Would check the types of what a DataPipe yields."""
    return f
