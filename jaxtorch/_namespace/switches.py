"""Switches of PyTorch's that name decisions XLA takes itself: they keep what they are set to, and are checked as PyTorch's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._core.types.size import check_long
from .._core.types.warn_once import Always


def expect_bool(setter: str, value: Any) -> bool:
    """The value of a switch; RuntimeError, which names PyTorch's setter, for what is no bool."""
    if not isinstance(value, bool):
        raise RuntimeError(f"{setter} expects a bool, but got {type(value).__name__}")
    return value


class Deterministic:
    """Whether operations must be deterministic. Those of jaxtorch on the CPU are."""

    enabled = False
    warn_only = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Keep the wish for deterministic algorithms; on the CPU there are no others. On GPUs, XLA's flag
    `--xla_gpu_deterministic_ops=true` in the environment variable XLA_FLAGS decides."""
    for name, given in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(given, bool):
            raise TypeError(
                f"use_deterministic_algorithms(): argument '{name}' must be bool, not {type(given).__name__}"
            )
    Deterministic.enabled, Deterministic.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` has set."""
    return Deterministic.enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` has set for `warn_only`."""
    return Deterministic.warn_only


_MODES = {"default": (False, False), "warn": (True, True), "error": (True, False)}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same in one word or number: 'default' (0), 'warn' (1) or 'error' (2)."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, int):
        if debug_mode not in (0, 1, 2):
            raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
        debug_mode = list(_MODES)[debug_mode]
    if debug_mode not in _MODES:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    Deterministic.enabled, Deterministic.warn_only = _MODES[debug_mode]


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    return 0 if not Deterministic.enabled else 1 if Deterministic.warn_only else 2


class _Threads:
    intra: int | None = None
    inter: int | None = None


def _cpus() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_num_threads() -> int:
    """What `set_num_threads` has set, or the number of CPUs, which XLA uses."""
    return _Threads.intra or _cpus()


def set_num_threads(int: int) -> None:
    """Keeps the number for `get_num_threads`. XLA's pool of threads is made once and stays as it is."""
    _Threads.intra = check_long(_count(int, "set_num_threads"))


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` has set, or the number of CPUs."""
    return _Threads.inter or _cpus()


def set_num_interop_threads(int: int) -> None:
    """Keeps the number for `get_num_interop_threads`; XLA's pool of threads stays as it is."""
    _Threads.inter = _count(int, "set_num_interop_threads")


def _count(n: Any, name: str) -> int:
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(n).__name__}")
    if n >= 2**63:
        raise ValueError("Overflow when unpacking long long")
    if n <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    return n


def set_warn_always(b: bool, /) -> None:
    """Should warnings that come once a process come each time? Python's filters act as well."""
    Always.on = expect_bool("setWarnOnlyOnce", b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` has set."""
    return Always.on


def set_flush_denormal(mode: bool) -> bool:
    """False: whether denormal numbers become zero is XLA's to decide."""
    expect_bool("flush_denormal", mode)
    return False


@contextlib.contextmanager
def changed(holder: Any, **values: Any) -> Iterator[None]:
    """Context in which attributes have other values; None leaves one as it is."""
    before = {name: getattr(holder, name) for name in values}
    try:
        for name, value in values.items():
            if value is not None:
                setattr(holder, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(holder, name, value)
