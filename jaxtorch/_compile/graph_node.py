"""The graph of a captured call whose results carry one: backward through the call as a single node.

The nodes that the captured call made are walked once with placeholders for the gradients of its results. What that records
is the program of the node's backward: a function of what the nodes had saved and of those gradients.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

import numpy as np

from .._core.autograd import backward
from .._core.compile.kernel import Kernel
from .._core.graph.nodes import Node, node_type
from .._core.random import generator
from .._core.record.program import emit
from .._core.run import capture as engine
from .._core.run import runner
from .._core.tensor.tensor import wrap
from .._core.types.value import Value
from . import observing
from .capturing import Capture, Captured, Result, Source, Uncapturable, is_alive, nodes_below
from .trees import numbers_in

_MOST_PATTERNS = 6


class _Form:
    """What the engine asks of a node's form."""

    has_extra = False

    def __init__(self, in_avals: tuple[Any, ...], n_out: int) -> None:
        self.name = "CompiledFunctionBackward"
        self.wanted = tuple(range(len(in_avals)))
        self.in_avals = in_avals
        self.n_out = n_out
        self.roots: tuple[Any, ...] = ()


class _CompiledNode(node_type("CompiledFunctionBackward")):
    """The node of a replayed call. `graph` knows its backward programs."""

    __slots__ = ("graph",)

    def __init__(self, graph: Graph, edges: Any, saved: Any) -> None:
        super().__init__(graph.form, saved)
        self.edges = edges
        self.graph = graph

    def run_values(self, mode: Any, grads: list[Any]) -> Any:
        """The gradients of the call's inputs."""
        if mode.graph:
            raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")
        return self.graph.backward(self.saved_values(), grads)


_CompiledNode.__name__ = "CompiledFunctionBackward"


class Passage(node_type("AliasBackward0")):
    """The border of a captured call: the node of an argument's stand-in, which hands gradients on to the argument's own history.

    `outside` keeps the way there while the call's graph is looked at.
    """

    __slots__ = ("outside",)

    def __init__(self, t: Any) -> None:
        super().__init__(_Form((t._value.aval,), 1))
        self.edges = self.outside = [backward.edge_of(t)]

    def run_values(self, mode: Any, grads: list[Any]) -> Any:
        """The gradient as it came."""
        return grads


