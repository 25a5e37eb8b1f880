"""Functions as jaxprs, at a fraction of what `jax.jit` takes for it: kernels, and what primitives of jaxtorch's own stand for.

A new shape costs what tracing its kernels costs, so a program whose shapes grow or depend on its data is as fast as this is. Half of
that time went to `jax.jit`'s own preparations, and most of the rest to jitted functions inside (each of `jax.numpy` is one), which
are traced apart. So a function is traced directly, and from the second kernel of a name on its inner `jit`s are opened while it is
traced, unless there are loops in it: without `jit` JAX runs those step by step.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import config as _config
from jax._src import core as _core
from jax._src import linear_util as _linear_util
from jax._src.interpreters import partial_eval as _partial_eval
from jax.extend.core import ClosedJaxpr, jaxprs_in_params

from ..tuning import CACHED, LOOP_EQUATIONS

EXPANDED: dict[str, Callable[..., Any]] = {}
"""Primitives of `_ops/common/primitives.py` -> the functions, in terms of JAX's, that they stand for."""

_LOOPS = frozenset(("scan", "while", "cond"))

_opened: dict[str, bool] = {}
"""Names of kernels that have been traced -> may what is `jit` inside be opened?"""


def traced(name: str, fn: Callable[..., Any], structs: Any, opens: bool = True) -> Any:
    """The jaxpr of a function of arrays that returns a flat sequence of arrays; to be called with 64-bit types.

    opens: may its inner calls be opened, where kernels of this name have shown no loops?
    """
    opens = opens and _opened.get(name, False)
    with _config.disable_jit(opens) if opens != _config.disable_jit.value else contextlib.nullcontext():
        closed = _traced(name, fn, structs)
    if opens and len(closed.jaxpr.eqns) > LOOP_EQUATIONS:
        _opened[name] = False
        return traced(name, fn, structs, False)
    if name not in _opened:
        _opened[name] = not _has_loops(closed.jaxpr) and not closed.jaxpr.effects
    return closed


def _traced(name: str, fn: Callable[..., Any], structs: Any) -> Any:
    if is_direct():
        return _direct(name, fn, structs)
    return jax.jit(fn).trace(*structs).jaxpr


@functools.cache
def is_direct() -> bool:
    """Has this version of JAX the tracer as `_direct` calls it? It is not among what JAX promises to keep."""
    try:
        return len(_direct("identity", lambda x: (x,), [jax.ShapeDtypeStruct((), "float32")]).out_avals) == 1
    except (AttributeError, TypeError, ValueError):
        return False


def _direct(name: str, fn: Callable[..., Any], structs: Any) -> Any:
    info = _core.DebugInfo("jit", name, None, None)
    avals = [_core.ShapedArray(s.shape, s.dtype) for s in structs]
    jaxpr, _, consts = _partial_eval.trace_to_jaxpr_dynamic(_linear_util.wrap_init(fn, debug_info=info), avals)
    return ClosedJaxpr(jaxpr, consts)


def _has_loops(jaxpr: Any) -> bool:
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in _LOOPS or any(map(_has_loops, jaxprs_in_params(eqn.params))):
            return True
        if name in EXPANDED and _has_loops(expanded(name, [v.aval for v in eqn.invars], eqn.params).jaxpr):
            return True
    return False


def expanded(name: str, avals: Any, params: dict[str, Any]) -> Any:
    """What a primitive of jaxtorch's own does with arrays of these types, as a jaxpr; traced once for a set of types."""
    kinds = tuple([(a.shape, a.dtype) for a in avals])
    return _expanded(name, kinds, tuple(params.items()), _config.enable_x64.value)


@functools.lru_cache(CACHED)
def _expanded(name: str, kinds: Any, params: Any, wide: bool) -> Any:
    """`wide`: are there 64-bit types? The caller's context says so, and the trace is made in it."""
    fn = functools.partial(EXPANDED[name], **dict(params))

    def flat(*args: Any) -> Any:
        out = fn(*args)
        return out if isinstance(out, (tuple, list)) else (out,)

    return traced(f"{name} expanded", flat, [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in kinds])


