"""NumPy's matrix products on one thread.

OpenBLAS shares out products from some ten thousand multiplications on, and its threads wait by spinning: where other
threads (XLA's, other processes') have the cores, a product of two 128x128 matrices was seen to take 10 ms instead of 0.04.
What the engine computes on NumPy is too small to gain from a second thread.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tuning import BLAS_ALONE

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_",
          "openblas_{}_num_threads")  # fmt: skip


@functools.cache
def _threads() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Functions that read and set how many threads OpenBLAS takes; None where NumPy uses another library."""
    try:
        with open("/proc/self/maps") as maps:
            found = {line.split()[-1] for line in maps if "openblas" in line}
    except OSError:
        return None
    for path in sorted(found):
        library = ctypes.CDLL(path)
        for name in _NAMES:
            if hasattr(library, name.format("get")):
                return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None


def on_one_thread(product: Callable[..., Any], work: int, *args: Any) -> Any:
    """`product(*args)`, of so many multiplications."""
    threads = _threads() if work > BLAS_ALONE else None
    if threads is None:
        return product(*args)
    get, put = threads
    before = get()
    put(1)
    try:
        return product(*args)
    finally:
        put(before)


def matmul(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`np.matmul` on one thread."""
    return on_one_thread(np.matmul, a.size * b.shape[-1], a, b)
