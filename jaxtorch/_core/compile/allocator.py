"""Memory that is freed is kept: on the CPU, XLA takes the temporary memory of a program anew at every run.

With glibc's defaults a large block is mapped at each allocation and unmapped when freed, so that every step of a training
loop faults its pages in again. Where the kernels in C++ were built, XLA's large blocks come from a range of addresses of their
own (`native/memory.cpp`). Elsewhere glibc is told to keep what is freed, in two heaps for all threads (with one, they wait for
each other: small programs took a third longer; but the second one maps what is larger than 64 MiB after all). The price: memory
that was once used stays with the process, until a large program is compiled: what is free before that and after it, the compiler's
own memory and holes of the sizes of earlier programs' blocks, goes back to the system.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from typing import Any

import jax

from .. import native
from ..tuning import HEAP_ARENAS, HEAP_PAD, RELEASE_AFTER, WORKER_MMAP, WORKER_TRIM

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8  # of glibc's malloc.h
_SETTINGS = ((_ARENA_MAX, HEAP_ARENAS), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, HEAP_PAD))
_MMAP_THRESHOLD = -3
_IN_WORKERS = ((_MMAP_THRESHOLD, WORKER_MMAP), (_TRIM_THRESHOLD, WORKER_TRIM))
_ADVISED, _HUGE_PAGE, _MADV_HUGEPAGE = 1 << 30, 2 << 20, 14


def keep_freed_memory() -> bool:
    """Have large blocks that are freed kept for the next program; False where that does not apply.

    It applies with glibc on Linux, where programs will run on the CPU. `JAXTORCH_ALLOCATOR=default` switches it off
    (`small-pages`: only the huge pages), and so does any setting of glibc's own (`MALLOC_...`, `GLIBC_TUNABLES=glibc.malloc...`).
    """
    if _is_left_alone() or not _programs_run_on_cpu():
        return False
    huge_pages = os.environ.get("JAXTORCH_ALLOCATOR", "") != "small-pages"
    libc = ctypes.CDLL(None)
    gnu = hasattr(libc, "gnu_get_libc_version") and hasattr(libc, "mallopt")
    if native.keep_memory(huge_pages):
        _release_after_compilations(libc if gnu else None)
        return True
    if not gnu:
        return False
    if not all(libc.mallopt(name, value) == 1 for name, value in _SETTINGS):
        return False
    if huge_pages:
        _ask_for_huge_pages(libc)
    _release_after_compilations(libc)
    return True


def keep_freed_memory_of_worker() -> bool:
    """In a process that computes with NumPy alone: glibc keeps up to 256 MiB that are free; False where that does not apply.

    By default it keeps about two of the largest arrays that were freed: the samples of a batch would fault their pages in anew.
    """
    if _is_left_alone():
        return False
    libc = ctypes.CDLL(None)
    gnu = hasattr(libc, "gnu_get_libc_version") and hasattr(libc, "mallopt")
    return gnu and all(libc.mallopt(name, value) == 1 for name, value in _IN_WORKERS)


class _Kept:
    """Is freed memory kept, and the C library if that is glibc."""

    all = False
    libc: Any = None


def release() -> None:
    """Give back to the system what is free, if that is kept."""
    if _Kept.all:
        native.release_memory()
        if _Kept.libc is not None:
            _Kept.libc.malloc_trim(0)


def _release_after_compilations(libc: Any) -> None:
    """Give free memory back whenever XLA has compiled a large program, before that runs."""
    _Kept.all, _Kept.libc = True, libc

    def compiled(event: str, duration_secs: float, **_: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration" and duration_secs > RELEASE_AFTER:
            release()

    jax.monitoring.register_event_duration_secs_listener(compiled)


def _ask_for_huge_pages(libc: Any) -> None:
    """Tell the kernel to back the heap's coming growth with huge pages: fewer page faults, and fewer misses of the TLB.

    The growth is reserved, advised and given back to the heap, which keeps it; what is not used takes no memory.
    """
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    block = libc.malloc(_ADVISED)
    if block:
        start = -(-block // _HUGE_PAGE) * _HUGE_PAGE
        libc.madvise(start, (block + _ADVISED - start) // _HUGE_PAGE * _HUGE_PAGE, _MADV_HUGEPAGE)
        libc.free(block)


def _is_left_alone() -> bool:
    """Has the user said so, or settled it otherwise, or is this not Linux?"""
    if os.environ.get("JAXTORCH_ALLOCATOR", "") == "default" or not sys.platform.startswith("linux"):
        return True
    names = (
        "MALLOC_ARENA_MAX",
        "MALLOC_MMAP_MAX_",
        "MALLOC_MMAP_THRESHOLD_",
        "MALLOC_TRIM_THRESHOLD_",
        "MALLOC_TOP_PAD_",
    )
    return any(name in os.environ for name in names) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")


def _programs_run_on_cpu() -> bool:
    """As far as can be told before JAX starts its runtime, which would be too early at import."""
    platforms = jax.config.jax_platforms  # pyright: ignore[reportAttributeAccessIssue]
    if platforms:
        return platforms.split(",")[0] == "cpu"
    return not any(importlib.util.find_spec(name) for name in ("jax_plugins", "libtpu"))
