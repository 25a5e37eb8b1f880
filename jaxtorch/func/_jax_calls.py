"""A transformed function as an operation on tensors.

JAX transforms pure functions of arrays; the functions here take tensors, may close over others, and may write to their
arguments. `Call` is such a function as a pure function of its arguments' arrays, for one call. `differentiable` runs a pure
function on the arrays of tensors and attaches the results to the autograd graph: then the function is traced as well, and backward
differentiates what was traced.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core.compile.context import x64
from .._core.graph import nodes
from .._core.random import jax_draws
from .._core.random.generator import default_generator
from .._core.record.program import force
from .._core.run import capture, host_trace
from .._core.run.runner import is_tracer
from .._core.tensor.tensor import Tensor, wrap
from .._core.transforms import forward_mode
from .._core.transforms.staging import Traced, traced
from .._core.types import dtypes
from .._core.types.grad_mode import UNKNOWN, restart_untaped, state
from .._core.types.value import Value, aval_of
from .._tensor.interop import from_jax, to_jax
from ..utils._pytree import TreeSpec
from ..utils._pytree import tree_flatten as flatten
from ..utils._pytree import tree_unflatten as unflatten

Run = Callable[[list[Any]], list[Any]]


def is_inexact(t: Tensor) -> bool:
    dtype = t._value.aval.dtype
    return dtype.is_floating_point or dtype.is_complex


class Call:
    """One call of the user's function: `run` is pure, on the arrays of all tensors among the arguments.

    tensors: those tensors. `finish` writes back what the function wrote to them.
    """

    def __init__(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.func = func
        self.leaves, self.spec = flatten((args, kwargs))
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, Tensor)]
        self.tensors: list[Tensor] = [self.leaves[i] for i in self.places]
        self.written: list[int] = []
        self.tracked: list[bool] = []

    def of(self, tensors: list[Tensor]) -> Any:
        """What the function returns with these tensors in place of those among its arguments."""
        leaves = list(self.leaves)
        for i, t in zip(self.places, tensors, strict=True):
            leaves[i] = t
        args, kwargs = unflatten(leaves, self.spec)
        return self.func(*args, **kwargs)

    def run(self, arrays: list[Any]) -> tuple[Any, list[Any]]:
        """What the function returns for these arrays, and the new arrays of the arguments that it wrote to."""
        handles = [_handle(t, a) for t, a in zip(self.tensors, arrays, strict=True)]
        before = [h._value for h in handles]
        leaves = list(self.leaves)
        for i, h in zip(self.places, handles, strict=True):
            leaves[i] = h
        args, kwargs = unflatten(leaves, self.spec)
        grad, state.grad = state.grad, True
        state.transforms += 1
        try:
            out = self.func(*args, **kwargs)
        finally:
            state.grad = grad
            state.transforms -= 1
        self.written = [i for i, (h, v) in enumerate(zip(handles, before, strict=True)) if _is_written(h, v)]
        self.tracked = [handles[i]._rg for i in self.written]
        return out, [handles[i]._array() for i in self.written]

    def finish(self, new: list[Tensor]) -> None:
        """Give the arguments that the function wrote to their new content."""
        for i, t, tracked in zip(self.written, new, self.tracked, strict=True):
            if tracked:
                self.tensors[i]._rebind(t)
            else:
                self.tensors[i]._write(t._read())


def _is_written(t: Tensor, before: Value) -> bool:
    """Has a tensor other content than it had? Memory that NumPy shares is read afresh each time, and may be as it was."""
    now = t._read()
    if now is before:
        return False
    if t._alias is None or now.aval is not before.aval or is_tracer(before.array) or is_tracer(now.array):
        return True
    return np.asarray(force(now)).tobytes() != np.asarray(force(before)).tobytes()


def _handle(t: Tensor, array: Any) -> Tensor:
    """A tensor like `t`, on other content, for the function to work on."""
    shape, old = tuple(array.shape), t._value.aval
    h = wrap(Value(aval_of(shape, dtypes.from_numpy(array.dtype), old.slot), array))
    h._layout = t._layout if shape == old.shape else None
    if t._rg:  # so that what depends on it can be told from what does not
        h._rg = True
        if t._node is not None:
            h._node = nodes.Node(_NOTHING)
        if _watchers.stack:
            _watchers.stack[-1].own[id(h)] = h
    return h


class _Nothing:
    """The form of a node that only says that a tensor is no leaf."""

    name = "Argument"
    n_out = 1
    wanted: tuple[int, ...] = ()
    in_avals: tuple[Any, ...] = ()
    roots: tuple[Any, ...] = ()


_NOTHING = _Nothing()


# -- what the user's functions return


def out_tensors(out: Any, name: str) -> tuple[list[Tensor], TreeSpec]:
    """The tensors of a result, and its structure; RuntimeError if there is anything else in it, or nothing."""
    leaves, spec = flatten(out)
    if not leaves:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = [])")
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(x)}")
    return leaves, spec


def check_smooth(outs: list[Tensor]) -> None:
    """RuntimeError if a result of a function given to `vjp` cannot be differentiated."""
    for t in outs:
        if not is_inexact(t):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{t._value.aval.dtype}"
            )


def check_real(leaves: list[Any], name: str, what: str) -> None:
    """RuntimeError if an argument or a result of a function whose Jacobian is asked for is complex."""
    for i, t in enumerate(leaves):
        if isinstance(t, Tensor) and t._value.aval.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )


def aux_tensors(aux: Any) -> tuple[list[Tensor], TreeSpec]:
    """The same for the auxiliary part of a result."""
    leaves, spec = flatten(aux)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return leaves, spec


def array_of(t: Tensor) -> Any:
    """The array of a result, taking note of the closed-over tensors it depends on."""
    if t._rg and _watchers.stack:
        _watchers.stack[-1].look(t)
    if forward_mode.level is not None:
        forward_mode.refuse(t._read(), "a function given to torch.func closes over what depends on the tangent")
    array = to_jax(t)
    if capture.staging is not None and not is_tracer(t._read().array):  # from outside
        if not t._rg:
            return jax.lax.stop_gradient(array)
        capture.staging.note([t])
    return array


def refuse_nested() -> None:
    """RuntimeError where a forward derivative is asked for while a dual level is open."""
    if forward_mode.level is not None and not forward_mode.level.taped:
        raise RuntimeError(forward_mode.NESTED)


def conj(array: Any) -> Any:
    """Between JAX's and PyTorch's convention for gradients of complex numbers."""
    return jnp.conj(array) if jnp.issubdtype(array.dtype, jnp.complexfloating) else array


# -- closed-over tensors


class Watch:
    """Collects the leaf tensors from outside that the results of one call depend on, and knows what it drew at random."""

    def __init__(self) -> None:
        self.start = next(nodes.counter)
        self._stream = default_generator.engine.get_state()
        self.drawn: list[Value] = []  # where the function was traced
        self.leaves: dict[int, Tensor] = {}
        self.own: dict[int, Tensor] = {}  # the function's arguments, which are no closed-over tensors
        self.outside = False
        self._seen: set[int] = set()

    @contextlib.contextmanager
    def same_numbers(self) -> Iterator[None]:
        """Context in which the function draws what it drew in that call."""
        if self.drawn:
            with jax_draws.replaying_draws(self.drawn):
                yield
            return
        engine = default_generator.engine
        now = engine.get_state()
        engine.set_state(self._stream)
        try:
            yield
        finally:
            engine.set_state(now)

    def look(self, t: Tensor) -> None:
        pending = [t if t._node is None else t._node]
        while pending:
            target = pending.pop()
            if id(target) in self._seen:
                continue
            self._seen.add(id(target))
            if isinstance(target, Tensor):
                if id(target) not in self.own and not is_tracer(target._read().array):
                    self.leaves[id(target)] = target
            elif target.seq < self.start:
                self.outside = True
            else:
                pending.extend([end for end in target.ends if end is not None])


class _Watchers(threading.local):
    def __init__(self) -> None:
        self.stack: list[Watch] = []


_watchers = _Watchers()


@contextlib.contextmanager
def _watching(watch: Watch) -> Iterator[Watch]:
    _watchers.stack.append(watch)
    jax_draws.sources.listeners.append(watch.drawn)
    try:
        yield watch
    finally:
        _watchers.stack.pop()
        jax_draws.sources.listeners.pop()


@contextlib.contextmanager
def _holding(tensors: list[Tensor], arrays: Any) -> Iterator[None]:
    """Context in which tensors hold other arrays."""
    before = [(t._value, t._alias) for t in tensors]
    for t, a in zip(tensors, arrays, strict=True):
        t._value, t._alias = Value(t._read().aval, a), None
    try:
        yield
    finally:
        for t, (value, alias) in zip(tensors, before, strict=True):
            t._value, t._alias = value, alias


# -- as part of the autograd graph


def differentiable(run: Run, tensors: list[Tensor], watch: Watch | None = None) -> list[Tensor]:
    """`run` on the arrays of tensors. The results depend on them, and on what `run` closes over, as autograd sees it.

    watch: what an earlier run, whose work this one goes on with, was seen to close over.
    """
    values = [t._read() for t in tensors]
    if forward_mode.level is not None and any([forward_mode.is_dual(v) for v in values]):  # noqa: C419
        return _with_tangents(run, tensors, watch)
    with _watching(watch or Watch()) as watch:
        pure = None
        if capture.active is not None and capture.active.reason is None and not jax_draws.transforming():
            before = default_generator.engine.get_state()
            pure = traced(run, values)
            if pure is None:  # what it has drawn is drawn again
                default_generator.engine.set_state(before)
                watch.drawn.clear()
        if pure is None:
            arrays = [to_jax(t) for t in tensors]
            with x64(), host_trace.beneath():
                made = run(arrays)
            results = [from_jax(o) for o in made]
        else:
            results = [wrap(v) for v in pure.emit()]
    if not state.grad or not any([is_inexact(r) for r in results]):  # noqa: C419
        return results
    wanted = [i for i, t in enumerate(tensors) if t._rg]
    if pure is None and (wanted or watch.leaves or watch.outside):
        with watch.same_numbers():
            pure = traced(run, values, list(watch.leaves.values()))
    job = _Job(run, values, tensors, wanted, watch) if pure is None else _Pure(pure, tensors, wanted)
    if not (job.inputs or job.outside):
        return results
    for outer in _watchers.stack[-1:]:  # an outer call depends on the same tensors
        outer.outside |= job.outside
        for t in job.inputs:
            outer.look(t)
    node = TransformBackward(_Form(job.inputs, results), (*job.values, *[t._read() for t in job.inputs]))
    node.edges = _edges(job.inputs)
    node.job = job
    for k, r in enumerate(results):
        if is_inexact(r):
            r._node, r._index, r._rg = node, k, True
    return results


def _with_tangents(run: Run, tensors: list[Tensor], watch: Watch | None) -> list[Tensor]:
    """`differentiable` for tensors with tangents (`forward_ad`): the function runs twice, with the same random numbers."""
    if forward_mode.level is not None and forward_mode.level.outer is not None:
        restart_untaped(UNKNOWN)
    tangents = [forward_mode.tangent_of(t._read()) for t in tensors]
    moving = [i for i, t in enumerate(tangents) if t is not None]
    n = len(tensors)
    bare = [forward_free(t) for t in tensors]
    watch = watch or Watch()
    results = differentiable(run, bare, watch)

    def along(arrays: list[Any]) -> list[Any]:
        def of_moving(*some: Any) -> list[Any]:
            full = list(arrays[:n])
            for i, x in zip(moving, some, strict=True):
                full[i] = x
            return run(full)

        outs, found = jax.jvp(of_moving, tuple([arrays[i] for i in moving]), tuple(arrays[n:]))
        return [t for o, t in zip(outs, found, strict=True) if jnp.issubdtype(o.dtype, jnp.inexact)]

    with watch.same_numbers():
        made = iter(differentiable(along, [*bare, *[tangents[i] for i in moving]]))
    for r in results:
        if is_inexact(r):
            forward_mode.set_tangent(r._value, next(made))
    return results


def forward_free(t: Tensor) -> Tensor:
    """The tensor, or where it has a tangent the same without it, with the same history."""
    if not forward_mode.is_dual(t._read()):
        return t
    with forward_mode.pausing():
        return t.view_as(t)


def _edges(inputs: list[Tensor]) -> tuple[Any, ...]:
    return tuple([(t, 0) if t._node is None else (t._node, t._index) for t in inputs])


class _Form:
    """What the backward pass asks of a node's form."""

    def __init__(self, inputs: list[Tensor], results: list[Tensor]) -> None:
        self.name = "TransformBackward"
        self.n_out = len(results)
        self.wanted = tuple(range(len(inputs)))
        self.in_avals = tuple([t._value.aval for t in inputs])
        self.out_avals = tuple([r._value.aval for r in results])
        self.roots: tuple[Any, ...] = ()