class Graph:
    """How a replayed call is differentiated.

    roots:    the results that carry the graph, by number among the call's tensors.
    targets:  Sources of the tensors that get gradients.
    programs: by which of the roots have received a gradient: the kernel, and where its operands come from.
    codes:    the user's functions that a call is known to run; those that only its backward runs join them.
    """

    def __init__(self, work: Capture, made: Captured, codes: set[Any]) -> None:
        self.roots = [k for k, t in enumerate(made.tensors) if isinstance(t, Result) and is_alive(t.node)]
        outs = [made.handles[k] for k in self.roots]
        nodes = [t._node for t in outs]
        leaves = _leaves(nodes) + _borders(nodes, work.arguments)
        arguments = {id(t): i for i, t in enumerate(work.arguments)}
        self.targets = [
            Source("argument", arguments[id(t)]) if id(t) in arguments else Source("tensor", t) for t in leaves
        ]
        for t in leaves:
            if id(t) not in arguments and id(t) not in work.known:
                raise Uncapturable("it makes a tensor that requires a gradient and lets its graph out")
        self._root_avals = [t._value.aval for t in outs]
        self.form = _Form(tuple(t._value.aval for t in leaves), len(outs))
        values = {id(v): ("result", made.live.index(v.slot)) for v in made.values if v.slot in set(made.live)}
        values |= {id(v): ("input", i) for i, v in enumerate(made.inputs)}
        self.saved: list[tuple[str, Any]] = []
        self.programs: dict[tuple[bool, ...], tuple[Kernel, list[Any], list[Any]]] = {}
        n = len(outs)
        patterns = [(True,) * n]
        above = {t.shared.root for t in made.tensors if isinstance(t, Result) and t.shared is not None}
        returned = {n for spec in (made.spec, *(p for _, p in made.places)) for n in numbers_in(spec)}
        seen = tuple(k not in above or k in returned for k in self.roots)
        if any(seen) and not all(seen):
            patterns.append(seen)  # nobody uses the tensor itself that the results are views of
        if 1 < n <= _MOST_PATTERNS:
            patterns += [tuple(i == k for i in range(n)) for k in range(n)]
        for k in self.roots:
            made.tensors[k].node = None
        hooks = [(t, t._hooks) for t in leaves]
        for t in leaves:
            t._hooks = None
        try:
            for present in patterns:
                self.programs[present], seen = observing.observe(
                    lambda: self._trace(outs, leaves, present, values, made.slot, work)  # noqa: B023
                )
                if seen.reason is not None:
                    raise Uncapturable(f"in its backward {seen.reason}")
                if not seen.codes <= codes:  # a Function's: what it depends on is to be watched as well
                    codes |= seen.codes
                    raise Uncapturable("each call runs other code")
        finally:
            for t, kept in hooks:
                t._hooks = kept

    def _trace(
        self, outs: list[Any], leaves: list[Any], present: tuple[bool, ...], values: Any, slot: Any, work: Capture
    ) -> Any:
        """Record backward from the results that are `present`, and make a kernel of it."""
        given = [t for t, p in zip(outs, present, strict=True) if p]
        seeds = [_zeros(t._value.aval) for t in given]
        roots = [(t, wrap(s)) for t, s in zip(given, seeds, strict=True)]
        into = backward.GradientTargets(leaves)
        watcher = _Watcher()
        engine.active, drawing = watcher, generator.draw_observer
        generator.draw_observer = watcher.observe_draw
        try:
            backward.run(roots, retain_graph=True, create_graph=False, targets=into)
            recorded, slot.program = slot.program, None
        except (
            Exception
        ) as error:  # what it has saved was overwritten, or a Function's own: whoever calls backward is to see it
            slot.program = None
            raise Uncapturable(f"its backward raises {type(error).__name__}") from None
        finally:
            engine.active, generator.draw_observer = None, drawing
        if watcher.reason is not None or recorded is None:
            raise Uncapturable(watcher.reason or "its backward computes nothing")
        try:
            return self._kernel(recorded, into.found, seeds, values, slot, work)
        finally:
            for v in recorded.values:
                v.program = None
            recorded.state = "done"

    def _kernel(
        self, recorded: Any, found: list[Any], seeds: list[Value], values: Any, slot: Any, work: Capture
    ) -> Any:
        seed = {id(v): k for k, v in enumerate(seeds)}
        operands: list[tuple[str, Any]] = []
        for v in recorded.inputs:
            if id(v) in seed:
                operands.append(("seed", seed[id(v)]))
            elif id(v) in values:
                operands.append(("saved", self._save(values[id(v)])))
            elif id(v) in work.by_value:
                raise Uncapturable("its backward reads a tensor that the call does not")
            else:
                operands.append(("constant", v))
        wanted: list[Any] = []
        live: list[int] = []
        for t in found:
            if t is None:
                wanted.append(None)
                continue
            v = t._read()
            if v.program is not recorded or v.array is not None:
                if id(v) in seed:  # the gradient of a result handed on as it is
                    wanted.append(("seed", seed[id(v)]))
                    continue
                raise Uncapturable("a gradient does not depend on the call")
            if v.slot not in live:
                live.append(v.slot)
            wanted.append(("out", v.slot))
        if not live:
            raise Uncapturable("its backward computes nothing")
        order = tuple(sorted(live))
        wanted = [w if w is None or w[0] == "seed" else ("out", order.index(w[1])) for w in wanted]
        plan = runner.Plan(tuple(recorded.code), order, ())

        def run(*arrays: Any) -> tuple[Any, ...]:
            env: list[Any] = [None] * plan.n_slots
            for s, a in zip(plan.input_slots, arrays, strict=True):
                env[s] = a
            return tuple(runner.evaluate(plan, env))

        kernel = Kernel("compiled_backward", run, tuple(plan.input_avals), slot)
        kernel.captured = True
        return kernel, operands, wanted

    def _save(self, place: tuple[str, Any]) -> int:
        if place not in self.saved:
            self.saved.append(place)
        return self.saved.index(place)

    # -- at each replay

    def attach(
        self, tensors: list[Any], outs: list[Value], values: list[Value], order: list[int], arguments: Any
    ) -> None:
        """Give the results of a replay their node."""
        place = {k: i for i, k in enumerate(order)}
        saved = [outs[place[k]] if kind == "result" else values[k] for kind, k in self.saved]
        edges = [backward.edge_of(s.tensor(arguments)) for s in self.targets]
        node = _CompiledNode(self, edges, saved)
        for index, k in enumerate(self.roots):
            t = tensors[k]
            t._rg, t._node, t._index = True, node, index

    def backward(self, saved: Any, grads: list[Any]) -> list[Any]:
        """Gradients of the targets from those of the roots."""
        present = tuple([g is not None for g in grads])
        found = self.programs.get(present)
        if found is None:
            found = self.programs[(True,) * len(grads)]
            grads = [_zeros(a) if g is None else g for g, a in zip(grads, self._root_avals, strict=True)]
        kernel, operands, wanted = found
        given = [g for g in grads if g is not None]
        picked = {"seed": given, "saved": saved}
        outs = emit(kernel, [x if kind == "constant" else picked[kind][x] for kind, x in operands])
        return [None if w is None else given[w[1]] if w[0] == "seed" else outs[w[1]] for w in wanted]


def _zeros(aval: Any) -> Value:
    return Value(aval, np.zeros(aval.shape, aval.dtype.np))


class _Watcher:
    """Stands for a capture while backward is recorded."""

    reason: str | None = None

    def __init__(self) -> None:
        self.thread = get_ident()

    def broke(self, reason: str) -> None:
        """Backward did something that cannot be part of a program."""
        if self.reason is None:
            self.reason = reason

    def uncover(self, storage: Any) -> None:
        """Backward asks for memory: a program of its own makes all that it needs."""

    def observe_draw(self, *_: Any) -> None:
        """Backward drew random numbers, which a program would repeat."""
        self.broke("its backward draws random numbers")


def _leaves(roots: list[Any]) -> list[Any]:
    """The leaf tensors that graphs end in, in the order in which backward gives them their gradients: that shows where a hook on
    one of them raises. Uncapturable where a hook waits on the way."""
    found: dict[int, Any] = {}
    for node in sorted(nodes_below(roots), key=lambda n: -n.seq):
        if node.pre_hooks or node.post_hooks or node.node_pre_hooks or node.retains:
            raise Uncapturable("a hook waits on the graph of a tensor inside")
        for edge in backward.edges_in_torch_order(node):
            t = None if edge is None else edge[0]
            if t is not None and not isinstance(t, Node):
                found.pop(id(t), None)
                found[id(t)] = t
    return list(found.values())


def _borders(roots: list[Any], arguments: list[Any]) -> list[Any]:
    """The stand-ins of arguments with a history that graphs end in."""
    ends = {id(node) for node in nodes_below(roots) if isinstance(node, Passage)}
    return [t for t in arguments if t._node is not None and id(t._node) in ends]
