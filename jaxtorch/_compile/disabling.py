"""Functions that compiled calls do not replay."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.run import capture


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function (or a decorator): a compiled call that runs it is recorded each time instead of replayed."""
    if fn is None:
        return lambda f: disable(f, recursive)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        capture.break_capture(f"it calls {getattr(fn, '__qualname__', fn)}, for which torch.compile is disabled", True)
        return fn(*args, **kwargs)

    return call


disable.__module__ = "jaxtorch.compiler"
