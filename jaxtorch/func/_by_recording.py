"""`grad`, `vjp`, `jacrev` and `vmap` on the engine's own graph and on mapped values: what functions do is recorded, never traced.

The function runs once, on tensors that begin a history of their own (`Argument`); a derivative is a backward pass to these. Inside
`vmap` values stand for one example each (`_core/transforms/vmap.py`). What only JAX's transformations can do (`jvp`, an
`autograd.Function`'s rules under `vmap`, printing) raises `Untaped` in here: the outermost transformation then begins anew
with them (`by_tape`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jax._src import core as _core

from .._core.autograd import backward, node_hooks
from .._core.autograd.targets import GradientTargets
from .._core.define.op import functions
from .._core.graph import nodes
from .._core.random import jax_draws
from .._core.run import capture
from .._core.tensor import strides
from .._core.tensor.layouts import strides_of
from .._core.tensor.storage import Alias
from .._core.tensor.tensor import Tensor, wrap
from .._core.transforms import forward_mode, vmap
from .._core.transforms.vmap import Level
from .._core.transforms.write_journal import Journal
from .._core.types.grad_mode import RestartUntaped, state
from .._core.types.value import Value, aval_of

WRITTEN = (
    "vmap: inplace arithmetic on a tensor that is not mapped over is not possible, because the result differs from example to "
    "example"
)


def is_inexact(t: Tensor) -> bool:
    """Has it numbers that can be differentiated?"""
    dtype = t._value.aval.dtype
    return dtype.is_floating_point or dtype.is_complex


def possible() -> bool:
    """Can a transformation be recorded, here and now?"""
    return (
        isinstance(_core.trace_ctx.trace, _core.EvalTrace)
        and capture.staging is None
        and capture.active is None
        and (
            state.taped > 0 or not any(isinstance(h, tuple) for h in state.saved_hooks)
        )  # what a checkpoint computes again would be mapped at another level
        and all(isinstance(s, Level) for s in jax_draws.sources.stack)
        and (state.taped > 0 or state.transforms == 0)
    )


def by_tape(taped: Callable[[], Any], by_jax: Callable[[], Any]) -> Any:
    """What `taped` returns, or, where it cannot be done, `by_jax`."""
    if not possible():
        return _by_jax(by_jax)
    if state.taped:
        return taped()
    with Journal() as journal:
        try:
            return taped()
        except RestartUntaped:
            pass
    journal.undo()
    return _by_jax(by_jax)


def _by_jax(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except TypeError as error:
        if "forward-mode autodiff (jvp) to a custom_vjp" not in str(error):
            raise
        raise NotImplementedError(
            "Trying to use forward AD with an operation that does not support it because it has not been implemented yet."
        ) from error


@contextlib.contextmanager
def _at_work(
    level: Level | None = None, grad: bool = False, along: bool = False, still: frozenset[int] | None = None
) -> Iterator[None]:
    """Context of the user's function. level: at which it is mapped, or its tangents are. grad: it records gradients in any case.
    along: it moves along tangents. still: the arguments (by id) that it is not differentiated by."""
    before = state.grad
    state.transforms += 1
    state.taped += 1
    state.working.append("tangents" if along else still or level)
    try:
        state.grad = before or grad
        if level is None:
            yield
        else:
            level.open = True
            vmap.used[:] = (True,)
            with jax_draws.mapping_at(level):
                yield
    finally:
        state.grad = before
        state.transforms -= 1
        state.taped -= 1
        state.working.pop()
        if level is not None:
            level.open = False


# -- derivatives


class Argument(nodes.Node):
    """Where the history begins of an argument that a function is differentiated by; to the function it is a leaf.

    running: not empty while the function runs.
    """

    __slots__ = ("running",)

    def __init__(self, running: list[bool], *place: Any) -> None:
        super().__init__(*place)
        self.running = running

    def release(self) -> None:
        pass

    def run_values(self, mode: Any, grads: list[Any]) -> list[Any]:
        """The gradient goes on to what the argument itself was computed from."""
        return [grads[0]]


nodes.hidden_kinds.add(Argument)
nodes.entered_kinds.add(Argument)


class Problem:
    """A call, and the tensors (`moving`) among its arguments that it is differentiated by.

    after: the function's arguments, in which others stand for these. inputs: as edges that a backward pass can end at.
    """

    def __init__(self, tensors: list[Tensor], moving: list[int]) -> None:
        self.tensors, self.moving = tensors, moving
        self.after = list(tensors)
        self.values, self.nodes = [], []
        self.running: list[bool] = []
        self.still = frozenset([id(t) for i, t in enumerate(tensors) if t._rg and i not in moving])
        for i in moving:
            t = tensors[i]
            v = t._read()
            ends, indices = vmap.end_of(t) if t._rg and state.grad else ([None], None)
            h = wrap(v)
            h._layout = t._layout
            h._node, h._rg = Argument(self.running, vmap._Form(v.aval, v.aval), (), ends, indices), True
            self.after[i] = h
            self.values.append(v)
            self.nodes.append(h._node)
        self._inside: set[Any] = set()

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Context of the function."""
        self.running.append(True)
        try:
            with _at_work(grad=True, still=self.still):
                yield
        finally:
            self.running.clear()

    def write_back(self) -> None:
        """Give the arguments that the function wrote to their new content."""
        for i, v in zip(self.moving, self.values, strict=True):
            h, t = self.after[i], self.tensors[i]
            if h._read() is not v:
                new = self.settled(h)
                t._rebind(new) if new._rg else t._write(new._read())

    def reaches_outside(self, t: Tensor) -> bool:
        """Does a tensor depend on one from outside that requires a gradient?"""
        if not t._rg:
            return False
        pending: list[Any] = [t if t._node is None else t._node]
        inside, seen = self._inside, set()
        while pending:
            target = pending.pop()
            if target in seen or target in inside:
                continue
            if not isinstance(target, nodes.Node) or (type(target) is Argument and target.running):
                return True
            seen.add(target)
            pending.extend([end for end in target.ends if end is not None])
        inside |= seen
        return False

    def reaches_inside(self, t: Tensor) -> bool:
        """Does a tensor depend on what the function is differentiated by?"""
        pending: list[Any] = [t._node]
        seen: set[Any] = set()
        while pending:
            target = pending.pop()
            if target in self.nodes:
                return True
            if target not in seen and isinstance(target, nodes.Node):
                seen.add(target)
                pending.extend(target.ends)
        return False

    def settled(self, t: Tensor) -> Tensor:
        """A result as it is outside of the function: with its history if that leads there. So is its tangent."""
        if forward_mode.level is not None:
            for at, tangent in forward_mode.tangents_of(t._read()):
                if tangent._rg:
                    with forward_mode.beneath(at):
                        forward_mode.set_tangent(t._read(), self.settled(tangent), at)
        if not t._rg or t._node is None or (state.grad and self.reaches_outside(t)):
            return t
        made = wrap(t._read())
        made._layout = t._layout
        return made

    def result(self, t: Tensor) -> Tensor:
        """A result as it is outside: an argument is that argument."""
        for i in self.moving:
            if t is self.after[i]:
                return self.tensors[i]
        return self.settled(t)

    def refuse_views(self, outs: list[Tensor]) -> None:
        """RuntimeError for a view of what depends on the inputs that was made under no_grad."""
        for o in outs:
            base = None if o._alias is None else o._alias.base
            if type(o._node) is nodes.GradientSink and base is not None and self.reaches_inside(base):
                raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")

    def pulled(self, outs: list[Tensor], cotangents: list[Any], keep: bool, graph: bool) -> list[Tensor | None]:
        """The gradients of the inputs; None for those that the outputs do not depend on."""
        roots = [(o, c) for o, c in zip(outs, cotangents, strict=True) if o._rg and c is not None]
        if not roots:
            return [None] * len(self.nodes)
        self.refuse_views([o for o, _ in roots])
        wanted = GradientTargets([(n, 0) for n in self.nodes])
        backward.run(roots, retain_graph=keep, create_graph=graph, targets=wanted)
        return wanted.found

    def full(self, grads: list[Tensor | None]) -> list[Tensor]:
        """Gradients, with zeros where there are none."""
        return [
            functions["zeros_like"](self.tensors[i].detach()) if g is None else self.settled(g)
            for i, g in zip(self.moving, grads, strict=True)
        ]


