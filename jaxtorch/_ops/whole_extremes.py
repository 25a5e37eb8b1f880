"""The largest and the smallest element of an array, NaN where one is.

XLA's library of kernels on the CPU leaves NaN out of extremes of 4096 elements and more (jaxlib 0.10.2), so NaN is looked for by
itself there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

FEW = 2048
"""Of so many elements XLA's own code finds the extreme."""


def largest(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(jnp.max, x, axis, keepdims)


def smallest(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(jnp.min, x, axis, keepdims)


def _extreme(reduce: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Any:
    found = reduce(x, axis, keepdims=keepdims)
    if x.size <= FEW or not jnp.issubdtype(x.dtype, jnp.floating):
        return found
    return jnp.where(jnp.any(x != x, axis, keepdims=keepdims), np.array(np.nan, x.dtype), found)
