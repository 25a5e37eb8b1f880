"""Backward kernels of half precision computed in float32, and rounded once at the end, as PyTorch's own kernels are.

A derivative that JAX composes for float16 rounds after every step and sums in float16. `in_single` runs the same steps on
values held in float32. Products of matrices, convolutions and whatever is not listed keep their types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from ..types import dtypes
from ..types.value import Aval

_HALVES = (dtypes.float16.np, dtypes.bfloat16.np)
_HELD = frozenset(
    """abs acos acosh add add_any asin asinh atan atan2 atanh broadcast_in_dim cbrt ceil clamp concatenate copy cos cosh cumsum
    digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma log log1p log2 logistic lt max min
    mul ne neg one_minus_square pad polynomial pow reduce_max reduce_min reduce_prod reduce_sum reshape rev rsqrt
    select_n sign sin sinh slice sqrt
    square squeeze sub tan tanh transpose gather scatter-add scatter_add dynamic_slice dynamic_update_slice split""".split()
)


def in_single(fn: Callable[..., Any], avals: tuple[Aval, ...]) -> Callable[..., Any]:
    """`fn` with its steps on half precision values taken in float32; `fn` itself where no input is one."""
    if not any(a.dtype.np in _HALVES for a in avals):
        return fn

    def run(*args: Any) -> tuple[Any, ...]:
        closed = jax.make_jaxpr(fn)(*[jax.ShapeDtypeStruct(jnp.shape(a), a.dtype) for a in args])
        outs = _evaluate(closed.jaxpr, closed.consts, [_in_float32(a) for a in args])
        return tuple(o.astype(v.aval.dtype) for o, v in zip(outs, closed.jaxpr.outvars, strict=True))

    return run


def _in_float32(a: Any) -> Any:
    return a.astype(np.float32) if getattr(a, "dtype", None) in _HALVES else a


def _is_half(v: Any) -> bool:
    return getattr(v.aval, "dtype", None) in _HALVES


def _evaluate(jaxpr: Any, consts: Any, args: Any) -> list[Any]:
    """Run a jaxpr whose half precision values are held in float32."""
    held: dict[Any, Any] = dict(zip(jaxpr.constvars, map(_in_float32, consts), strict=True))
    held.update(zip(jaxpr.invars, args, strict=True))

    def read(v: Any) -> Any:
        if not isinstance(v, jex_core.Literal):
            return held[v]
        aval: Any = v.aval
        return _in_float32(np.asarray(v.val, aval.dtype))

    for eqn in jaxpr.eqns:
        inputs = [read(v) for v in eqn.invars]
        outs = _step(eqn, inputs)
        held.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _step(eqn: Any, inputs: list[Any]) -> list[Any]:
    name = eqn.primitive.name
    halves = any(_is_half(v) for v in (*eqn.invars, *eqn.outvars))
    if name in ("jit", "pjit"):
        inner = eqn.params["jaxpr"]
        return _evaluate(inner.jaxpr, inner.consts, inputs)
    if name == "convert_element_type" and halves:
        new = eqn.params["new_dtype"]
        return [inputs[0].astype(np.float32 if new in _HALVES else new)]
    if halves and name not in _HELD:
        inputs = [i.astype(v.aval.dtype) if _is_half(v) else i for i, v in zip(inputs, eqn.invars, strict=True)]
    params = eqn.primitive.get_bind_params(eqn.params)
    if halves and name in ("scatter-add", "scatter_add"):  # its parameters hold the addition of the old type
        given = {k: params[k] for k in ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")}
        return [jax.lax.scatter_add(*inputs, **given)]
    if halves and "out_dtype" in params and name in _HELD:
        params = {**params, "out_dtype": None}
    with eqn.ctx.manager:
        outs = eqn.primitive.bind(*inputs, **params)
    return [_in_float32(o) for o in (outs if eqn.primitive.multiple_results else [outs])]
