"""The backward pass: nodes run in reverse order of recording, and their kernels are recorded like any operation.

A node is pushed on a heap, latest first, when its first gradient arrives. Since edges only point to earlier nodes, all of a
node's gradients have arrived when it is popped, so no dependency count is needed and graphs of any depth take no recursion.

Gradients are bare `Value`s, unless `create_graph` asks for a graph of the backward pass: then they are tensors and every
kernel goes through the door that ordinary operations use.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import warnings
from typing import Any

from ..compile.kernel import Entry, Kernel
from ..graph import nodes
from ..graph.derivative import GradForm
from ..graph.nodes import OF_LAYERS, GradientSink, Node, NodeHook, leaf_hooks
from ..record import deferred_errors
from ..record.program import emit
from ..run.capture import unobserved
from ..tensor import tensor as _tensor
from ..tensor.sparse_value import NoContent, SparseValue, add_values, dense_value, is_sparse
from ..tensor.views import own_copy, regenerate_grad_fn
from ..transforms import vmap
from ..tuning import NESTED_BACKWARDS
from ..types.grad_mode import Anomaly, in_another_thread, no_grad, state, watch
from ..types.value import Aval, Value
from .held_gradients import keep, release_all
from .node_hooks import after_node, before_node, copied, copy_entry, graded_outputs, pre_hooks, tensors, through_hooks
from .targets import GradientTargets, edge_of

_sums: dict[Aval, Entry] = {}


def _sum_entry(aval: Aval) -> Entry:
    entry = _sums.get(aval)
    if entry is None:
        with unobserved():
            kernel = Kernel("accumulate", lambda a, b: (a + b,), (aval, aval), aval.slot)
        entry = _sums[aval] = Entry(None, kernel, None)
        entry.grad_name = "AddBackward0"
    return entry


class _ValueGradients:
    """Gradients as values, without a graph of their own."""

    graph = dispatched = False

    @staticmethod
    def add(a: Value, b: Value) -> Value:
        try:
            return emit(_sum_entry(a.aval).kernel, [a, b])[0]
        except NoContent:
            return add_values(a, b)

    @staticmethod
    def to_tensor(g: Value) -> Any:
        return _tensor.wrap(g) if g.__class__ is Value else g.tensor  # pyright: ignore[reportAttributeAccessIssue]

    @staticmethod
    def of_tensor(t: Any) -> Value:
        try:
            return t._read()
        except NoContent:
            return SparseValue(t)

    @staticmethod
    def run(node: Node, grads: list[Any]) -> Any:
        form: GradForm = node.form
        saved = node.saved_values()
        while True:
            try:
                if len(grads) == 1:
                    entry, given = form.backward(_ONE), grads
                else:
                    entry = form.backward(tuple([g is not None for g in grads]))
                    given = [g for g in grads if g is not None]
                outs = emit(entry.kernel, [*saved[: len(form.roots)], *given])
                return (
                    [None if k in entry.undefined_outputs else o for k, o in enumerate(outs)]
                    if entry.undefined_outputs
                    else outs
                )
            except NoContent:
                if not any(type(g) is SparseValue for g in grads):
                    raise
                grads = [dense_value(g) for g in grads]


_ONE = (True,)


class _TensorGradients:
    """Gradients as tensors, recorded with their own gradients (`create_graph=True`)."""

    graph = True
    dispatched = False

    @staticmethod
    def add(a: Any, b: Any) -> Any:
        if is_sparse(a) or is_sparse(b):
            return b + a if is_sparse(a) else a + b
        return _tensor.apply_entry(_sum_entry(a._read().aval), [a, b])

    @staticmethod
    def to_tensor(g: Any) -> Any:
        return g

    @staticmethod
    def of_tensor(t: Any) -> Any:
        return t

    @staticmethod
    def run(node: Node, grads: list[Any]) -> Any:
        form: GradForm = node.form
        saved = node.saved_values()
        present = tuple([g is not None for g in grads])
        given = [g for g in grads if g is not None]
        edges = dict(zip(form.wanted, node.edges, strict=True))
        if form.has_extra:
            entry = form.full_backward(present)
            inputs = saved[len(form.roots) : len(form.roots) + len(form.in_avals)]
            operands = [_with_history(_savable(form, v, "in", i), edges.get(i)) for i, v in enumerate(inputs)]
        else:
            entry = form.backward(present)
            operands = [
                _with_history(_savable(form, v, kind, k), edges.get(k) if kind == "in" else (node, k))
                for v, (kind, k) in zip(saved, form.roots, strict=False)
            ]
        given = [g.to_dense() if is_sparse(g) else g for g in given]
        if any([isinstance(x, _tensor.Tensor) for x in operands]):  # noqa: C419
            used = entry.used_inputs()
            operands = [x if i in used or isinstance(x, Value) else x._read() for i, x in enumerate(operands)]
        operands += given
        outs = _tensor.apply_entry(entry, operands)
        outs = outs if isinstance(outs, tuple) else (outs,)
        if getattr(getattr(form, "entry", None), "op", None) is not None and form.entry.op.elementwise:
            moving = {i for i, x in enumerate(operands) if getattr(x, "_rg", False)}
            for out, sources in zip(outs, entry.dependencies() if moving else (), strict=False):
                if moving.isdisjoint(sources):  # a constant, such as the derivative of `sign`
                    out._node, out._index, out._rg = None, 0, False
        return (
            [None if k in entry.undefined_outputs else o for k, o in enumerate(outs)]
            if entry.undefined_outputs
            else outs
        )


def _savable(form: Any, v: Value, kind: str, k: int) -> Value:
    """A saved value as the node of a gradient may keep it: what PyTorch does not save may have been written over, then as now."""
    if v.guard is None or not getattr(form, "is_unsaved", _checked)(kind, k):
        return v
    return emit(copy_entry(v.aval, "").kernel, [v])[0]


def _checked(kind: str, k: int) -> bool:
    """`is_unsaved` of a form that has none."""
    return False


def _with_history(v: Value, edge: Any) -> Any:
    """A tensor for a saved value, attached to the graph where the value came from."""
    if edge is None or not (v.aval.dtype.is_floating_point or v.aval.dtype.is_complex):
        return v
    target, index = edge
    t = _tensor.wrap(v)
    t._rg = True
    t._node, t._index = target, index  # a leaf tensor may stand here: edges of tensors and nodes are built alike
    return t


dispatched_gradients: Any = None
"""(create_graph): how gradients are computed where a mode's `__torch_dispatch__` sees them. Set by dispatch/torch_dispatch.py."""