class _Pure:
    """A transformed function that has been traced, and which of its operands want gradients."""

    outside = False

    def __init__(self, pure: Traced, tensors: list[Tensor], wanted: list[int]) -> None:
        self.pure, self.values = pure, pure.values
        closed = {i: t for i, t in pure.closed.items() if i >= len(tensors)}
        self.places = [*wanted, *closed]
        self.inputs = [*[tensors[i] for i in wanted], *closed.values()]

    def again(self, inputs: list[Any]) -> list[Any]:
        """The results as a function of the inputs."""
        moving = dict(zip(self.places, inputs, strict=True))
        return list(self.pure.run(*[moving[i] if i in moving else to_jax(wrap(v)) for i, v in enumerate(self.values)]))


class _Job:
    """What running a transformed function again takes, where it could not be traced."""

    def __init__(self, run: Run, values: list[Value], tensors: list[Tensor], wanted: list[int], watch: Watch) -> None:
        self.run, self.values, self.wanted, self.watch = run, values, wanted, watch
        self.closed = list(watch.leaves.values())
        self.inputs = [*[tensors[i] for i in wanted], *self.closed]
        self.outside = watch.outside

    def again(self, inputs: list[Any]) -> list[Any]:
        """The results as a function of the inputs that want a gradient."""
        moving = dict(zip(self.wanted, inputs, strict=False))
        full = [moving[i] if i in moving else to_jax(wrap(v)) for i, v in enumerate(self.values)]
        with self.watch.same_numbers(), _holding(self.closed, inputs[len(self.wanted) :]):
            return self.run(full)


