"""Kernels inside JAX's transformations, where values are tracers and operations run at once.

JAX traces, transposes and lowers a function at different times, and the user's `jax.jit` does the last two outside of any
context of ours: 64-bit types, which PyTorch's int64 indices bring along, would be cut to 32 bits there. So a kernel with such
types enters the trace as one equation of a primitive of its own, whose rules always work under x64. Other kernels are inlined.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import config as _config
from jax._src import core as _core
from jax._src.interpreters.ad import JVPTrace, JVPTracer, LinearizeTrace, LinearizeTracer
from jax._src.interpreters.batching import BatchTrace, BatchTracer
from jax.extend import core as jex_core
from jax.interpreters import ad, batching, mlir

from ..compile.context import caching, matmul_precision, x64
from ..compile.kernel import Kernel
from ..tuning import CACHED
from ..types.grad_mode import state
from . import capture


def run(kernel: Kernel, arrays: list[Any]) -> Any:
    """The outputs of a kernel on arrays of which some are tracers."""
    closed, plain = _program(kernel)
    arrays = [_settled(a) if isinstance(a, np.ndarray) else a for a in arrays]
    if plain or _config.enable_x64.value:
        with x64():
            outs = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arrays)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        outs = kernel_p.bind(*arrays, closed=closed)
    if not state.grad and state.off is not None and kernel.name not in _VIEWS and _is_off():
        return [jax.lax.stop_gradient(o) for o in outs]  # under no_grad, inside the function that is differentiated
    return outs


def _is_off() -> bool:
    """Have gradients been switched off in the innermost trace, one that asks for gradients?"""
    trace = _core.trace_ctx.trace
    return state.off() is trace and not follows_tangents()


def follows_tangents() -> bool:
    """Is the current trace one of `torch.func.jvp`?"""
    return any(trace() is _core.trace_ctx.trace for trace in state.tangents)


@contextlib.contextmanager
def following_tangents() -> Iterator[None]:
    """Context of a function of which `jax.jvp` has just begun a trace."""
    before = state.tangents
    state.tangents = (*before, weakref.ref(_core.trace_ctx.trace))
    try:
        yield
    finally:
        state.tangents = before


def beneath(tracer: Any) -> Any:
    """The array or tracer that a tracer of a derivative computes with; None for tracers that stand for other values."""
    return tracer.primal if isinstance(tracer, (JVPTracer, LinearizeTracer)) else None


def within(tracer: Any) -> Any:
    """The array or tracer that a tracer of a derivative or of `vmap` computes with; None for others."""
    return tracer.val if isinstance(tracer, BatchTracer) else beneath(tracer)


def layer(tracer: Any) -> tuple[str, Any] | None:
    """What PyTorch prints of a tracer's transformation, and what is beneath it; None where it has no such text."""
    depth, level = 0, tracer._trace
    while level is not None:
        depth += isinstance(level, (JVPTrace, LinearizeTrace, BatchTrace))
        level = getattr(level, "parent_trace", None)
    if isinstance(tracer, BatchTracer):
        return f"BatchedTensor(lvl={depth}, bdim={tracer.batch_dim}, value=", tracer.val
    found = beneath(tracer)
    return None if found is None else (f"GradTrackingTensor(lvl={depth}, value=", found)


_VIEWS = ("view_read", "view_write")
"""Re-reading a view, which has its own history."""


def _settled(array: np.ndarray[Any, Any]) -> jax.Array:
    """A NumPy array as a JAX array, which keeps its type wherever it goes."""
    with jax.core.eval_context(), x64():  # pyright: ignore[reportAttributeAccessIssue]
        return jax.device_put(array)


def is_staging() -> bool:
    """Is a function being traced to be run later (`jax.jit`, `jax.lax.scan`, ...), so that Python runs only now?

    Not for a captured call, whose replays draw anew (`staging`).
    """
    level: Any = _core.trace_ctx.trace
    while level is not None:
        if type(level).__name__ == "DynamicJaxprTrace":
            return capture.staging is None or level is not capture.staging.trace
        level = getattr(level, "parent_trace", None)
    return False


@functools.lru_cache(CACHED)
def _program(kernel: Kernel) -> tuple[Any, bool]:
    """The kernel as a jaxpr, and whether it keeps its meaning outside x64."""
    closed = trace(kernel.fn, [a.struct for a in kernel.in_avals])
    return closed, _is_plain(closed.jaxpr)


def trace(fn: Any, types: Any) -> Any:
    """The jaxpr of a function of arrays of these types."""
    with jax.core.eval_context(), x64(), matmul_precision():  # pyright: ignore[reportAttributeAccessIssue]
        return jax.make_jaxpr(fn)(*types)


def _is_plain(jaxpr: Any) -> bool:
    """No 64-bit types, and no derivative rule that is only traced later."""
    atoms = [*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars, *[v for e in jaxpr.eqns for v in (*e.invars, *e.outvars)]]
    if any(_is_wide(v.aval) for v in atoms) or any(e.primitive.name.startswith("custom_") for e in jaxpr.eqns):
        return False
    return all(_is_plain(inner) for inner in _core.subjaxprs(jaxpr))


