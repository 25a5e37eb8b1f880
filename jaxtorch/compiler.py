"""`torch.compiler`: questions and switches around `torch.compile`."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as _np

from ._compile import BACKENDS as _BACKENDS
from ._compile import DEFAULT_BACKEND as _DEFAULT_BACKEND
from ._compile import calling as _calling
from ._compile import compile
from ._compile.disabling import disable
from ._core.tensor.tensor import Tensor as _Tensor
from ._ops.creation.from_data import as_tensor as _as_tensor
from .utils._pytree import tree_map_only as _tree_map_only

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
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


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """The backend where `torch.compile` is given none; None for 'inductor'. All mean XLA, but their names are checked there."""
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _DEFAULT_BACKEND[0] = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """What `set_default_backend` has set."""
    return _DEFAULT_BACKEND[0]


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a Python form of `original_fn`, which comes back as it is: captured calls run the original."""
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def take(traceable_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(traceable_fn):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}")
        if not skip_signature_check:
            expected, found = inspect.signature(original_fn), inspect.signature(traceable_fn)
            if [(p.name, p.kind) for p in expected.parameters.values()] != [
                (p.name, p.kind) for p in found.parameters.values()
            ]:
                raise TypeError(f"Signature mismatch between {original_fn} and {traceable_fn}: {expected} != {found}")
        return traceable_fn

    return take


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors, in arguments and results of any nesting.

    NumPy computes, without gradients: RuntimeError for a tensor that requires one, as in PyTorch outside of `torch.compile`.
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _tree_map_only(_Tensor, lambda t: t.numpy(), (args, kwargs))
        return _tree_map_only(_np.ndarray, _as_tensor, fn(*args, **kwargs))

    return wrapped


def nested_compile_region(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """The function itself (or a decorator): XLA finds what is computed several times."""
    return (lambda f: f) if fn is None else fn


def save_cache_artifacts() -> None:
    """None: there is nothing to save. XLA's programs are kept in a folder (`JAXTORCH_CACHE`)."""


class _GuardCollectives:
    on = False


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Keeps the setting, which changes nothing, and gives what it was."""
    before, _GuardCollectives.on = _GuardCollectives.on, bool(enabled)
    return before
