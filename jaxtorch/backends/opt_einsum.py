"""`torch.backends.opt_einsum`: the order in which `einsum` contracts more than two operands."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from .._ops.linalg.einsum import plan_by
from . import _flags

__all__ = ["enabled", "flags", "get_opt_einsum", "is_available", "set_flags", "strategy"]

enabled: bool
"""Otherwise from left to right."""
strategy: str | None


def is_available() -> bool:
    """Always True: JAX depends on opt_einsum."""
    return True


def get_opt_einsum() -> Any:
    """The package opt_einsum."""
    import opt_einsum

    return opt_einsum


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[Any, ...]:
    """Set the switches, and give what they were. ValueError for a strategy that does not exist, or while `enabled` is False."""
    return _flags.set_flags(sys.modules[__name__], enabled=_enabled, strategy=_strategy)


@contextlib.contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Iterator[None]:
    """Context in which the switches have other values."""
    with _flags.changed(sys.modules[__name__], enabled=enabled, strategy=strategy):
        yield


class _Strategy(_flags.Flag):
    def __set__(self, module: Any, value: Any) -> None:
        if not module.enabled:
            raise ValueError(
                f"opt_einsum is not enabled, so setting a `strategy` to {value} will not be meaningful. torch.einsum will "
                "bypass path calculation and simply contract from left to right. Please set "
                "`torch.backends.opt_einsum.enabled` to True as well or unset `strategy`."
            )
        if value not in ("auto", "greedy", "optimal"):
            raise ValueError(f"`strategy` must be one of the following: [auto, greedy, optimal] but is {value}")
        super().__set__(module, value)


_flags.with_flags(__name__, enabled=_flags.Flag(True), strategy=_Strategy("auto"))
plan_by(sys.modules[__name__])
