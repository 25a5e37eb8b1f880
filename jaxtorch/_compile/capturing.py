"""Capturing: one call runs as ever, but into one program, and every input and result of that program is traced to its place.

An input's *source* is where a replay finds its current content: an argument, a tensor that existed before the call (read through
its storage), a gradient, an attribute that the call rebinds, a random draw, a number that an optimizer gives. What has no source was
made from Python constants, which guards check. A result is written back where the call left it: in a tensor, a storage, a
`.grad`, an attribute; or it is returned.
"""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from threading import get_ident
from typing import Any

import numpy as np

from .._core.graph.nodes import Node
from .._core.random import generator
from .._core.record import program
from .._core.run import capture as engine
from .._core.run import runner
from .._core.run.except_handlers import user_line
from .._core.tensor.storage import Alias, owned_again
from .._core.tensor.tensor import Tensor, is_inference
from .._core.types.device import _slots
from .._core.types.reference_counts import LISTED, counted
from .._core.types.value import Value
from ..optim.optimizer import Optimizer
from .checking_guards import Guard, Guards
from .rebinding import Rebound, Uncapturable
from .sharing import Refused, Shared, families, owner_of
from .trees import taken_apart


class Source:
    """Where a replay reads an input.

    kind: 'argument' (by number), 'tensor', 'storage', 'grad' (of a tensor), 'place' (a Guard whose tensor the call rebinds),
          'draw' (by number), 'number' (update, name), 'constant' (a Value).
    """

    __slots__ = ("kind", "of")

    def __init__(self, kind: str, of: Any) -> None:
        self.kind = kind
        self.of = of

    def tensor(self, arguments: Sequence[Tensor]) -> Tensor:
        """The tensor that now stands at this source."""
        of = self.of
        match self.kind:
            case "argument":
                return arguments[of]
            case "tensor":
                return of
            case "grad":
                return of._grad
        return of.now()


class Result:
    """A tensor that the call made and something outside it keeps: its place in the program, and what else it was.

    slot:     where its content is, None where that is read from memory that existed before.
    shared:   whose memory it is on (see sharing.py), None for its own.
    inferred: was it made in inference mode?
    """

    __slots__ = ("slot", "aval", "requires_grad", "node", "index", "layout", "shared", "inferred")

    def __init__(self, t: Tensor, computed: bool, shared: Shared | None = None) -> None:
        value = t._value
        self.slot, self.aval = value.slot if computed else None, value.aval
        self.requires_grad, self.node, self.index, self.layout = t._rg, t._node, t._index, t._layout
        self.shared = shared
        self.inferred = is_inference(t)


class Write:
    """New content for a tensor that existed before: where it is, the slot it takes, and how many writes that were."""

    __slots__ = ("source", "slot", "writes")

    def __init__(self, source: Source, slot: int, writes: int) -> None:
        self.source = source
        self.slot = slot
        self.writes = writes


