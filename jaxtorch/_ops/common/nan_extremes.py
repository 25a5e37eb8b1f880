"""The largest and the smallest element of an array, NaN where one is.

XLA's library of kernels on the CPU leaves NaN out of extremes of 4096 elements and more (jaxlib 0.10.2). Its sums keep NaN, and
cost as little: where no sum is NaN, no element is.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import batching

from ..._core.tuning import EXTREME_BY_XLA
from .primitives import primitive, with_tangent


def largest(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(x, axis, keepdims, True)


def smallest(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(x, axis, keepdims, False)


def _extreme(x: Any, axis: Any, keepdims: bool, largest: bool) -> Any:
    if x.size <= EXTREME_BY_XLA or not jnp.issubdtype(x.dtype, jnp.floating):
        return _plain(x, axis, largest, keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(sorted(a % x.ndim for a in axes))
    found = _extreme_p.bind(x, axes=axes, largest=largest)
    return jnp.expand_dims(found, axes) if keepdims else found


def _plain(x: Any, axes: Any, largest: bool, keepdims: bool = False) -> Any:
    return (jnp.max if largest else jnp.min)(x, axes, keepdims=keepdims)


def _keeping_nan(x: Any, axes: tuple[int, ...], largest: bool) -> Any:
    found, total = _plain(x, axes, largest), jnp.sum(x, axes)

    def looked_for() -> Any:
        return jnp.where(jnp.any(x != x, axes), np.array(np.nan, x.dtype), found)

    return lax.cond(jnp.any(total != total), looked_for, lambda: found)  # of infinities of both signs too


def _tangent(moved: Any, x: Any, axes: tuple[int, ...], largest: bool) -> Any:
    """The mean of the changes of what is equal to the extreme; nothing is where that is NaN."""
    at = x == jnp.expand_dims(_extreme_p.bind(x, axes=axes, largest=largest), axes)
    return jnp.sum(jnp.where(at, moved[0], 0), axes) / jnp.maximum(jnp.sum(at, axes), 1).astype(x.dtype)


def _batched(args: Any, dims: Any, axes: tuple[int, ...], largest: bool) -> Any:
    x = jnp.moveaxis(args[0], dims[0], 0)
    return _extreme_p.bind(x, axes=tuple(a + 1 for a in axes), largest=largest), 0


_extreme_p = primitive("extreme", _plain, _keeping_nan)
with_tangent(_extreme_p, _tangent)
batching.primitive_batchers[_extreme_p] = _batched
