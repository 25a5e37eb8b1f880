"""`autograd.Function` inside JAX's transformations.

Where a gradient is taken the user's backward (or `jvp`) becomes the rule of a `jax.custom_vjp` (`jax.custom_jvp`), and `forward`
is applied one level further out, as in PyTorch. Under `torch.func.vmap` it is the user's `vmap` that runs (`_function_vmap`).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core as _core
from jax._src.interpreters.ad import JVPTrace, LinearizeTrace

from .._core.random import jax_draws
from .._core.run.runner import is_tracer
from .._core.run.traced_kernels import follows_tangents
from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import Tensor
from .._core.transforms.vmap import is_mapped
from .._core.types.grad_mode import UNKNOWN, restart_untaped, state
from .._tensor.interop import from_jax, to_jax
from . import _function_vmap
from ._function_results import check_gradients, fitted


def is_traced(args: Any) -> bool:
    """Does a tensor among the arguments hold a tracer? Those in containers count where `vmap` maps over them."""
    for a in args:
        if isinstance(a, Tensor):
            if not is_sparse(a) and is_mapped(a._read()):
                restart_untaped(UNKNOWN)
            if is_traced(a._parts) if is_sparse(a) else is_tracer(a._read().array):  # pyright: ignore[reportAttributeAccessIssue]
                return True
        elif (
            type(a) in (list, tuple, dict)
            and state.transforms
            and jax_draws.is_mapping()
            and is_traced(a.values() if type(a) is dict else a)
        ):
            return True
    return False


def check(cls: Any, modern: bool) -> None:
    """RuntimeError where `torch.func` is at work and PyTorch does not accept the Function."""
    if (isinstance(_core.trace_ctx.trace, _core.EvalTrace) and not state.working) or cls._everywhere:
        return
    if not modern:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
            "the setup_context staticmethod. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if jax_draws.is_mapping():
        _function_vmap.check(cls)


class _Function:
    """One call of a Function as a JAX function of the arrays of its tensor arguments.

    modern: does it define `setup_context`? outer: `forward` is applied one level further out.
    """

    def __init__(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], modern: bool, outer: bool) -> None:
        self.cls, self.args, self.kwargs, self.modern, self.outer = cls, args, kwargs, modern, outer
        self.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        self.ctx: Any = None
        self.outputs: list[Any] = []
        self.saved: list[tuple[str, int] | None] = []
        self.kept: list[str] = []
        self.fixed: set[int] = set()
        self.single = True

    def _given(self, arrays: Any) -> tuple[list[Any], list[Tensor]]:
        """The arguments with these arrays in their tensors, and those tensors."""
        args, handles = list(self.args), [from_jax(a) for a in arrays]
        for i, h in zip(self.places, handles, strict=True):
            h._layout = args[i]._layout
            args[i] = h
        return args, handles

    def _context(self, args: list[Any]) -> Any:
        ctx = self.cls._node_class()
        ctx.needs_input_grad = tuple(
            [isinstance(a, Tensor) and (a.is_floating_point() or a.is_complex()) for a in args]
        )
        return ctx

    def _forward(self, args: list[Any], ctx: Any) -> list[Any]:
        before, state.grad = state.grad, False
        try:
            if self.outer:
                out = self.cls._applied(tuple(args), self.kwargs)
            else:
                out = self.cls.forward(*([] if self.modern else [ctx]), *args, **self.kwargs)
        finally:
            state.grad = before
        self.single = not isinstance(out, tuple)
        return [out] if self.single else list(out)

    def _noted(self, ctx: Any, args: list[Any], outputs: list[Any]) -> None:
        """What the user notes on ctx, which by now knows the outputs."""
        if self.modern:
            before, state.grad = state.grad, False
            try:
                self.cls.setup_context(ctx, tuple(args), outputs[0] if self.single else tuple(outputs))
            finally:
                state.grad = before
        if ctx._dirty:
            raise NotImplementedError(
                f"{self.cls.__name__}: mark_dirty is not available where a JAX transformation traces; return a new "
                "tensor instead"
            )
        own = [o for o in outputs if isinstance(o, Tensor)]
        marked = {id(t) for t in ctx._non_differentiable}
        self.fixed = {k for k, o in enumerate(own) if id(o) in marked}
        self.ctx = ctx

    def values(self, arrays: Any) -> tuple[Any, ...]:
        """The arrays of the outputs."""
        args, _ = self._given(arrays)
        ctx = self._context(args)
        self.outputs = self._forward(args, ctx)
        if not self.outer:
            self._noted(ctx, args, self.outputs)
        return tuple([to_jax(o) for o in self.outputs if isinstance(o, Tensor)])

    def keep(self, arrays: Any, outs: tuple[Any, ...]) -> list[Any]:
        """What backward needs, as arrays. Outputs are those of the function itself, so that they differentiate again."""
        args, handles = self._given(arrays)
        ctx = self._context(args)
        own = self._filled(outs) if self.modern else self._forward(args, ctx)
        self._noted(ctx, args, own)
        inputs = {id(h): i for i, h in enumerate(handles)}
        results = {id(o): k for k, o in enumerate([o for o in own if isinstance(o, Tensor)])}
        self.saved, extras = [], []
        for t in ctx._to_save:
            if t is None:
                self.saved.append(None)
            elif id(t) in inputs:
                self.saved.append(("in", inputs[id(t)]))
            elif id(t) in results:
                self.saved.append(("out", results[id(t)]))
            else:
                self.saved.append(("extra", len(extras)))
                extras.append(jax.lax.stop_gradient(to_jax(t)))
        self.kept = [k for k, v in ctx.__dict__.items() if isinstance(v, Tensor)]
        extras.extend([jax.lax.stop_gradient(to_jax(ctx.__dict__[k])) for k in self.kept])
        return extras

    def pull(self, residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        arrays, outs, extras = residuals
        ctx = self.ctx
        source = {"in": arrays, "out": outs, "extra": extras}
        ctx._saved = None
        ctx._to_save = tuple([None if s is None else from_jax(source[s[0]][s[1]]) for s in self.saved])
        for name, a in zip(self.kept, extras[len(extras) - len(self.kept) :], strict=True):
            ctx.__dict__[name] = from_jax(a)
        given = [
            from_jax(jnp.zeros(o.shape, o.dtype) if k in self.fixed else _cotangent(c, o))
            for k, (c, o) in enumerate(zip(cotangents, outs, strict=True))
        ]
        rest = iter(given)
        every = [next(rest) if isinstance(o, Tensor) else None for o in self.outputs]
        results = self.cls._user_backward()(ctx, *every)
        results = results if isinstance(results, tuple) else (results,)
        check_gradients(f"{self.cls.__name__}GeneratedBackward", results, len(self.args), self.places)
        return tuple([self._gradient(results[i], a, i) for i, a in zip(self.places, arrays, strict=True)])

    def _filled(self, arrays: Any) -> list[Any]:
        rest = iter(arrays)
        return [from_jax(next(rest)) if isinstance(o, Tensor) else o for o in self.outputs]

    def results(self, arrays: Any) -> Any:
        """What the user's forward returned, with these arrays for its tensors."""
        made = self._filled(arrays)
        return made[0] if self.single else tuple(made)

    def _gradient(self, g: Any, array: Any, i: int) -> Any:
        if not jnp.issubdtype(array.dtype, jnp.inexact):
            return np.zeros(array.shape, jax.dtypes.float0)
        if g is None:
            return jnp.zeros_like(array)
        found = to_jax(fitted(g, from_jax(array)._value.aval, f"{self.cls.__name__}Backward", i))
        return jnp.conj(found) if jnp.issubdtype(found.dtype, jnp.complexfloating) else found