def _is_wide(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and str(dtype) in ("float64", "int64", "uint64", "complex128")


# -- the primitive: a jaxpr that was traced under x64, and stays there


kernel_p = jex_core.Primitive("jaxtorch")
kernel_p.multiple_results = True


@kernel_p.def_impl
def _run(*args: Any, closed: Any) -> Any:
    with x64(), caching():
        return _jitted(closed)(*args)


@functools.lru_cache(maxsize=CACHED)
def _jitted(closed: Any) -> Any:
    return jax.jit(jex_core.jaxpr_as_fun(closed))


@kernel_p.def_abstract_eval
def _types(*avals: Any, closed: Any) -> Any:
    return closed.out_avals


def _lower(ctx: Any, *args: Any, closed: Any) -> Any:
    with x64():
        return mlir.lower_fun(jex_core.jaxpr_as_fun(closed), multiple_results=True)(ctx, *args)


mlir.register_lowering(kernel_p, _lower)


def _inlined(*args: Any, closed: Any) -> Any:
    """The kernel's own operations: newer versions of JAX ask for them where some have types or rules that XLA has not."""
    with x64():
        return jex_core.jaxpr_as_fun(closed)(*args)


kernel_p.to_lojax = _inlined


def _is_inexact(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jnp.inexact)


def _jvp(primals: Any, tangents: Any, *, closed: Any) -> Any:
    moving = tuple([type(t) is not ad.Zero and _is_inexact(a) for t, a in zip(tangents, closed.in_avals, strict=True)])
    outs = kernel_p.bind(*primals, closed=closed)
    given = [t for t, m in zip(tangents, moving, strict=True) if m]
    found = iter(kernel_p.bind(*primals, *given, closed=_tangent(closed, moving)) if given else ())
    return outs, [next(found) if given and _is_inexact(a) else ad.Zero(a.to_tangent_aval()) for a in closed.out_avals]


@functools.lru_cache(maxsize=CACHED)
def _tangent(closed: Any, moving: tuple[bool, ...]) -> Any:
    """(primals, tangents of those that move) -> tangents of the inexact outputs: linear in the tangents."""
    n = len(moving)
    places = [i for i, m in enumerate(moving) if m]
    fn = jex_core.jaxpr_as_fun(closed)

    def tangent(*args: Any) -> Any:
        def of_moving(*some: Any) -> Any:
            full = list(args[:n])
            for i, x in zip(places, some, strict=True):
                full[i] = x
            return [o for o in fn(*full) if _is_inexact(o)]

        return jax.jvp(of_moving, tuple([args[i] for i in places]), args[n:])[1]

    return trace(tangent, [*_structs(closed.in_avals), *_structs([closed.in_avals[i] for i in places])])


def _structs(avals: Any) -> list[Any]:
    return [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]


ad.primitive_jvps[kernel_p] = _jvp


def _transpose(cotangents: Any, *args: Any, closed: Any) -> Any:
    linear = tuple([ad.is_undefined_primal(a) for a in args])
    present = tuple([type(c) is not ad.Zero for c in cotangents])
    if not any(present):
        return [None] * len(args)
    known = [a for a, is_linear in zip(args, linear, strict=True) if not is_linear]
    given = [c for c, p in zip(cotangents, present, strict=True) if p]
    found = iter(kernel_p.bind(*known, *given, closed=_transposed(closed, linear, present)))
    return [next(found) if is_linear else None for is_linear in linear]


@functools.lru_cache(maxsize=CACHED)
def _transposed(closed: Any, linear: tuple[bool, ...], present: tuple[bool, ...]) -> Any:
    """(the arguments that are known, the cotangents present) -> cotangents of the linear arguments."""
    fn = jex_core.jaxpr_as_fun(closed)
    types, outs = _structs(closed.in_avals), _structs(closed.out_avals)
    known = [t for t, is_linear in zip(types, linear, strict=True) if not is_linear]
    n = len(known)

    def transposed(*args: Any) -> Any:
        def of_linear(*some: Any) -> Any:
            fixed, moving = iter(args[:n]), iter(some)
            made = fn(*[next(moving) if is_linear else next(fixed) for is_linear in linear])
            return [o for o, p in zip(made, present, strict=True) if p]  # zeros for the others: 0 times infinity is NaN

        moving_types = [t for t, is_linear in zip(types, linear, strict=True) if is_linear]
        return jax.linear_transpose(of_linear, *moving_types)(list(args[n:]))

    return trace(transposed, [*known, *[o for o, p in zip(outs, present, strict=True) if p]])


ad.primitive_transposes[kernel_p] = _transpose


def _batch(args: Any, dims: Any, *, closed: Any) -> Any:
    along = tuple(dims)  # None where an argument is not mapped
    size = next(a.shape[d] for a, d in zip(args, along, strict=True) if d is not None)
    outs = kernel_p.bind(*args, closed=_batched(closed, along, size))
    return outs, [0] * len(outs)


@functools.lru_cache(maxsize=CACHED)
def _batched(closed: Any, along: tuple[int | None, ...], size: int) -> Any:
    """The kernel over one more dimension: `along` in each argument, the first in each output."""
    types = []
    for a, d in zip(closed.in_avals, along, strict=True):
        shape = a.shape if d is None else (*a.shape[:d], size, *a.shape[d:])
        types.append(jax.ShapeDtypeStruct(shape, a.dtype))
    return trace(jax.vmap(jex_core.jaxpr_as_fun(closed), in_axes=along, out_axes=0, axis_size=size), types)


batching.primitive_batchers[kernel_p] = _batch
