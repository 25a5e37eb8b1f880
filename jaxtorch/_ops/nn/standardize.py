"""Arrays of mean 0 and variance 1, and layer normalisation of rows as a primitive."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core import native
from ..._core.types.grad_mode import no_grad, state
from ..common.primitives import linear_in, natively, primitive, with_tangent
from ..common.product_primitives import averaged


def moments(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and variance over some axes, which are kept with size 1."""
    if 0 in x.shape:
        nothing = jnp.mean(x, axes, keepdims=True)
        return nothing, nothing
    mean = averaged(x, axes)
    centred = x - mean
    first, ends = (0,) * x.ndim, [1 if d in axes else n for d, n in enumerate(x.shape)]
    return lax.slice(mean, first, ends), lax.slice(averaged(centred * centred, axes), first, ends)


def first_of_two(operation: Any, given: Any, alone: Any) -> tuple[Any, bool]:
    """The results of an operation that also writes to its arguments, and whether it has to run a second time for the graph.

    That is where hooks stand around saved tensors: they may raise (a checkpoint, when it has all that it needs), and what is to be
    written is by then. And under `vmap`: what is written depends on `alone`, arguments that may be the same for all examples.
    """
    if not state.saved_hooks and not state.working:
        return operation(*given), False
    with no_grad():
        return operation(*alone), True


def _standard(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    mean, var = moments(x, axes)
    return (x - mean) * lax.rsqrt(var + np.asarray(eps, x.dtype))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def standardised(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """(x - mean) / sqrt(var + eps) over some axes."""
    return _standard(x, axes, eps) if 0 not in x.shape else x


@standardised.defjvp
def _standardised_rule(axes: tuple[int, ...], eps: float, primals: Any, tangents: Any) -> Any:
    # The result is recomputed from x rather than kept: inside one program XLA shares it with the forward
    # pass.
    (x,), (t,) = primals, tangents
    if 0 in x.shape:
        return x, t
    mean, var = moments(x, axes)
    scale = lax.rsqrt(var + np.asarray(eps, x.dtype))
    ans = (x - mean) * scale
    change = t - averaged(t, axes) - ans * averaged(ans * t, axes)
    return ans, change * scale


def _rows(x: Any, weight: Any, bias: Any, *, eps: float, groups: int = 0) -> Any:
    y = standardised(x, (1,), eps)
    if groups:
        y, weight, bias = y.reshape(-1, weight.size, _run(x, weight, groups)), weight[:, None], bias[:, None]
    return (y * weight + bias).reshape(x.shape)


def _rows_tangent(dx: Any, dweight: Any, dbias: Any, x: Any, weight: Any, **params: Any) -> Any:
    bias = jnp.zeros_like(weight)
    return jax.jvp(lambda *args: _rows(*args, **params), (x, weight, bias), (dx, dweight, dbias))[1]


def _rows_back(g: Any, x: Any, weight: Any, **params: Any) -> Any:
    return list(jax.vjp(lambda *args: _rows(*args, **params), x, weight, jnp.zeros_like(weight))[1](g))


def _run(x: Any, weight: Any, groups: int) -> int:
    """How many neighbouring numbers of a row a weight is for."""
    return x.shape[1] * groups // weight.size if groups else x.shape[1]


layer_norm_p = primitive("layer_norm", _rows, natively(native.layer_norm))
"""x (rows, columns), weight and bias (columns,): rows of mean 0 and variance 1, times weight, plus bias. With `groups`, so many rows
are an example with a weight and a bias for each of its channels."""
_tangent_p = primitive("layer_norm_tangent", _rows_tangent)
_back_p = primitive("layer_norm_back", _rows_back, natively(native.layer_norm_back), several=True)
linear_in(_tangent_p, _rows_tangent, 3, lambda g, *rest, **params: _back_p.bind(g, *rest, **params))
linear_in(_back_p, _rows_back, 1)
with_tangent(layer_norm_p, lambda moved, x, weight, _, **params: _tangent_p.bind(*moved, x, weight, **params))
