"""Division that is rounded once, as IEEE 754 and PyTorch have it.

XLA computes `x / y` as `x * (1 / y)` where y is a number or one number for all, and `x / y / z` as `x / (y * z)`: the quotient of two
numbers that divide evenly then may be no whole number, and `(x / 41).floor()` is 1 too small for a quarter of them.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend import core as jex_core
from jax.interpreters import ad, batching, mlir

from ..._core.compile.symbolic_sizes import scalar

_div_p = jex_core.Primitive("div")
"""Like JAX's, by whose name the engine's own ways of running programs know it: they divide as they should."""


def quotient(x: Any, y: Any) -> Any:
    """`x / y` for arrays of one type, broadcast."""
    x, y = jnp.asarray(x), jnp.asarray(y)
    if x.dtype != y.dtype or not jnp.issubdtype(x.dtype, jnp.floating):
        return x / y
    return _div_p.bind(*jnp.broadcast_arrays(x, y))


def average(x: Any, axes: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """The mean over some axes (all) of floating-point or complex numbers, so that the mean of equal ones is that number; of half
    precision it is taken in float32."""
    half = jnp.issubdtype(x.dtype, jnp.floating) and jnp.finfo(x.dtype).bits == 16
    total = jnp.sum(x.astype(jnp.float32) if half else x, axes, keepdims=keepdims)
    count = math.prod(x.shape if axes is None else [x.shape[axis] for axis in axes])
    return quotient(total, scalar(count, total.dtype)).astype(x.dtype)


def _rounded_once(x: Any, y: Any) -> Any:
    """For XLA, which leaves alone what depends on both: what is not a number is so in either place."""
    return lax.div(lax.select(y != y, y, x), lax.select(x != x, x, y))


def _transposed(cotangent: Any, x: Any, y: Any) -> Any:
    return [ad.Zero(x.aval) if type(cotangent) is ad.Zero else _div_p.bind(cotangent, y), None]


def _batched(arrays: Any, dims: Any) -> Any:
    size = next(a.shape[d] for a, d in zip(arrays, dims, strict=True) if d is not None)
    return _div_p.bind(*[_in_front(a, d, size) for a, d in zip(arrays, dims, strict=True)]), 0


def _in_front(x: Any, dim: int | None, size: int) -> Any:
    return jnp.broadcast_to(x, (size, *x.shape)) if dim is None else jnp.moveaxis(x, dim, 0)


_div_p.def_impl(lax.div)
_div_p.def_abstract_eval(lambda x, y: lax.div_p.abstract_eval(x, y)[0])
mlir.register_lowering(_div_p, mlir.lower_fun(_rounded_once, multiple_results=False))
batching.primitive_batchers[_div_p] = _batched
ad.defjvp(_div_p, lambda t, x, y: _div_p.bind(t, y), lambda t, x, y: -t * _div_p.bind(_div_p.bind(x, y), y))
ad.primitive_transposes[_div_p] = _transposed
