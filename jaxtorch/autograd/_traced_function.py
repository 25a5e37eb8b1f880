"""`autograd.Function` inside JAX's transformations: the user's backward becomes the rule of a `jax.custom_vjp`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core.modes import state
from .._core.runner import is_tracer
from .._core.tensor import Tensor
from .._core.traced import follows_tangents
from .._tensor.interop import from_jax, to_jax


def is_traced(args: Any) -> bool:
    """Does a tensor among the arguments hold a tracer?"""
    return any([isinstance(a, Tensor) and is_tracer(a._read().array) for a in args])  # noqa: C419


class _Function:
    """One call of a Function as a JAX function of the arrays of its tensor arguments."""

    def __init__(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], with_setup: bool) -> None:
        self.cls, self.args, self.kwargs, self.with_setup = cls, args, kwargs, with_setup
        self.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        self.ctx: Any = None
        self.outputs: list[Any] = []
        self.saved: list[tuple[str, int] | None] = []
        self.kept: list[str] = []
        self.single = True

    def forward(self, arrays: Any) -> tuple[Any, list[Any], list[Tensor]]:
        """The context, the outputs and the inputs of one run of the user's forward."""
        args, handles = list(self.args), [from_jax(a) for a in arrays]
        for i, h in zip(self.places, handles, strict=True):
            h._layout = args[i]._layout
            args[i] = h
        ctx = self.cls._node_class()
        ctx.needs_input_grad = tuple(
            [isinstance(a, Tensor) and (a.is_floating_point() or a.is_complex()) for a in args]
        )
        before, state.grad = state.grad, False
        try:
            if self.with_setup:
                out = self.cls.forward(*args, **self.kwargs)
                self.cls.setup_context(ctx, tuple(args), out)
            else:
                out = self.cls.forward(ctx, *args, **self.kwargs)
        finally:
            state.grad = before
        if ctx._dirty:
            raise NotImplementedError(
                f"{self.cls.__name__}: mark_dirty is not available where a JAX transformation traces; return a new "
                "tensor instead"
            )
        self.single = not isinstance(out, tuple)
        return ctx, [out] if self.single else list(out), handles

    def values(self, arrays: Any) -> tuple[Any, ...]:
        self.ctx, self.outputs, _ = self.forward(arrays)
        fixed = {id(t) for t in self.ctx._non_differentiable}
        return tuple([
            jax.lax.stop_gradient(to_jax(o)) if id(o) in fixed else to_jax(o) for o in self.outputs if isinstance(o, Tensor)
        ])  # fmt: skip

    def keep(self, arrays: Any, outs: tuple[Any, ...]) -> list[Any]:
        """What backward needs, as arrays. Outputs are those of the function itself, so that they differentiate again."""
        ctx, own, handles = self.forward(arrays)
        inputs = {id(h): i for i, h in enumerate(handles)}
        results = {id(o): k for k, o in enumerate([o for o in own if isinstance(o, Tensor)])}
        self.ctx, self.saved, extras = ctx, [], []
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
        given = [from_jax(_cotangent(c, o)) for c, o in zip(cotangents, outs, strict=True)]
        rest = iter(given)
        every = [next(rest) if isinstance(o, Tensor) else None for o in self.outputs]
        results = self.cls.backward(ctx, *every)
        results = results if isinstance(results, tuple) else (results,)
        if len(results) < len(self.args):
            raise RuntimeError(
                f"function {self.cls.__name__}Backward returned an incorrect number of gradients (expected {len(self.args)}, "
                f"got {len(results)})"
            )
        return tuple([self._gradient(results[i], a, i) for i, a in zip(self.places, arrays, strict=True)])

    def results(self, arrays: Any) -> Any:
        """What the user's forward returned, with these arrays for its tensors."""
        rest = iter(arrays)
        made = [from_jax(next(rest)) if isinstance(o, Tensor) else o for o in self.outputs]
        return made[0] if self.single else tuple(made)

    def _gradient(self, g: Any, array: Any, i: int) -> Any:
        if not jnp.issubdtype(array.dtype, jnp.inexact):
            return np.zeros(array.shape, jax.dtypes.float0)
        if g is None:
            return jnp.zeros_like(array)
        from .function import _fit

        found = to_jax(_fit(g, from_jax(array)._value.aval, f"{self.cls.__name__}Backward", i))
        return jnp.conj(found) if jnp.issubdtype(found.dtype, jnp.complexfloating) else found


def _cotangent(c: Any, out: Any) -> Any:
    if c.dtype == jax.dtypes.float0:
        return jnp.zeros(out.shape, out.dtype)
    return jnp.conj(c) if jnp.issubdtype(c.dtype, jnp.complexfloating) else c


def apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], with_setup: bool) -> Any:
    """Run a Function on tracers; JAX differentiates it by the user's backward."""
    job = _Function(cls, args, kwargs, with_setup)
    if follows_tangents():
        return job.results(_with_tangents(job)(*[to_jax(args[i]) for i in job.places]))

    @jax.custom_vjp
    def run(*arrays: Any) -> Any:
        return job.values(arrays)

    def forward(*arrays: Any) -> Any:
        outs = run(*arrays)
        return outs, (arrays, outs, job.keep(arrays, outs))

    run.defvjp(forward, job.pull)
    return job.results(run(*[to_jax(args[i]) for i in job.places]))


def _with_tangents(job: _Function) -> Any:
    """The Function for forward mode: the user's `jvp` gives the tangents."""

    @jax.custom_jvp
    def run(*arrays: Any) -> Any:
        return job.values(arrays)

    @run.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        outs = job.values(primals)
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
        return outs, tuple([_tangent(t, o) for t, o in zip(given, outs, strict=True)])

    return run


def _tangent(t: Any, out: Any) -> Any:
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        return np.zeros(out.shape, jax.dtypes.float0)
    return jnp.zeros_like(out) if t is None else to_jax(t).astype(out.dtype)
