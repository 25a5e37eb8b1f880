"""`torch.compiler`: questions and switches around `torch.compile`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from ._compile import BACKENDS as _BACKENDS
from ._compile import calling as _calling
from ._compile import compile
from ._core import capture as _capture

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
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


class set_stance(contextlib.ContextDecorator):
    """What compiled functions do from now on, inside a `with` block, or inside a decorated function.

    stance: 'default'; 'force_eager' (they run as if they were not compiled); 'eager_on_recompile' (calls that have been captured are
            replayed, new kinds of calls run as they are) or 'fail_on_recompile' (those raise RuntimeError). Another name raises
            RuntimeError at the next new call.
    skip_guard_eval_unsafe: accepted; the conditions of a captured call are checked all the same.
    force_backend: one of `list_backends()`, all of which mean XLA; not together with another stance than 'default'.
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if force_backend is not None and stance != "default":
            raise RuntimeError("set_stance(): force_backend is possible with the stance 'default' only")
        self.stance, self._before = stance, _calling.Stance.name
        _calling.Stance.name = stance

    def __enter__(self) -> None:
        _calling.Stance.name = self.stance

    def __exit__(self, *exc: Any) -> None:
        _calling.Stance.name = self._before

    def __call__(self, func: Any) -> Any:
        _calling.Stance.name = self._before
        return super().__call__(func)


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: XLA owns the memory of its programs."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `torch.compile(backend=...)` takes. Here they all mean XLA."""
    return [name for name in _BACKENDS if "eager" not in name or "debug" not in (exclude_tags or ())]
