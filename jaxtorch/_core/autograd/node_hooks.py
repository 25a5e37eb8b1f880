"""What runs around a node in a backward pass: the hooks on the gradients that arrive, those on the node before and after it, and the
gradients that are kept for tensors that asked for theirs.
"""

from __future__ import annotations

from typing import Any

from ..compile.kernel import Entry, Kernel
from ..tensor import tensor as _tensor
from ..tensor.sparse_value import is_sparse
from ..types.reference_counts import LISTED, counted
from ..types.value import Aval
from .held_gradients import keep, tensor_for_hook
from .hook_results import GradDtype, changed, check_replacement

_copies: dict[tuple[Aval, str], Entry] = {}


def copied(g: Any, name: str) -> Any:
    """A gradient that has a graph as a tensor of its own: `.grad` shares no memory with what hooks and callers hold."""
    if is_sparse(g):
        return g.clone()
    return _tensor.apply_entry(copy_entry(g._read().aval, name), [g])


def copy_entry(aval: Any, name: str) -> Entry:
    """The entry that copies a value of one type; name: of its node in a graph."""
    entry = _copies.get((aval, name))
    if entry is None:
        entry = _copies[aval, name] = Entry(None, Kernel("copy", lambda a: (a,), (aval,), aval.slot), None)
        entry.grad_name = name
    return entry


def before_node(node: Any, grads: list[Any], mode: Any) -> None:
    """Run the hooks on a node's incoming gradients, and store those that `retain_grad` asked for."""
    for index, hooks in list((node.pre_hooks or {}).items()):
        grads[index] = through_hooks(list(hooks.values()), grads[index], mode)
    for index, ref in list((node.retains or {}).items()):
        t = ref()
        if t is not None and grads[index] is not None:
            g = mode.to_tensor(grads[index])
            t._grad = t._grad + g if t._grad is not None else copied(g, "CloneBackward0") if mode.graph else g


def tensors(grads: Any, mode: Any) -> tuple[Any, ...]:
    """Gradients as the tensors that hooks are given."""
    return tuple([None if g is None else tensor_for_hook(g, mode) for g in grads])


def pre_hooks(node: Any, grads: list[Any], mode: Any) -> None:
    """Run the hooks on a node itself, before it runs."""
    shown = graded_outputs(node)
    for hook in list(node.node_pre_hooks.values()):
        given = tensors([grads[k] for k in shown], mode)
        result = hook(given)
        if result is not None:
            for k, g in zip(shown, changed(hook, result, given, mode), strict=True):
                grads[k] = g


_UPDATING = frozenset({"NativeBatchNormBackward0", "ViewBackward0"})
"""Nodes of operations whose other outputs are new running statistics."""


def graded_outputs(node: Any) -> range | list[int]:
    """The outputs that a hook on the node gets gradients of: those that can have one."""
    form = node.form
    if form.name in _UPDATING:
        return [0]
    floats = getattr(getattr(form, "entry", None), "out_float", None)
    return range(form.n_out) if floats is None else [k for k in range(form.n_out) if floats[k]]


def through_hooks(hooks: list[Any], g: Any, mode: Any) -> Any:
    for hook in hooks:
        if g is None:
            result = hook(None)
            if result is not None:
                check_replacement(hook, result, None)
            continue
        given = [tensor_for_hook(g, mode)]
        before = None if mode.graph or is_sparse(given[0]) else given[0]._read()
        result = [hook(given[0])]
        if result[0] is not None:
            if type(hook) is not GradDtype:
                check_replacement(hook, result[0], given[0])
            g = mode.of_tensor(result[0])
            if next(counted(result)) > LISTED + (result[0] is given[0]):
                g = keep(result[0], g)
            continue
        if before is not None and given[0]._read() is not before:
            g = mode.of_tensor(given[0])  # the hook wrote to its argument in place
        if next(counted(given)) > LISTED:
            g = keep(given[0], g)
    return g


def after_node(node: Any, grads: list[Any], results: Any, mode: Any) -> Any:
    """Run a node's post hooks, which see (gradients of the inputs that are tensors, gradients of the outputs)."""
    shown, wanted = node.inputs(), node.form.wanted
    by_input, outs = dict(zip(wanted, results, strict=True)), tensors([grads[k] for k in graded_outputs(node)], mode)
    ins = tensors([by_input.get(i) for i in shown], mode)
    for hook in list(node.post_hooks.values()):
        result = hook(ins, outs)
        if result is not None:
            by_input = dict(zip(shown, changed(hook, result, ins, mode), strict=True))
            ins, result = result, None
    counts = list(counted(ins))
    for i, t, count in zip(shown, ins, counts, strict=True):
        if count > LISTED and by_input.get(i) is not None:
            by_input[i] = keep(t, by_input[i])
    return [by_input[i] for i in wanted]