def gradients(problem: Problem, run: Callable[[list[Tensor]], tuple[Tensor, list[Tensor]]]) -> Any:
    """(gradients, value, further results) of `run`, which returns a scalar and these."""
    with problem.at_work():
        out, more = run(problem.after)
    graph = state.grad and problem.reaches_outside(out)
    found = problem.full(problem.pulled([out], [wrap(_ones(out._read().aval))], graph, graph))
    value, rest = problem.settled(out), [problem.result(x) for x in more]
    problem.write_back()
    return found, value, rest


@functools.lru_cache(maxsize=512)
def _ones(aval: Any) -> Value:
    return Value(aval, np.ones(aval.shape, aval.dtype.np))


@functools.lru_cache(maxsize=256)
def _rows_of_identity(total: int, size: int, begin: int, shape: tuple[int, ...], dtype: Any, slot: Any) -> Value:
    array = np.eye(total, size, -begin, dtype.np).reshape(total, *shape)
    return Value(aval_of(array.shape, dtype, slot), array)


def jacobian(
    problem: Problem, run: Callable[[list[Tensor]], tuple[list[Tensor], list[Tensor]]], chunk: int | None
) -> Any:
    """(blocks, further results): for each output a block for each input, by reverse mode over all rows at once, or so many."""
    with problem.at_work():
        outs, more = run(problem.after)
    graph = state.grad and any(problem.reaches_outside(o) for o in outs)
    smooth = [o for o in outs if is_inexact(o)]
    total = sum([o._read().aval.numel for o in smooth])
    if not total:
        problem.refuse_views([o for o in smooth if o._rg])
    inputs = [problem.tensors[i] for i in problem.moving]
    parts: list[list[Tensor]] = [[] for _ in inputs]
    step = max(total if chunk is None else chunk, 1)
    for first in range(0, total, step):
        n = min(step, total - first)
        level, begin, rows = None if chunk == 1 else Level(n), 0, []
        for o in smooth:
            a = o._read().aval
            v = _rows_of_identity(total, a.numel, begin, a.shape, a.dtype, a.slot)
            begin += a.numel
            row = wrap(v) if n == total else wrap(v).narrow(0, first, n)
            rows.append(row[0] if level is None else vmap.add_batch_dim(level, row))
        with _at_work(level):
            grads = problem.pulled(smooth, rows, True, graph)
        for part, g, x in zip(parts, grads, inputs, strict=True):
            if g is None:
                part.append(functions["zeros_like"](x.detach()).expand((n, *x.shape)))
            else:
                part.append(g[None] if level is None else vmap.remove_batch_dim(level, g))
    joined = [p[0] if len(p) == 1 else functions["cat"](p) if p else None for p in parts]
    blocks, begin = [], 0
    for o in outs:
        size = o._read().aval.numel if is_inexact(o) else 0
        for x, part in zip(inputs, joined, strict=True):
            if size:
                block = problem.settled(part[begin : begin + size].reshape((*o.shape, *x.shape)))  # pyright: ignore[reportOptionalSubscript]
            else:
                block = functions["zeros"]((*o.shape, *x.shape), dtype=x.dtype, device=x.device)
            blocks.append(block)
        begin += size
    rest = [problem.result(x) for x in more]
    problem.write_back()
    return blocks, rest


