"""`torch.fx._compatibility`: the mark that libraries put on what overrides a part of `torch.fx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F")


def compatibility(is_backward_compatible: bool) -> Callable[[F], F]:
    """A decorator that changes nothing: it says whether a name may change in a later version."""
    return lambda function: function