def _gradients_as(create_graph: bool) -> Any:
    """How gradients are computed: as values, as tensors with a history, or as a mode's `__torch_dispatch__` sees them."""
    if "dispatch" in watch:
        return dispatched_gradients(create_graph) or (_TensorGradients if create_graph else _ValueGradients)
    return _TensorGradients if create_graph else _ValueGradients


_tied_entries: dict[tuple[Aval, Aval], Entry] = {}


def _tied_to_root(root: Value, g: Any) -> Any:
    """A root's gradient, which depends on the root where that may have failed (record/deferred_errors.py). With it all that
    backward computes does, from operands alone too."""
    if not deferred_errors.may_have_failed(root) or is_sparse(g) or g.__class__ is SparseValue:
        return g
    v: Any = g if g.__class__ is Value else g._read()
    entry = _tied_entries.get((v.aval, root.aval))
    if entry is None:
        with unobserved():
            kernel = Kernel("behind", lambda g, root: (g,), (v.aval, root.aval), v.aval.slot)
        entry = _tied_entries[v.aval, root.aval] = Entry(None, kernel, None)
    made = emit(entry.kernel, [v, root])[0]
    if v is g:
        return made
    return _with_history(made, edge_of(g)) if g._rg else _tensor.wrap(made)


def run(
    roots: list[tuple[Any, Any]],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: GradientTargets | None,
    in_new_thread: bool = False,
) -> None:
    """Propagate gradients from `roots`, pairs of (tensor or edge, gradient tensor), to leaves or to the captured places.

    apart: in a thread of its own, whose stack is empty.
    """
    if running_passes and not in_new_thread and len(running_passes) % NESTED_BACKWARDS == 0:
        again = functools.partial(
            run, retain_graph=retain_graph, create_graph=create_graph, targets=targets, in_new_thread=True
        )
        return in_another_thread(lambda: again(roots))
    starts = [(edge_of(place), place, g) for place, g in roots]
    walk = (_MappedBackwardPass if vmap.used else _BackwardPass)(_gradients_as(create_graph), retain_graph, targets)
    if targets is not None:
        targets.mark_needed([edge[0] for edge, _, _ in starts])
    if leaf_hooks or walk.mode.dispatched:
        walk.count_gradients_of_leaves([edge for edge, _, _ in starts])
    walk.roots = [edge for edge, _, _ in starts]
    before = state.grad, state.capturing
    try:  # at once: Ctrl-C may come with any call
        state.grad, state.capturing = create_graph, targets is not None
        running_passes.append(walk)
        for edge, place, g in starts:
            if targets is not None and len(starts) > 1 and not targets.leads_to_target(edge):
                continue  # a root alone has the hooks of its tensor run in any case
            given = walk.mode.of_tensor(g)
            if not isinstance(place, tuple) and not walk.mode.dispatched:
                given = _tied_to_root(place._read(), given)
            if isinstance(edge[0], Node):
                walk.send(*edge, keep(g, given, apart=False) if edge[0].pre_hooks else given)
            else:
                walk.send(*edge, keep(g, given) if edge[0]._hooks else _unshared(given))
            walk.edges_done([edge])
        heap, buffers, visit, node = walk.heap, walk.buffers, walk.visit, None
        try:
            while heap:
                node = heapq.heappop(heap)[1]
                visit(node, buffers.pop(node))
        except Exception:
            walk.finish_early([node, *buffers])
            raise
        for leaf, g in list(walk.leaves.values()):
            walk.finish_leaf(leaf, g)
        if targets is not None:
            targets.found = list(tensors(targets.found, walk.mode))
        for callback in walk.callbacks:
            callback()
    finally:
        state.grad, state.capturing = before
        if walk in running_passes:
            running_passes.remove(walk)
        if not running_passes:
            release_all()