class Pullback:
    """The outputs of a function that are to be pulled back, any number of times."""

    def __init__(self, problem: Problem, run: Callable[[list[Tensor]], tuple[list[Tensor], list[Tensor]]]) -> None:
        self.problem = problem
        with problem.at_work():
            self.outs, more = run(problem.after)
        self.results = [problem.result(o) for o in self.outs]
        self.more = [problem.result(x) for x in more]
        self.graph = any(problem.reaches_outside(o) for o in self.outs)
        problem.write_back()

    def __call__(self, cotangents: list[Tensor], keep: bool) -> list[Tensor]:
        """The gradients of the inputs. keep: is it called again?"""
        graph = state.grad and (self.graph or any(c._rg for c in cotangents))
        given = [
            c if c._read().aval.dtype is o._read().aval.dtype else c.to(o.dtype)
            for c, o in zip(cotangents, self.outs, strict=True)
        ]
        return self.problem.full(self.problem.pulled(self.outs, given, keep, graph))


# -- forward mode


def _moving(primals: list[Tensor], tangents: list[Tensor]) -> list[Tensor]:
    """Tensors with the content and the history of others, and with tangents."""
    moving = []
    with forward_mode.beneath(forward_mode.level):
        for p, t in zip(primals, tangents, strict=True):
            h = node_hooks.copied(p, "CloneBackward0")
            forward_mode.set_tangent(h._read(), t)
            moving.append(h)
    return moving


