"""`torch.compiler`: questions and switches around `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._compile import BACKENDS as _BACKENDS
from ._compile import compile

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip


def is_compiling() -> bool:
    """Is a function being captured rather than run? Never: Python runs each time."""
    return False


def is_dynamo_compiling() -> bool:
    """As `is_compiling`."""
    return False


def is_exporting() -> bool:
    """Is a program being exported? Never."""
    return False


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself (or a decorator): nothing is captured, so there is nothing to keep out."""
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function (or functions) itself: nothing is captured."""
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, which runs each time."""
    return fn


def reset() -> None:
    """Nothing to do: `torch.compile` keeps no state."""


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: XLA owns the memory of its programs."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `torch.compile(backend=...)` takes. Here they all mean XLA."""
    return [name for name in _BACKENDS if "eager" not in name or "debug" not in (exclude_tags or ())]
