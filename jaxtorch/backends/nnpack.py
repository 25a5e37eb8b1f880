"""`torch.backends.nnpack`: kernels for mobile CPUs, which jaxtorch does not use. The switch is kept and changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .._namespace.switches import expect_bool
from . import _flags

__all__ = ["flags", "is_available", "set_flags"]

enabled: bool


def is_available() -> bool:
    """Always False: XLA brings its own kernels."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Keep the switch, and give what it was."""
    flag = vars(type(sys.modules[__name__]))["enabled"]
    before, flag.value = flag.value, expect_bool("set_enabled_NNPACK", _enabled)
    return (before,)


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Context in which the switch has another value."""
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)


_flags.with_flags(__name__, enabled=_flags.Flag(True, "set_enabled_NNPACK"))