def queue_callback(callback: Any) -> None:
    """Call `callback()` when the backward pass that runs now, the outermost one, has given all leaves their gradients."""
    if not running_passes:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    running_passes[0].callbacks.append(callback)


_numbers = itertools.count()
running_passes: list[_BackwardPass] = []
"""The backward passes that run now, innermost last."""


class _BackwardPass:
    """One backward pass under way.

    buffers: the gradients that have arrived at each node on the heap.
    leaves:  those that have arrived at leaves, which take them at the end; or, where leaves have hooks, as soon as
             `remaining` says that no more will come.
    """

    __slots__ = ("mode", "retain", "targets", "buffers", "heap", "leaves", "remaining", "roots", "some_missing", "callbacks",
                 "number", "__weakref__")  # fmt: skip

    def __init__(self, mode: Any, retain: bool, targets: GradientTargets | None) -> None:
        self.mode = mode
        self.retain = retain
        self.targets = targets
        self.buffers: dict[Any, list[Any]] = {}
        self.heap: list[tuple[int, Any]] = []  # no two nodes have the same number
        self.leaves: dict[int, tuple[Any, Any]] = {}
        self.remaining: dict[int, int] | None = None
        self.roots: list[Any] = []
        self.callbacks: list[Any] = []
        self.number = next(_numbers)
        self.some_missing = False  # is there a node on the heap that no gradient may come to?

    def reaches(self, places: list[Any]) -> int:
        """How many of these (node, output) and (leaf, 0) this pass comes to, with a gradient or without."""
        targets, seen, stack = self.targets, set[int](), list(self.roots)
        while stack:
            edge = stack.pop()
            if edge is None or (targets is not None and not targets.leads_to_target(edge)):
                continue
            target = edge[0]
            if id(target) in seen:
                continue
            seen.add(id(target))
            if isinstance(target, Node) and (targets is None or id(target) in targets.needed):
                stack.extend(target.edges)
        return sum([id(target) in seen for target, _ in places])

    def count_gradients_of_leaves(self, roots: list[Any]) -> None:
        """Count the gradients that each leaf will get."""
        self.remaining = waiting = {}
        targets = self.targets
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            edge = stack.pop()
            if edge is None or (targets is not None and not targets.leads_to_target(edge)):
                continue
            target = edge[0]
            if not isinstance(target, Node):
                waiting[id(target)] = waiting.get(id(target), 0) + 1
            elif id(target) not in seen:
                seen.add(id(target))
                if targets is None or id(target) in targets.needed:
                    stack.extend(target.edges)

    def edges_done(self, edges: Any) -> None:
        """Gradients, or their absence, have been sent along these edges: finish the leaves that wait for no more."""
        waiting = self.remaining
        if waiting is None:
            return
        for edge in edges:
            if edge is None or id(edge[0]) not in waiting:
                continue
            key = id(edge[0])
            waiting[key] -= 1
            if waiting[key] == 0:
                leaf, g = self.leaves.pop(key, (edge[0], None))
                self.finish_leaf(leaf, g)

    def finish_early(self, stopped: list[Any]) -> None:
        """An error has stopped the pass before these nodes: leaves that would have got nothing from there have their gradients."""
        seen: set[int] = set()
        while stopped:
            target = stopped.pop()
            if id(target) not in seen:
                seen.add(id(target))
                if isinstance(target, Node):
                    stopped.extend([end for end in target.ends if end is not None])
        if self.targets is None:
            for leaf, g in list(self.leaves.values()):
                if id(leaf) not in seen:
                    self.finish_leaf(leaf, g)

    def visit(self, node: Any, grads: list[Any]) -> None:
        mode, targets = self.mode, self.targets
        runs = targets is None or id(node) in targets.needed or (targets.accumulate and targets.has_output_wanted(node))
        if runs and targets is not None:
            targets.record(node, grads)  # as it comes, before hooks: they run as a part of the node
        if node.pre_hooks is not None or node.retains is not None:
            before_node(node, grads, mode)
        if not runs and targets is not None:
            targets.record(node, grads)
            return
        if node.node_pre_hooks:
            pre_hooks(node, grads, mode)
        own = node.run_values
        if self.some_missing and not node.runs_without_gradients and all(g is None for g in grads):
            results = [None] * len(node.ends)
        elif watch and Anomaly.enabled:
            results = _run_watched(node, grads, mode)
        else:
            results = own(mode, grads) if own is not None else mode.run(node, grads)
        if node.post_hooks:
            if targets is not None:
                results = [
                    g if edge is not None and targets.leads_to_target(edge) else None
                    for g, edge in zip(results, node.edges, strict=True)
                ]
            results = after_node(node, grads, results, mode)
        if not self.retain:
            node.release()
        send, indices = self.send, node.indices
        if targets is None and indices is None:
            for end, g in zip(node.ends, results, strict=True):
                if end is not None:
                    send(end, 0, g) if g is not None else self.send_none(end)
        else:
            for edge, g in zip(node.edges, results, strict=True):
                if edge is not None and (targets is None or targets.leads_to_target(edge)):
                    send(edge[0], edge[1], g) if g is not None else self.send_none(edge[0])
        if self.remaining is not None:
            self.edges_done(edges_in_torch_order(node))

    def send(self, target: Any, index: int, g: Any) -> None:
        """Add a gradient to the place an edge leads to."""
        if isinstance(target, Node):
            slots = self.buffers.get(target)
            if slots is None:
                slots = self.buffers[target] = [None] * target.form.n_out
                heapq.heappush(self.heap, (-target.seq, target))
            slots[index] = g if slots[index] is None else self.mode.add(slots[index], g)
        else:
            before = self.leaves.get(id(target))
            self.leaves[id(target)] = (target, g if before is None else self.mode.add(before[1], g))

    def send_none(self, target: Any) -> None:
        """No gradient comes along an edge. A node is visited even so: functions of the user's and hooks run without."""
        if isinstance(target, Node) and target not in self.buffers:
            self.some_missing = True
            self.buffers[target] = [None] * target.form.n_out
            heapq.heappush(self.heap, (-target.seq, target))

    def finish_leaf(self, leaf: Any, g: Any) -> None:
        """Give a leaf its gradient, if one came: to `.grad`, or to the caller of `autograd.grad`."""
        mode, targets = self.mode, self.targets
        asked = targets is None or id(leaf) in targets.by_leaf  # a root need not be
        alone = asked and (targets is None or targets.accumulate)
        if leaf._hooks:
            hooks = leaf._hooks.values()
            hooks = sorted(hooks, key=_of_node) if alone else [h for h in hooks if not _of_node(h)]
            g = through_hooks(hooks, g, mode)
        if not asked:
            return
        if targets is not None:
            for position in targets.by_leaf[id(leaf)]:
                targets.found[position] = g
            if not alone:
                return
        if not leaf._rg:
            return  # it has ceased to require one
        if g is not None:
            regenerate_grad_fn(leaf)
            if leaf._node is not None and type(leaf._node) is not GradientSink:
                raise RuntimeError("leaf variable has been moved into the graph interior")
            accumulate(leaf, g, mode)
        if leaf._post_hooks:
            for hook in sorted(leaf._post_hooks.values(), key=_of_node):
                if type(hook) is NodeHook:
                    hook((), tensors([g], mode))
                elif (result := hook(leaf)) is not None:
                    _refuse_result(result)