class Capture:
    """What the engine tells while the call runs (`_core/run/capture.py`), and the state before it."""

    def __init__(self, arguments: list[Tensor], border: Any) -> None:
        self.arguments, self.border = arguments, border
        self.thread = get_ident()
        self.reason: str | None = None
        self.drawn: list[tuple[Any, Any, Any, tuple[Any, ...]]] = []
        self.updated: list[tuple[str, engine.Again, list[str], list[Value]]] = []
        self.afterwards: list[Any] = []
        self.scheduled: list[Any] = []
        self.options: dict[int, dict[str, Any]] = {}
        self.nested = 0
        self.before: list[tuple[Tensor, Value, int, Any, tuple[Any, ...]]] = []
        self.by_value: dict[int, Source] = {}
        self.of_grad: dict[int, Tensor] = {}

    def begin(self) -> None:
        """Note the state before the call, with nothing pending."""
        found = alive(Tensor, Optimizer, program.Visible)
        if not any([x is program.visible for x in found]):  # noqa: C419 - counting what is frozen takes 8 ms
            self.reason = "gc.freeze() was called, which hides tensors"
        tensors = with_memory(found)
        for t in tensors:  # initialisations leave views of memory that is otherwise gone
            owned_again(t)
        program.flush_all()
        if self.reason is None:
            for optimizer in found:
                if isinstance(optimizer, Optimizer):
                    self.options.update((id(g), {**g}) for g in getattr(optimizer, "param_groups", ()))
            self._look_around(tensors)

    # -- told by the engine

    def uncover(self, storage: Any) -> None:
        """The call asks for this memory."""
        if self.border.covers(storage):
            self.broke("it asks for the memory of an argument")
            self.border.put_back()

    def broke(self, reason: str) -> None:
        """The call did something that a replay cannot."""
        if self.reason is None:
            self.reason = f"{reason} ({user_line()})"

    def updates(self, name: str, again: Any, names: list[str], values: list[Value]) -> None:
        """An optimizer recorded an update with these numbers."""
        if again is None:
            self.broke(f"{name} does not say how to repeat its step")
        elif any(of is None or of is again.owner for of in self.scheduled):
            self.broke(f"{name} steps after its schedule")
        elif id(again.group) in self.options and _differ(again.group, self.options[id(again.group)]):
            self.broke(f"it changes an option of {name} before the step")
        else:
            self.updated.append((name, again, names, values))

    @contextlib.contextmanager
    def later(self, step: Any, of: Any) -> Iterator[None]:
        """Context of a step of Python that each replay makes for itself when all else is done, a learning-rate schedule's (of
        this optimizer); its own steps are part of it."""
        if self.nested == 0:
            self.afterwards.append(step)
            self.scheduled.append(of)
        self.nested += 1
        try:
            yield
        finally:
            self.nested -= 1

    def observe_draw(self, array: Any, source: Any, method: Any, args: tuple[Any, ...]) -> None:
        """A generator gave numbers."""
        self.drawn.append((array, source, method, args))

    # -- before the call

    def _look_around(self, found: list[Tensor]) -> None:
        of_grad = self.of_grad
        for t in found:
            if t._grad is not None:
                of_grad[id(t._grad)] = t
        for t in found:
            alias = t._alias
            value = t._value if alias is None else alias.storage.value
            version = t._ver if alias is None else alias.version.n
            self.before.append((t, value, version, t._grad, (t._rg, t._node, t._layout)))
            if id(t) in of_grad:
                source = Source("grad", of_grad[id(t)])
            else:
                source = Source("tensor", t)
            if alias is None or not alias.chain:
                self.by_value[id(value)] = source
            elif alias.storage.host is None:
                self.by_value.setdefault(id(value), Source("storage", alias.storage))
            if alias is not None and t._value is not value and alias.seen == alias.version.n:
                self.by_value.setdefault(id(t._value), source)
        for i, t in enumerate(self.arguments):
            alias = t._alias
            self.by_value[id(t._value)] = Source("argument", i)
            if alias is not None and not alias.chain:
                self.by_value[id(alias.storage.value)] = Source("argument", i)
        self.existing = found
        self.known = {id(t) for t in found}
        self.storages = {t._alias.storage for t in found if t._alias is not None}
        on = Counter(id(t._alias.storage) for t in found if t._alias is not None)
        self.sharing = {id(t) for t in found if t._alias is not None and on[id(t._alias.storage)] > 1}

    # -- after the call

    def sources(self, inputs: list[Value], moved: dict[int, Source]) -> list[Source]:
        """The source of each input; `moved`: tensors (by id) that stand at a place which the call rebinds."""
        numbers: dict[int, Source] = {}
        for k, (_, _, names, values) in enumerate(self.updated):
            for name, value in zip(names, values, strict=True):
                numbers[id(value)] = Source("number", (k, name))
        draws = {id(d[0]): k for k, d in enumerate(self.drawn)}
        used = set()
        found = []
        for v in inputs:
            if id(v) in numbers:
                source = numbers[id(v)]
            elif id(v) in self.by_value:
                source = self.by_value[id(v)]
                if source.kind == "tensor" and id(source.of) in moved:
                    source = moved[id(source.of)]
            elif isinstance(v.array, np.ndarray) and id(v.array) in draws:
                used.add(draws[id(v.array)])
                source = Source("draw", draws[id(v.array)])
            else:
                source = Source("constant", v)
            found.append(source)
        if len(used) < len(self.drawn):
            method = next(d[2] for k, d in enumerate(self.drawn) if k not in used)
            raise Uncapturable(f"random numbers ({method}) are used otherwise than as a tensor")
        return found

    def writes(self, moved: dict[int, Source]) -> tuple[list[Write], list[tuple[Tensor, Any]]]:
        """What the call wrote into tensors that existed before, and the gradients it put on them."""
        writes: list[Write] = []
        grads: list[tuple[Tensor, Any]] = []
        storages: set[int] = set()
        counts = [s.get(name) for _, a, _, _ in self.updated for s in a.states for name in a.counts]
        stepped = {id(c) for c in counts if isinstance(c, Tensor)}
        argument = {id(t): i for i, t in enumerate(self.arguments)}
        for t, value, version, grad, (rg, node, layout) in self.before:
            if t._layout != layout:
                raise Uncapturable("it changes the strides of a tensor in place")
            if t._rg is not rg or t._node is not node:
                raise Uncapturable("it gives a tensor that existed before another history")
            if t._grad is not grad:
                grads.append((t, t._grad))
            alias = t._alias
            now = t._value if alias is None else alias.storage.value
            if now is value or id(t) in stepped:
                continue
            if now.aval is not value.aval:
                raise Uncapturable("it changes the shape of a tensor in place")
            if alias is not None:
                if id(alias.storage) in storages:
                    continue
                if alias.chain:
                    owner = alias.storage.owner()
                    if owner is None or owner._alias is None or owner._alias.storage is not alias.storage:
                        raise Uncapturable("it writes through a view whose base is gone")
                    continue  # its owner is among the tensors as well
                storages.add(id(alias.storage))
            source = Source("argument", argument[id(t)]) if id(t) in argument else self.by_value.get(id(value))
            if source is None or source.kind in ("storage", "place"):
                source = Source("tensor", t)
            if source.kind == "tensor":
                source = moved.get(id(t), source if source.of is t else Source("tensor", t))
            if (
                alias is not None
                and alias.storage not in self.storages
                and alias.storage.owner() is not t
                and id(t) in self.sharing
            ):
                raise Uncapturable("it gives a tensor other memory")
            if now.program is None or now.array is not None:
                raise Uncapturable("it makes one tensor take over the content of another")
            count = (t._ver if alias is None else alias.version.n) - version
            writes.append(Write(source, now.slot, count))
        return writes, grads


