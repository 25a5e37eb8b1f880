"""`__torch_dispatch__` of modes: every ATen operation of a forward and a backward pass, put before the innermost mode.

`torch_function.py` tells this module of each call of an operation's function while a mode is in force. A *rule* says of which ATen
operations the call is made and calls these, through `call`; the derivative of each is known too, in the same terms, so that a
backward pass consists of such calls. Whatever else would be computed is refused: a mode sees everything or an error is raised.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..autograd import backward
from ..graph.nodes import Node
from ..record.kernel_hook import intercepting_kernels
from ..tensor.tensor import Tensor, wrap
from ..types import dtypes, grad_mode
from ..types.value import Value
from . import autocast

_API = "torch.utils._python_dispatch.TorchDispatchMode"


class _State(threading.local):
    below = 0
    """Inside of an ATen operation: what it is made of is shown to nobody."""
    shown = 0
    """How many operations were shown."""
    under: Any = None
    """The call whose mode is being asked."""
    keeps_casts = True
    """Is a parameter that autocast has cast kept until the region ends?"""

    def __init__(self) -> None:
        self.modes: list[Any] = []
        self.kept_casts: dict[Any, tuple[Tensor, Tensor]] = {}


state = _State()
grad_mode.carried.append(state)
opened: list[Any] = []
"""The modes in force in any thread, so that functions need not look at the thread's state."""
rules: dict[str, Callable[..., Any]] = {}
"""By the name of a function what it is made of; each takes the function's arguments. Filled by `_library/`."""
derivatives: dict[str, Callable[..., Any]] = {}
"""By the name of an ATen operation the gradients of its tensors: see `_library/aten_derivatives.py`."""
saved_results: dict[str, tuple[int, ...]] = {}
"""By the name of an ATen operation which of its results its derivative keeps: PyTorch detaches them, which modes see."""
_taken: weakref.WeakKeyDictionary[Node, _Taken] = weakref.WeakKeyDictionary()


def refused(what: str) -> NotImplementedError:
    """The error for what cannot be shown to a mode."""
    return NotImplementedError(f"{_API}: jaxtorch cannot show {what} as operations of torch.ops.aten")


def active() -> bool:
    """Is there a mode that has to see what is computed now?"""
    return bool(state.modes) and not state.below


# -- modes


def push(mode: Any) -> None:
    """Put a mode in force, innermost."""
    guard = intercepting_kernels(_guard)
    guard.__enter__()
    opened.append((mode, guard))
    state.modes.append(mode)
    grad_mode.watch.append("dispatch")


def pop() -> Any:
    """The innermost mode, no longer in force."""
    mode = state.modes.pop()
    place = next(i for i in reversed(range(len(opened))) if opened[i][0] is mode)
    opened.pop(place)[1].__exit__()
    grad_mode.watch.remove("dispatch")
    return mode


@contextmanager
def without(count: int = 1) -> Iterator[Any]:
    """The innermost mode out of force for a while; the innermost `count`, all of them for -1."""
    cut = 0 if count < 0 else len(state.modes) - count
    kept = state.modes[cut:]
    del state.modes[cut:]
    try:
        yield kept[-1] if kept else None
    finally:
        state.modes.extend(kept)


@contextmanager
def hidden() -> Iterator[None]:
    """Show nothing: a part of the engine computes what is no operation to PyTorch."""
    state.below += 1
    try:
        yield
    finally:
        state.below -= 1


def _guard(kernel: Any, values: list[Value], run: Callable[[], list[Value]]) -> list[Value]:
    if active() and kernel.name != "kept":
        raise refused(f"'{kernel.name}'")
    return run()


# -- calls