def _cotangent(c: Any, out: Any) -> Any:
    if c.dtype == jax.dtypes.float0:
        return jnp.zeros(out.shape, out.dtype)
    return jnp.conj(c) if jnp.issubdtype(c.dtype, jnp.complexfloating) else c


def apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], modern: bool) -> Any:
    """Run a Function on tracers; JAX differentiates it by the user's backward."""
    trace = _function_vmap.owner(args)
    mapped = jax_draws.mapped_by(trace)
    if mapped is not None and cls._overrides_vmap():
        return _function_vmap.run(cls.vmap, cls.__name__, args, kwargs, mapped, trace)
    job = _Function(cls, args, kwargs, modern, modern and type(trace) in (JVPTrace, LinearizeTrace))
    with _core.set_current_trace(trace):
        outs = (_with_tangents if follows_tangents() else _with_cotangents)(job)(*[to_jax(args[i]) for i in job.places])
    return job.results(outs)


def _with_cotangents(job: _Function) -> Any:
    """The Function for reverse mode: the user's backward gives the gradients."""

    @jax.custom_vjp
    def run(*arrays: Any) -> Any:
        return job.values(arrays)

    def forward(*arrays: Any) -> Any:
        outs = job.values(arrays) if job.outer else run(*arrays)
        return outs, (arrays, outs, job.keep(arrays, outs))

    run.defvjp(forward, job.pull)
    return run


def _with_tangents(job: _Function) -> Any:
    """The Function for forward mode: the user's `jvp` gives the tangents."""

    @jax.custom_jvp
    def run(*arrays: Any) -> Any:
        return job.values(arrays)

    @run.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        outs = job.values(primals)
        if job.outer:
            args, _ = job._given(primals)
            job._noted(job._context(args), args, job._filled(outs))
        ctx = job.ctx
        ctx._for_jvp = tuple(ctx._to_save_forward)
        moves = {i: from_jax(t) for i, t in zip(job.places, tangents, strict=True) if t.dtype != jax.dtypes.float0}
        try:
            found = job.cls.jvp(ctx, *[moves.get(i) for i in range(len(job.args))])
        finally:
            ctx._for_jvp = None
        found = list(found) if isinstance(found, tuple) else [found]
        if len(found) != len(job.outputs):
            raise RuntimeError(
                f"{job.cls.__name__}: jvp returned {len(found)} tangents, but forward returned {len(job.outputs)} outputs"
            )
        given = [t for t, o in zip(found, job.outputs, strict=True) if isinstance(o, Tensor)]
        given = [None if k in job.fixed else t for k, t in enumerate(given)]
        return outs, tuple([_tangent(t, o) for t, o in zip(given, outs, strict=True)])

    return run


def _tangent(t: Any, out: Any) -> Any:
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        return np.zeros(out.shape, jax.dtypes.float0)
    return jnp.zeros_like(out) if t is None else to_jax(t).astype(out.dtype)