def _differ(options: dict[str, Any], before: dict[str, Any]) -> bool:
    """Have the options of a group of parameters changed?"""
    if options.keys() != before.keys():
        return True
    pairs = [(x, before[name]) for name, x in options.items() if name != "params" and x is not before[name]]
    return any(isinstance(x, Tensor) or isinstance(y, Tensor) or x != y for x, y in pairs)


class _Kinds(dict[type, bool]):
    """Of each class, whether it is one of some or derived from one."""

    def __init__(self, kinds: tuple[type, ...]) -> None:
        self.kinds = kinds

    def __missing__(self, kind: type) -> bool:
        found = self[kind] = issubclass(kind, self.kinds)
        return found


def alive(*kinds: type) -> list[Any]:
    """Every object of some classes that there is. That walks all objects: the less often the better."""
    looked_for = _Kinds(kinds)
    return [o for o in gc.get_objects() if looked_for[type(o)]]  # isinstance would ask the objects, and takes longer


def with_memory(found: list[Any]) -> list[Tensor]:
    """The tensors among some objects that have memory of their own: sparse and quantised ones consist of others.

    What `Tensor.__new__` alone has made has no attributes yet.
    """
    aliases = [(t, getattr(t, "_alias", t)) for t in found if issubclass(type(t), Tensor)]
    return [t for t, alias in aliases if alias is None or type(alias) is Alias]