def _rewrite(t: Tensor, new: Tensor, tracked: bool) -> None:
    """Give an argument the content that its function has written to what stood for it."""
    if t._rg and state.grad and (t._node is None or type(t._node) is Argument):
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    t._rebind(new) if tracked and state.grad else t._write(new._read())


def _written(primals: list[Tensor], moving: list[Tensor], before: list[Value]) -> None:
    for p, h, v in zip(primals, moving, before, strict=True):
        if h._read() is not v:
            _rewrite(p, h, h._rg)


def _view_of_own(t: Tensor, primals: list[Tensor], moving: list[Tensor]) -> Tensor:
    """A result; of an argument a view of that argument."""
    for p, h in zip(primals, moving, strict=True):
        if t is h:
            return p.view_as(p)
    return t


@contextlib.contextmanager
def _written_by_then(primals: list[Tensor], moving: list[Tensor], before: list[Value]) -> Iterator[None]:
    """Context of a function whose error leaves written what it had written by then."""
    try:
        yield
    except RestartUntaped:
        raise
    except Exception:
        with forward_mode.beneath(forward_mode.level):
            _written(primals, moving, before)
        raise


def along(
    run: Callable[[list[Tensor]], tuple[list[Tensor], list[Tensor]]],
    primals: list[Tensor],
    tangents: list[Tensor],
    still: Callable[[], None] | None = None,
) -> Any:
    """(outputs, their tangents, further results) of `run` at tensors that move along tangents. still: called for an output that does
    not move."""
    forward_mode.enter(taped=True)
    try:
        moving = _moving(primals, [t.to(p.dtype) for p, t in zip(primals, tangents, strict=True)])
        before = [h._read() for h in moving]
        with _written_by_then(primals, moving, before), _at_work(along=True):
            outs, more = run(moving)
        moves = [forward_mode.tangent_of(o._read()) for o in outs]
    finally:
        forward_mode.leave()
    if still is not None and None in moves:
        still()
    _written(primals, moving, before)
    outs, more = ([_view_of_own(x, primals, moving) for x in found] for found in (outs, more))
    return (
        outs,
        [functions["zeros_like"](o.detach()) if t is None else t for o, t in zip(outs, moves, strict=True)],
        more,
    )


def columns(
    run: Callable[[list[Tensor]], tuple[list[Tensor], list[Tensor]]], primals: list[Tensor], randomness: str
) -> Any:
    """(blocks, further results): for each output a block for each input, by forward mode along all of their elements at once."""
    forward_mode.enter(taped=True)
    try:
        total = sum([p._read().aval.numel for p in primals])
        level, begin, tangents = Level(total, randomness), 0, []
        for p in primals:
            a = p._read().aval
            v = _rows_of_identity(total, a.numel, begin, a.shape, a.dtype, a.slot)
            tangents.append(vmap.add_batch_dim(level, wrap(v)))
            begin += a.numel
        moving = _moving(primals, tangents)
        before = [h._read() for h in moving]
        with _written_by_then(primals, moving, before), _at_work(level, along=True):
            outs, more = run(moving)
        moves = [forward_mode.tangent_of(o._read()) for o in outs]
    finally:
        forward_mode.leave()
    if any(one_of(level, h) for h in moving):
        raise RuntimeError(WRITTEN)
    more = [vmap.remove_batch_dim(level, x)[0] if one_of(level, x) else x for x in more]
    _written(primals, moving, before)
    blocks = []
    for o, t in zip(outs, moves, strict=True):
        whole, begin = None if t is None else vmap.remove_batch_dim(level, t), 0
        for x in primals:
            n = x._read().aval.numel
            if whole is None:
                block = functions["zeros"]((*o.shape, *x.shape), dtype=o.dtype, device=o.device)
            else:
                block = whole[begin : begin + n].movedim(0, -1).reshape((*o.shape, *x.shape))
            blocks.append(block)
            begin += n
    return blocks, [_view_of_own(x, primals, moving) for x in more]


# -- vmap