def _refuse_result(result: Any) -> None:
    """Raise PyTorch's errors for what a hook returned that runs after a gradient has been accumulated."""
    if isinstance(result, _tensor.Tensor):
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")


def edges_in_torch_order(node: Any) -> list[Any]:
    """A node's edges in the order in which PyTorch's reach the leaves: in linear layers the bias comes before the weight."""
    edges, names = node.edges, getattr(getattr(node.form, "entry", None), "operand_names", ())
    if "weight" in names and "bias" in names and node.form.name not in OF_LAYERS:
        by_input = dict(zip(node.form.wanted, edges, strict=True))
        order = sorted(by_input, key=lambda i: names[i] != "bias")
        return [by_input[i] for i in order]
    return edges


class _MappedBackwardPass(_BackwardPass):
    """One where gradients may leave functions that were mapped (transforms/vmap.py)."""

    __slots__ = ()

    def visit(self, node: Any, grads: list[Any]) -> None:
        super().visit(node, vmap.alike(self.mode, grads))

    def send(self, target: Any, index: int, g: Any) -> None:
        super().send(target, index, vmap.arriving(self.mode, self.buffers, target, index, g))


def _of_node(hook: Any) -> bool:
    """Was the hook put on the leaf's AccumulateGrad node? Those run after the leaf's own."""
    return type(hook) is NodeHook


