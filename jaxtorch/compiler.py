"""`torch.compiler`: questions and switches around `torch.compile`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._compile import BACKENDS as _BACKENDS
from ._compile import calling as _calling
from ._compile import compile
from ._core import capture as _capture

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip


def is_compiling() -> bool:
    """Is a function being captured rather than run? Never: the call that is captured runs as any other."""
    return False


def is_dynamo_compiling() -> bool:
    """As `is_compiling`."""
    return False


def is_exporting() -> bool:
    """Is a program being exported? Never."""
    return False


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function (or a decorator): a compiled call that runs it is recorded each time instead of replayed."""
    if fn is None:
        return lambda f: disable(f, recursive)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        _capture.breaks(f"it calls {getattr(fn, '__qualname__', fn)}, for which torch.compile is disabled")
        return fn(*args, **kwargs)

    return call


def allow_in_graph(fn: Any) -> Any:
    """The function (or functions) itself: what it does is captured like anything else."""
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: a captured call keeps what it has returned, as long as what it reads is unchanged."""
    return fn


def reset() -> None:
    """Forget every call that `torch.compile` has captured."""
    _calling.reset()


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: XLA owns the memory of its programs."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `torch.compile(backend=...)` takes. Here they all mean XLA."""
    return [name for name in _BACKENDS if "eager" not in name or "debug" not in (exclude_tags or ())]
