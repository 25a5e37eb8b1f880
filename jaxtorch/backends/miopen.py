"""`torch.backends.miopen`: a library for AMD's GPUs. Its switch is kept and changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import _flags

__all__ = ["flags", "immediate", "set_flags"]

immediate: bool


def set_flags(_immediate: bool | None = None) -> tuple[Any, ...]:
    """Set the switch, and give what it was."""
    return _flags.set_flags(sys.modules[__name__], immediate=_immediate)


@contextmanager
def flags(immediate: bool = False) -> Iterator[None]:
    """Context in which the switch has another value."""
    with _flags.changed(sys.modules[__name__], immediate=immediate):
        yield


_flags.with_flags(__name__, immediate=_flags.Flag(False, "set_immediate_miopen"))