def accumulate(t: Any, g: Any, mode: Any) -> None:
    """Add a gradient to a tensor's `.grad`: in place, unless a graph is being made."""
    old = t._grad
    if mode.dispatched:
        mode.accumulate(t, g)
    elif old is None and watch and not mode.graph:
        t._grad = mode.to_tensor(g).detach()  # as in PyTorch, without the tangent of a dual
    elif old is None:
        t._grad = copied(g, "CopyBackwards") if mode.graph else mode.to_tensor(g)
    elif mode.graph:
        t._grad = g + old if is_sparse(old) else old + g
    else:
        try:
            now = old._read()
            if now.aval is g.aval:
                old._write(emit(_sum_entry(g.aval).kernel, [now, g])[0])
            else:  # `t.data` has got another type or shape since
                old.add_(mode.to_tensor(g))
        except NoContent:
            if is_sparse(old) and type(g) is not SparseValue:
                t._grad = _ValueGradients.to_tensor(add_values(mode.of_tensor(old), g))
            else:
                with no_grad():
                    old.add_(mode.to_tensor(g))


def _run_watched(node: Any, grads: list[Any], mode: Any) -> Any:
    """Run a node under anomaly detection: an error, or a NaN in a result, is told with the forward call's traceback."""
    try:
        results = node.run_values(mode, grads) if node.run_values is not None else mode.run(node, grads)
        if Anomaly.check_nan:
            for i, g in enumerate(results):
                if g is not None and bool((mode.to_tensor(g) != mode.to_tensor(g)).any()):
                    raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
    except Exception:
        lines = node.metadata.get("traceback_")
        if lines:
            said = f"Traceback of forward call that caused the error:\n{''.join(lines)}"
        else:
            said = (
                "No forward pass information available. Enable detect anomaly during forward pass for more information."
            )
        warnings.warn(f"Error detected in {node.name()}. {said}", stacklevel=6)
        raise
    return results


def _unshared(g: Any) -> Any:
    """A gradient that somebody outside holds too, as a value of its own: what is written to the one leaves the other's history."""
    return own_copy(g) if g.__class__ is Value else g


def call_node(node: Node, grads: tuple[Any, ...]) -> Any:
    """What `grad_fn(*grads)` gives: the gradients of a node's inputs, each apart, with a history where gradients are enabled."""
    if node.run_values is not None:
        raise TypeError(f"'{type(node).__name__}' object is not callable")
    taking = graded_outputs(node)
    if len(grads) != len(taking):
        raise TypeError(f"expected {len(taking)} arguments, got {len(grads)} instead")
    for i, g in enumerate(grads):
        if g is not None and not isinstance(g, _tensor.Tensor):
            raise TypeError(f"argument {i} is not a Variable")
    mode, given = _gradients_as(state.grad), dict(zip(taking, grads, strict=True))
    values = [None if given.get(k) is None else mode.of_tensor(given[k]) for k in range(node.form.n_out)]
    found = dict(zip(node.form.wanted, tensors(mode.run(node, values), mode), strict=True))
    shown = tuple([found.get(i) for i in node.inputs()])
    return shown[0] if len(shown) == 1 else shown


nodes.call_node = call_node