class TransformBackward(nodes.Node):
    """The node of a transformed function."""

    __slots__ = ("job",)

    def release(self) -> None:
        self.saved = None
        self.job: Any = None

    def run_values(self, mode: Any, grads: list[Any]) -> list[Any]:
        """The gradients of the inputs, from those of the results."""
        self.saved_values()
        job = self.job
        if job.outside:
            raise NotImplementedError(
                "backward through a torch.func transformation whose function closes over a tensor that was computed from "
                "others that require grad: pass that tensor to the function as an argument"
            )
        avals = self.form.out_avals
        smooth = [k for k, a in enumerate(avals) if a.dtype.is_floating_point or a.dtype.is_complex]
        present = [k for k in smooth if grads[k] is not None]
        inputs = job.inputs
        n = len(inputs)

        def pulled(arrays: list[Any]) -> list[Any]:
            def of_inputs(*xs: Any) -> list[Any]:
                outs = job.again(list(xs))
                return [outs[k] for k in present]

            _, vjp = jax.vjp(of_inputs, *arrays[:n])
            return [conj(g) for g in vjp([conj(c) for c in arrays[n:]])]

        given = [mode.to_tensor(grads[k]) for k in present]
        before, state.grad = state.grad, mode.graph
        try:
            found = differentiable(pulled, [*inputs, *given])
        finally:
            state.grad = before
        return [mode.of_tensor(t) for t in found]
