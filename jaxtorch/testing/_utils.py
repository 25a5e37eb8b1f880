"""`torch.testing._utils`: random numbers in tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._core.random.generator import get_rng_state, manual_seed, set_rng_state


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Context after which the random numbers go on as if it had not been."""
    before = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(before)


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`op(*args, **kwargs)`, with the random numbers of Python, NumPy and jaxtorch begun anew and continued as they were after it."""
    with freeze_rng_state():
        manual_seed(42)
        random.seed(42)
        np.random.seed(42)
        return op(*args, **kwargs)