def map_over(
    run: Callable[[list[Any]], list[Any]], leaves: list[Any], dims: list[int | None], level: Level
) -> list[Any]:
    """`run` for one example of the tensors with a dimension to map; `run` returns what `leave` has made of its results."""
    given = []
    for x, d in zip(leaves, dims, strict=True):
        given.append(x if d is None else vmap.add_batch_dim(level, x.movedim(d, 0) if d else x))
    before = [h._read() if d is not None else None for h, d in zip(given, dims, strict=True)]
    try:
        with _at_work(level):
            found = run(given)
    except Exception:  # what it had written by then is written
        _write_examples(leaves, dims, given, before, level)
        raise
    _write_examples(leaves, dims, given, before, level)
    for x, d in zip(leaves, dims, strict=True):
        if d is None and isinstance(x, Tensor) and vmap.is_mapped_at(level, x._value):
            raise RuntimeError(WRITTEN)
    return found


def _write_examples(
    leaves: list[Any], dims: list[int | None], given: list[Any], before: list[Value | None], level: Level
) -> None:
    """Give the arguments that a mapped function wrote to their new content."""
    for x, d, h, v in zip(leaves, dims, given, before, strict=True):
        if d is not None and h._read() is not v:
            new = vmap.remove_batch_dim(level, h)
            new = new.movedim(0, d) if d else new
            _rewrite(x, new, h._rg)


def one_of(level: Level, t: Tensor) -> bool:
    """Does the result differ from example to example?"""
    return vmap.is_mapped_at(level, t._read())


def _as_view(t: Tensor, made: Tensor, arguments: list[Any], dims: list[int | None]) -> Tensor:
    """A result as the view of an argument that it is, where that can be said in strides; else as it was made.

    arguments: pairs of what stands for one example of an argument, and the argument.
    """
    alias = t._alias
    if type(alias) is not Alias or t._rg:
        return made
    for (one, whole), begin in zip(arguments, dims, strict=True):
        own = one._alias if isinstance(one, Tensor) else None
        if begin is None or type(own) is not Alias or own.storage is not alias.storage or own.chain or whole._rg:
            continue
        content = whole._read()
        if vmap.is_mapped(content) or forward_mode.is_dual(content) or whole.dtype is not t.dtype:
            continue
        if strides_of(one) != strides.contiguous(one.shape):
            continue
        stride = whole.stride()
        rest = [n for k, n in enumerate(stride) if k != begin % whole.ndim]
        steps = _steps(t, tuple(one.shape), rest)
        if steps is not None:
            offset = whole.storage_offset() + steps[-1]
            view = whole.as_strided(made.shape, (stride[begin], *steps[:-1]), offset)
            return view.conj() if t.is_conj() else view
    return made


def _steps(view: Tensor, shape: tuple[int, ...], rest: list[int]) -> list[int] | None:
    """The strides of a view of packed memory of that shape, then its offset, where that memory has the strides `rest` in truth;
    None where a dimension of the view runs over the end of one of the memory's."""
    sizes: list[int] = []
    jumps: list[int] = []
    for n, jump in zip(shape, rest, strict=True):  # dimensions that are one in memory
        if sizes and jumps[-1] == jump * n:
            sizes[-1], jumps[-1] = sizes[-1] * n, jump
        elif n != 1:
            sizes.append(n)
            jumps.append(jump)
    reach, found = [0] * len(sizes), []
    packed = strides.contiguous(sizes)
    for count, step in [
        *[(n - 1, s) for n, s in zip(view.shape, view.stride(), strict=True)],
        (1, view.storage_offset()),
    ]:
        new = 0
        for k, n in enumerate(packed):
            times, step = divmod(step, n)
            reach[k] += times * max(count, 0)
            new += times * jumps[k]
        if step and count > 0:
            return None
        found.append(new)
    return found if all(a < b for a, b in zip(reach, sizes, strict=True)) else None


def all_of(level: Level, t: Tensor, d: int, whole: Tensor | None = None, begin: int = 0, among: Any = None) -> Tensor:
    """A result for all examples, these along dimension d.

    whole: what the result is an example of, along dimension `begin`, if it is an argument: then that is the result, or a view of it.
    among: arguments of which the result may be a view, see `_as_view`.
    """
    if whole is not None and -whole.ndim <= d < whole.ndim:
        return whole if d % whole.ndim == begin % whole.ndim else whole.movedim(begin, d)
    made = vmap.remove_batch_dim(level, t) if one_of(level, t) else t.expand(level.size, *t.shape)
    if among is not None:
        made = _as_view(t, made, *among)
    if not -made.ndim <= d < made.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-made.ndim}, {made.ndim - 1}], but got {d})"
        )
    return made.movedim(0, d) if d else made