class Captured:
    """One call as a program: `code` with its inputs' sources, what it writes back and what it returns.

    live:    the slots whose content the replay needs, in order; `donors` the inputs whose memory it may reuse.
    writes, grads (tensor, number or None), places (Guard, description of what it holds): what goes back where.
    kept:    the guards other than those on rebound places; moved: the ids of tensors that stood there.
    spec:    the result (see trees.py) over `tensors`: Results, or Sources of tensors that existed before.
    flags:   (slot, message maker, call) of the errors that data can raise.
    """

    def __init__(self) -> None:
        self.slot: Any = None
        self.code: tuple[Any, ...] = ()
        self.sources: list[Source] = []
        self.inputs: list[Value] = []
        self.values: list[Value] = []
        self.live: list[int] = []
        self.donors: list[int] = []
        self.writes: list[Write] = []
        self.grads: list[tuple[Tensor, Any]] = []
        self.places: list[tuple[Guard, Any]] = []
        self.kept: list[Guard] = []
        self.moved: set[int] = set()
        self.spec: Any = None
        self.tensors: list[Any] = []
        self.flags: list[tuple[int, Any, Any]] = []
        self.drawn: list[tuple[Any, Any, tuple[Any, ...]]] = []
        self.updated: list[tuple[engine.Again, list[str]]] = []
        self.afterwards: list[Any] = []
        self.program: Any = None
        self.handles: list[Tensor] = []


def record(call: Callable[[], Any], work: Capture, begun: Callable[[], None], then: contextlib.ExitStack) -> Any:
    """Run a call as a capture: the result, whose values are pending in one program unless `work.reason` says otherwise.

    begun: called when the call is about to run. `then` holds the engine's lock when it has: no other thread adds to that program.
    """
    with runner.lock:
        work.begin()
        begun()
        engine.active, before = work, generator.draw_observer
        generator.draw_observer = work.observe_draw
    try:
        return call()
    finally:
        then.enter_context(runner.lock)
        engine.active, generator.draw_observer = None, before


def settle(work: Capture, result: Any, guards: Guards) -> Captured:
    """What was captured. Uncapturable (or Unbuildable) where it could not be replayed."""
    try:
        if work.reason is not None:
            raise Uncapturable(work.reason)
        made = _settled(work, result, guards)
    finally:
        work.before.clear()
    _seen_all(made)
    return made


def _settled(work: Capture, result: Any, guards: Guards) -> Captured:
    programs = [s.program for s in _slots.values() if s.program is not None]
    if len(programs) != 1:
        raise Uncapturable("it computes nothing" if not programs else "it computes on several devices")
    current = programs[0]
    made = Captured()
    made.slot, made.program = current.slot, current
    rebound = Rebound(guards)
    moved = {k: Source("place", place) for k, place in rebound.moved.items()}
    export = _Exports(work, made, moved)
    made.spec = taken_apart(result, export)
    made.places = [(c, taken_apart(c.now(), export)) for c in rebound.places]
    made.kept, made.moved = rebound.kept, set(rebound.moved)
    made.writes, grads = work.writes(moved)
    for t, grad in grads:
        made.grads.append((t, None if grad is None else export(grad)))
    try:
        export.settle(current)
    except Refused as error:
        raise Uncapturable(str(error)) from None
    made.inputs = list(current.inputs)
    made.sources = work.sources(made.inputs, moved)
    made.values = list(current.values)
    made.code = tuple(current.code)
    made.flags = [(check.value.slot, check.make, check.call_site.alone()) for check in current.checks]
    made.drawn = [d[1:] for d in work.drawn]
    made.updated = [(again, names) for _, again, names, _ in work.updated]
    made.afterwards = work.afterwards
    live = {w.slot for w in made.writes} | {f[0] for f in made.flags}
    live |= {r.slot for r in made.tensors if isinstance(r, Result) and r.slot is not None}
    graphs = [r.node for r in made.tensors if isinstance(r, Result) and is_alive(r.node)]
    live |= {v.slot for v in saved_by(graphs) if v.program is current and v.array is None}
    written = {(w.source.kind, id(w.source.of)): w.slot for w in made.writes if w.source.kind != "argument"}
    sources = [(s.kind, id(s.of)) for s in made.sources]
    made.donors = [i for i, source in enumerate(sources) if source in written]
    placed = dict.fromkeys([written[sources[i]] for i in made.donors])
    made.live = [*placed, *sorted(live - placed.keys())]  # as `Plan.pair` wants them
    return made


