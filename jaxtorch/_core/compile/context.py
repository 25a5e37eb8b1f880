"""The contexts in which the engine traces and runs: 64-bit types and the persistent compilation cache.

Both are entered only around the engine's own work, so the user's JAX code keeps its settings.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
from jax._src import config as _config
from jax._src import core as _core

from ..types import dtypes
from . import allocator


def x64() -> Any:
    """Context in which JAX keeps 64-bit types; the engine enters it whenever it traces or runs."""
    return jax.enable_x64(True)


_x64 = _config.enable_x64


def at_top(call: Callable[[Any], Any], argument: Any) -> Any:
    """`call(argument)` with 64-bit types and outside any transformation of JAX that runs now.

    The same as `with jax.core.eval_context(), x64():`, at a tenth of the cost where no transformation runs.
    """
    if _core.trace_ctx.trace is not _core.eval_trace or _x64._update_thread_local_hook is not None:
        with jax.core.eval_context(), x64():  # pyright: ignore[reportAttributeAccessIssue]
            return call(argument)
    before = _x64.swap_local(True)
    try:
        return call(argument)
    finally:
        _x64.set_local(before)


class _Precision:
    """`torch.set_float32_matmul_precision`, and `torch.backends.cudnn.allow_tf32` for convolutions.

    JAX's own default on GPUs is TF32 for both; PyTorch's is full float32 for products, TF32 for convolutions.
    """

    name = "highest"
    convolutions_in_tf32 = True


_IN_JAX = {"highest": "highest", "high": "high", "medium": "default"}


def matmul_precision() -> Any:
    """Context for tracing, in which float32 products have the precision that was asked for."""
    return jax.default_matmul_precision(_IN_JAX[_Precision.name])


def set_matmul_precision(name: str) -> None:
    """'highest', 'high' or 'medium'. What was traced with another precision is traced again."""
    _set_precision("name", name)


def set_convolutions_in_tf32(allowed: bool) -> None:
    """May GPUs compute float32 convolutions in TF32? What was traced with another precision is traced again."""
    _set_precision("convolutions_in_tf32", allowed)


def _set_precision(which: str, value: Any) -> None:
    if getattr(_Precision, which) != value:
        setattr(_Precision, which, value)
        for callback in dtypes._Defaults.on_change:
            callback()


def convolution_precision() -> Any:
    """What a convolution's `precision` is to be: None is that of products."""
    return jax.lax.Precision.HIGH if _Precision.convolutions_in_tf32 and target() == "cuda" else None


class _Target(threading.local):
    kind = ""


_target = _Target()


def target() -> str:
    """The type of the device ('cpu', 'cuda', ...) for which a kernel is being traced; that of JAX's default device where none is."""
    if _target.kind:
        return _target.kind
    backend = jax.default_backend()
    return "cuda" if backend == "gpu" else backend


@contextlib.contextmanager
def tracing_for(kind: str) -> Iterator[None]:
    """Context for tracing a kernel that is to run on devices of this type."""
    before, _target.kind = _target.kind, kind
    try:
        with matmul_precision():
            yield
    finally:
        _target.kind = before


@contextlib.contextmanager
def caching() -> Iterator[None]:
    """Context in which every compilation goes to the persistent cache, however quick it was."""
    with _config.persistent_cache_min_compile_time_secs(0.0), _config.persistent_cache_min_entry_size_bytes(-1):
        yield


_OFF = ("0", "off", "no", "false")


def use_persistent_cache() -> None:
    """Keep compiled programs in the user's cache folder, unless JAX has been told of another place.

    `JAXTORCH_CACHE` names another folder, or switches the cache off (`0`, `off`, `no` or `false`).
    """
    wanted = os.environ.get("JAXTORCH_CACHE", "")
    if wanted.lower() in _OFF or jax.config.jax_compilation_cache_dir is not None:  # pyright: ignore[reportAttributeAccessIssue]
        return
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(wanted) if wanted else Path(root) / "jaxtorch" / "xla"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # no place to write: work without a cache
    jax.config.update("jax_compilation_cache_dir", str(folder))


use_persistent_cache()
allocator.keep_freed_memory()