def with_results(closed: Any, outs: Any) -> Any:
    """A jaxpr that gives these of its variables, without what they do not need; its inputs stay."""
    jaxpr = closed.jaxpr
    info = jaxpr.debug_info._replace(result_paths=None)
    jaxpr = jaxpr.replace(outvars=list(outs), debug_info=info)
    jaxpr, _ = _partial_eval.dce_jaxpr(jaxpr, [True] * len(outs), instantiate=True)
    return ClosedJaxpr(jaxpr, closed.consts)


def of_jaxpr(closed: Any, name: str) -> Callable[..., Any]:
    """The function that a jaxpr is, as XLA gets it."""
    evaluate = _with_chosen_numbers if _makes_numbers_of_flags(closed.jaxpr) else jax.core.eval_jaxpr  # pyright: ignore[reportAttributeAccessIssue]

    def kernel(*args: Any) -> tuple[Any, ...]:
        return tuple(evaluate(closed.jaxpr, closed.consts, *args))

    kernel.__name__ = name  # the function's name in XLA's dumps and profiles
    return kernel


# -- XLA takes a flag made a number, times x, for `x if flag else 0`, so 0 times NaN would be 0; not where the number is chosen


def _is_number_of_flags(eqn: Any) -> bool:
    if eqn.primitive.name != "convert_element_type" or eqn.invars[0].aval.dtype != bool:
        return False
    return np.issubdtype(eqn.outvars[0].aval.dtype, np.inexact) or eqn.outvars[0].aval.dtype.kind == "V"


def _makes_numbers_of_flags(jaxpr: Any) -> bool:
    return any(
        _is_number_of_flags(eqn) or any(_makes_numbers_of_flags(c.jaxpr) for c in _inner(eqn)) for eqn in jaxpr.eqns
    )


_CALLS = frozenset(("jit", "pjit"))
_BODIES = {"scan": ("jaxpr",), "while": ("cond_jaxpr", "body_jaxpr"), "cond": ("branches",)}


def _inner(eqn: Any) -> list[Any]:
    """The jaxprs of the functions that an equation calls."""
    names = ("jaxpr",) if eqn.primitive.name in _CALLS else _BODIES.get(eqn.primitive.name, ())
    given = [eqn.params[n] for n in names]
    return [c for g in given for c in (g if isinstance(g, (tuple, list)) else (g,))]


def _chosen(closed: Any) -> Any:
    """A jaxpr in which flags are made numbers by choosing."""
    if isinstance(closed, (tuple, list)):
        return tuple([_chosen(c) for c in closed])
    if not _makes_numbers_of_flags(closed.jaxpr):
        return closed
    types = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in closed.in_avals]
    return jax.make_jaxpr(lambda *args: _with_chosen_numbers(closed.jaxpr, closed.consts, *args))(*types)


def _with_chosen_numbers(jaxpr: Any, consts: Any, *args: Any) -> list[Any]:
    """The results of a jaxpr in which flags are made numbers by choosing 1 or 0."""
    held: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

    def read(v: Any) -> Any:
        return v.val if isinstance(v, _core.Literal) else held[v]

    for eqn in jaxpr.eqns:
        ins = [read(v) for v in eqn.invars]
        if _is_number_of_flags(eqn):
            dtype = eqn.outvars[0].aval.dtype
            outs = [jnp.where(ins[0], jnp.ones((), dtype), jnp.zeros((), dtype))]
        elif eqn.primitive.name in _CALLS and _makes_numbers_of_flags(eqn.params["jaxpr"].jaxpr):
            inner = eqn.params["jaxpr"]
            outs = _with_chosen_numbers(inner.jaxpr, inner.consts, *ins)
        else:
            bodies = {n: _chosen(eqn.params[n]) for n in _BODIES.get(eqn.primitive.name, ())}
            with eqn.ctx.manager:
                outs = eqn.primitive.bind(*ins, **eqn.primitive.get_bind_params({**eqn.params, **bodies}))
            outs = outs if eqn.primitive.multiple_results else [outs]
        held.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]