class _Exports:
    """The tensors that a call hands out, numbered as they are met; `settle` says of each where a replay gets it from."""

    def __init__(self, work: Capture, made: Captured, moved: dict[int, Source]) -> None:
        self.work, self.made, self.moved = work, made, moved
        self.numbers: dict[int, int] = {}
        self.arguments = {id(t): i for i, t in enumerate(work.arguments)}

    def __call__(self, t: Tensor) -> int:
        if id(t) not in self.numbers:
            self.numbers[id(t)] = len(self.made.handles)
            self.made.handles.append(t)
        return self.numbers[id(t)]

    def _existed(self, t: Any) -> bool:
        return id(t) in self.arguments or id(t) in self.work.known

    def settle(self, current: Any) -> None:
        """Fill `made.tensors`; tensors that others are views of join them. Refused or Uncapturable where it cannot be."""
        made = self.made
        for t in made.handles:
            t._read()
        sharing = families([t for t in made.handles if not self._existed(t)])
        while len(made.tensors) < len(made.handles):
            t = made.handles[len(made.tensors)]
            if id(t) in self.arguments:
                made.tensors.append(Source("argument", self.arguments[id(t)]))
            elif id(t) in self.moved:
                made.tensors.append(self.moved[id(t)])
            elif id(t) in self.work.of_grad:
                made.tensors.append(Source("grad", self.work.of_grad[id(t)]))
            elif id(t) in self.work.known:
                made.tensors.append(Source("tensor", t))
            else:
                made.tensors.append(self._new(t, current, sharing))

    def _new(self, t: Tensor, current: Any, sharing: dict[int, list[Tensor]]) -> Result:
        if type(t) is not Tensor:
            raise Uncapturable(f"it makes a {type(t).__name__}")
        computed = t._value.program is current and t._value.array is None
        if t._alias is None:
            if not computed:
                raise Uncapturable("it returns a tensor that was not computed in the call")
            return Result(t, True)
        storage = t._alias.storage
        origin = self._origin(t, storage)
        if origin is None:
            if not t._alias.chain and len(sharing.get(id(storage), ())) < 2:
                if not computed:
                    raise Uncapturable("it returns a tensor that was not computed in the call")
                return Result(t, True)
            origin = owner_of(storage)
            whole = storage.value
            if whole.program is not current or whole.array is not None:
                raise Uncapturable("it returns a view of a tensor that was not computed in the call")
            if id(origin) not in self.numbers:
                sharing[id(storage)].append(origin)  # also keeps the one that was made here
            if t is origin:
                return Result(t, True)
        base = t._alias.base
        if base is not None and base is alias_base(origin):
            base = "root's"
        elif base is not None:
            base = self(base)
        return Result(t, computed, Shared(t, self(origin), origin, base))

    def _origin(self, t: Tensor, storage: Any) -> Tensor | None:
        """The tensor from before the call on whose memory a new one is."""
        for s in (t._alias.base, storage.owner(), *self.work.arguments, *self.work.existing):  # pyright: ignore[reportOptionalMemberAccess]
            if s is not None and s._alias is not None and s._alias.storage is storage and self._existed(s):
                if storage not in self.work.storages and storage.owner() is not s:
                    raise Uncapturable("a tensor that existed before takes over the memory of a result")
                return s
        return None


def alias_base(t: Tensor) -> Any:
    """What a view of the tensor is a view of in the graph."""
    base = t._alias.base if t._alias is not None else None
    return t if base is None else base


def _seen_all(made: Captured) -> None:
    """Uncapturable if something that the capture does not know of holds a value of the program."""
    inputs = {v.slot for v in made.inputs}
    made.program.values = []  # one list holds each
    counts = list(counted(made.values))
    made.program.values = made.values
    live = set(made.live)
    if any(c > LISTED and i not in inputs and i not in live for i, c in enumerate(counts)):
        raise Uncapturable("it keeps a tensor somewhere that jaxtorch does not see")


def is_alive(node: Any) -> bool:
    """Can backward still go through the graph that ends in this node?"""
    return isinstance(node, Node) and all(n.saved is not None for n in nodes_below([node]))


def nodes_below(roots: list[Any]) -> list[Node]:
    """All nodes of some graphs."""
    found: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and id(node) not in found:
            found[id(node)] = node
            stack.extend(node.ends)
    return list(found.values())


def saved_by(roots: list[Any]) -> list[Value]:
    """The values that the nodes of some graphs have saved."""
    return list({id(v): v for node in nodes_below(roots) for v in node.saved or ()}.values())