def ask(public: Any, impl: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A public function is called under a mode: the operations that it is made of."""
    name = getattr(public, "alias_of", public.__name__)
    rule = rules.get(name)
    if grad_mode.state.casts is not None and rule is not None:
        given = _cast(name, args, kwargs)
        if given is not None:
            with _without_casts():
                return ask(public, impl, *given)
    if kwargs.get("out") is not None and rule is not None and not _takes_out(rule):
        raise refused(f"'{public.__name__}' with out=")
    if rule is not None and (hasattr(public, "source") or not _passes_on(public, rule)):
        result = rule(*args, **kwargs)
        if result is not NotImplemented:
            return result
    if hasattr(public, "source"):
        raise refused(f"'{public.__name__}'" + " of these arguments" * (rule is not None))
    before = state.shown
    result = impl(*args, **kwargs)  # a function of other functions, which are asked in there
    if state.shown == before:
        given = [id(t) for t in tensors([*args, *kwargs.values()])]
        if any(id(t) not in given for t in tensors([result])):
            raise refused(f"'{public.__name__}'")
    return result


def _takes_out(rule: Any) -> bool:
    kinds = inspect.signature(rule).parameters
    return "out" in kinds or any(p.kind is p.VAR_KEYWORD for p in kinds.values())


def _passes_on(public: Any, rule: Any) -> bool:
    """Is it a function of `nn.functional` that calls the operation of its name with all its arguments?"""
    return hasattr(rule, "of_table") and public.__module__.endswith("nn.functional")


@contextmanager
def _without_casts() -> Iterator[None]:
    """Autocast off, and what it has cast kept."""
    casts, grad_mode.state.casts = grad_mode.state.casts, None
    try:
        yield
    finally:
        grad_mode.state.casts = casts


def _cast(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments as autocast gives them to an operation; None where it does not know that."""
    found = list(tensors([*args, *kwargs.values()]))
    kind, target = autocast.target_of(name, found, kwargs.get("dtype") is not None)
    if target is None:
        return None
    lower = dict(grad_mode.state.casts or ())[kind] is target

    def cast(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)([cast(y) for y in x]) if type(x) in (list, tuple) else x
        if not isinstance(x, Tensor) or x.dtype is target or not autocast.eligible(x, kind):
            return x
        single = x.dtype is dtypes.float32 and x._rg and x._node is None and not x._is_view()
        if not (lower and single and state.keeps_casts):
            return rules["to"](x, target)
        key = id(x), grad_mode.state.grad
        if key not in state.kept_casts:
            state.kept_casts[key] = x, rules["to"](x, target)
        return state.kept_casts[key][1]

    with _without_casts():
        named = {k: cast(v) for k, v in reversed(kwargs.items())}  # in PyTorch's order: the last argument first
        values = [cast(x) for x in reversed(args)]
    return tuple(reversed(values)), {k: named[k] for k in kwargs}


def tensors(items: Any) -> Iterator[Tensor]:
    """The tensors among arguments, those in lists too."""
    for x in items:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from tensors(x)


def call(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An ATen operation with its arguments as its schema wants them: asks the innermost mode, or computes."""
    if grad_mode.state.casts is not None:
        args, kwargs = _cast(overload._opname, args, kwargs) or (args, kwargs)
        with _without_casts():
            return call(overload, args, kwargs)
    if not state.modes:
        return _run(overload, args, kwargs)
    made = _Call(overload, args, kwargs)
    before = state.under, state.below
    state.under, state.below = made, 0
    state.shown += 1
    try:
        with without() as mode, grad_mode.no_grad():
            result = mode.__torch_dispatch__(overload, (), args, kwargs)
    finally:
        state.under, state.below = before
    if result is NotImplemented:
        raise TypeError(
            f"Multiple dispatch failed for '{overload}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
            f"  - mode object {mode!r}"
        )
    return made.finished(result)


class _Call:
    """A call that a mode is asked about, and the histories of its results, which they get when the mode has answered."""

    def __init__(self, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.overload, self.args, self.kwargs = overload, args, kwargs
        self.outer: _Call | None = state.under
        self.before = grad_mode.state.grad, grad_mode.state.off
        self.graded = grad_mode.state.grad and any(t._rg for t in tensors([*args, *kwargs.values()]))
        self.made: list[tuple[Tensor, Any, int, bool]] | None = None

    def is_of(self, overload: Any, args: Any, kwargs: Any) -> bool:
        """Is it the call of these arguments?"""
        return overload is self.overload and _same(args, self.args) and _same(kwargs, self.kwargs)

    def finished(self, result: Any) -> Any:
        """What the mode gave, with the history that the operation has."""
        if not self.graded:
            return result
        if self.made is None:
            if self.overload.writes:
                raise refused(f"a mode that computes {self.overload} in another way, beneath autograd")
            with hidden():
                self._run()
        found = list(tensors([result]))
        for t, (own, node, index, grad) in zip(found, self.made or (), strict=False):
            if t is not own:
                if t._rg or not grad:
                    continue
                places = [i for i, root in enumerate(node.form.roots) if root == ("out", index)]
                if places:  # the derivative is taken at the result that the mode gave
                    node.saved = [t._read() if i in places else v for i, v in enumerate(node.saved)]
                if (taken := _taken.get(node)) is not None:
                    taken.outs = [t._read() if i == index else v for i, v in enumerate(taken.outs)]
            t._node, t._index, t._rg = node, index, grad
        if state.modes and not state.below:
            for i in saved_results.get(self.overload.__name__, ()):
                if found[i]._rg:
                    found[i].detach()
        return result

    def _run(self) -> Any:
        s, now = grad_mode.state, (grad_mode.state.grad, grad_mode.state.off)
        s.grad, s.off = self.before
        try:
            edges = [(t, backward.edge_of(t)) for t in tensors([*self.args, *self.kwargs.values()]) if t._rg]
            kept = _kept(self.args), {k: _kept(v) for k, v in self.kwargs.items()}
            result = self.overload.compute(*self.args, **self.kwargs)
        finally:
            s.grad, s.off = now
        self.made = []
        outs = list(tensors([result]))
        for t in outs:
            self.made.append((t, t._node, t._index, t._rg))
        node = next((t._node for t in outs if t._node is not None), None)
        order = None if node is None else _order(node, [edge for _, edge in edges])
        if node is not None and order is not None:
            _taken[node] = _Taken(self.overload, *kept, [t._value for t in outs], {id(t) for t, _ in edges}, order)
        for t in outs:
            t._node, t._index, t._rg = None, 0, False
        return result


def _order(node: Node, edges: list[Any]) -> list[int | None] | None:
    """For each place that a node sends a gradient to, which moving argument it is; None if it is not that simple."""
    found: list[int | None] = []
    for edge in node.edges:
        if edge is None:
            found.append(None)
            continue
        here = [i for i, e in enumerate(edges) if i not in found and e[0] is edge[0] and e[1] == edge[1]]
        if not here:
            return None
        found.append(here[0])
    return found if all(i in found for i in range(len(edges))) else None


def _run(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """No mode is left to ask: compute, for the outermost mode's call with a history."""
    made, owner = state.under, None
    while made is not None and made.is_of(overload, args, kwargs):
        made, owner = made.outer, made
    with hidden():
        if owner is not None and owner.graded and owner.made is None:
            return owner._run()
        return overload.compute(*args, **kwargs)


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(_same(v, b[k]) for k, v in a.items())
    return not isinstance(a, Tensor) and not isinstance(b, Tensor) and type(a) is type(b) and a == b


# -- backward


class _Taken:
    """An operation as backward needs it: what it was given and what came of it, as it was then."""

    __slots__ = ("overload", "args", "kwargs", "outs", "moving", "order")

    def __init__(self, overload: Any, args: Any, kwargs: Any, outs: list[Value], moving: set[int], order: Any) -> None:
        self.overload, self.args, self.kwargs, self.outs, self.moving, self.order = (
            overload, args, kwargs, outs, moving, order,
        )  # fmt: skip


class _Kept:
    """A tensor as it was when an operation took it; without its history, which would make a cycle where it was written to."""

    __slots__ = ("value", "leaf", "key", "strides")

    def __init__(self, t: Tensor) -> None:
        self.key = id(t)
        self.strides = t.stride()
        self.value = t._read()
        self.leaf = t if t._node is None else None

    def tensor(self) -> Tensor:
        with hidden():
            return self.leaf if self.leaf is not None and self.leaf._read() is self.value else wrap(self.value)


def _kept(x: Any) -> Any:
    if isinstance(x, Tensor):
        return _Kept(x)
    return [_kept(y) for y in x] if isinstance(x, (list, tuple)) else x


class Derivative:
    """What the derivative of an operation works with: the gradients of its results, these, and which arguments want a gradient."""

    def __init__(self, taken: _Taken, grads: list[Any]) -> None:
        self.grads = grads
        self.outs = [wrap(v) for v in taken.outs]
        self._moving = taken.moving
        self._kept: dict[int, _Kept] = {}
        self.given: list[Tensor] = []

    @property
    def grad(self) -> Any:
        """The gradient of the only result, or of the first."""
        return self.grads[0]

    @property
    def out(self) -> Tensor:
        """The result."""
        return self.outs[0]

    def argument(self, x: Any) -> Any:
        """An argument of the operation."""
        if isinstance(x, _Kept):
            t = x.tensor()
            self._kept[id(t)] = x
            self.given.append(t)
            return t
        return [self.argument(y) for y in x] if isinstance(x, list) else x

    def wants(self, t: Any) -> bool:
        """Does this argument want a gradient?"""
        return isinstance(t, Tensor) and id(t) in self._kept and self._kept[id(t)].key in self._moving

    def strides(self, t: Tensor) -> tuple[int, ...]:
        """The strides that an argument had."""
        return self._kept[id(t)].strides

    def mask(self, *ts: Any) -> list[bool]:
        """`wants` of each."""
        return [self.wants(t) for t in ts]


class DispatchedGradients:
    """Gradients as tensors, computed by operations that modes see."""

    graph = False
    dispatched = True

    @staticmethod
    def add(a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def to_tensor(g: Any) -> Any:
        return g

    of_tensor = to_tensor

    @staticmethod
    def run(node: Node, grads: list[Any]) -> Any:
        taken = _taken.get(node)
        rule = derivatives.get(taken.overload.__name__) if taken is not None else None
        if taken is None or rule is None:
            raise refused(f"the backward pass of '{taken.overload if taken is not None else node.name()}'")
        with hidden():
            node.saved_values()
        work = Derivative(taken, grads)
        args = [work.argument(x) for x in taken.args]
        for i in saved_results.get(taken.overload.__name__, ()):
            work.outs[i] = work.outs[i].detach()
        found = rule(work, *args, **{k: work.argument(x) for k, x in taken.kwargs.items()})
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        found += [None] * (len(work.given) - len(found))  # a number among the arguments has no place in `given`
        moving = [(g, t) for g, t in zip(found, work.given, strict=False) if work.wants(t)]
        sent = [None if i is None else moving[i] for i in taken.order]
        return [None if pair is None or pair[0] is None else _fitted(*pair) for pair in sent]

    @staticmethod
    def accumulate(t: Tensor, g: Tensor) -> None:
        """Add to the gradient of a leaf. PyTorch takes over the first one where it lies in memory as the leaf does."""
        if t._grad is not None:
            t._grad.add_(g)
            return
        if g.stride() == t.stride():
            found = g.detach()
        else:
            found = g.new_empty_strided(t.shape, t.stride(), dtype=g.dtype, layout=g.layout, device=g.device)
            found.copy_(g)
        with hidden():
            t._grad = found.clone()  # in memory that is nobody else's


def gradients_as(create_graph: bool) -> Any:
    """How a backward pass computes gradients, where a mode sees it; None where none does."""
    if active() and create_graph:
        raise refused("a backward pass with create_graph=True")
    return DispatchedGradients if active() else None


def _fitted(g: Tensor, t: Tensor) -> Tensor:
    """A gradient in the shape and type of its argument."""
    lead = g.dim() - t.dim()
    dims = [*range(lead), *[i for i in range(lead, g.dim()) if t.shape[i - lead] == 1 and g.shape[i] != 1]]
    if dims:
        g = g.sum(dims, True)
    if lead:
        g = g.view(t.shape)
    return g if g.dtype is t.dtype else g.to(t.dtype)


backward.dispatched_gradients = gradients_as
