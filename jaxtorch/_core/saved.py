"""What a node has saved, under PyTorch's names: `grad_fn._saved_self`, `_saved_result`, `_saved_dim`."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from .tape import OF_LAYERS, Node
from .tensor import Tensor, from_host, wrap
from .value import Value
from .views import detached

_NAMES = {"self": "input"}


def saved_attribute(node: Node, name: str) -> Any:
    """`node._saved_<name>`: a tensor, a static argument, or None for an operand that backward does not need.

    AttributeError for what the operation has not; RuntimeError once the graph has been freed.
    """
    form = node.form
    op = getattr(getattr(form, "entry", None), "op", None)
    if op is not None:
        operands = form.entry.operand_names
        for asked in (name, _NAMES.get(name)):
            if operands.count(asked) == 1 and len(operands) == len(form.in_avals):
                return _saved_value(node, "in", operands.index(asked))
        if name == "self_sym_sizes":
            return form.in_avals[0].shape
        statics = dict(zip([p.name for p in op.statics], form.entry.static, strict=False))
        if name in statics:
            number = isinstance(statics[name], tuple) and [p.kind for p in op.statics if p.name == name] == ["number"]
            return statics[name][1] if number else statics[name]
        place = int(name[6:] or 0) if name == "result" or (name.startswith("result") and name[6:].isdigit()) else -1
        if ("out", place) in form.roots:
            return _saved_value(node, "out", place)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def saved_names(node: Node) -> list[str]:
    """What `dir(grad_fn)` lists of it: the operands that backward needs, static arguments that were given, and results."""
    form = node.form
    op = getattr(getattr(form, "entry", None), "op", None)
    if op is None:
        return []
    operands = form.entry.operand_names
    found = [p.name for p, s in zip(op.statics, form.entry.static, strict=False) if s is not None]
    if len(operands) == len(form.in_avals):
        first = "input" if form.name in OF_LAYERS else "self"
        names = [operands[k] for kind, k in form.roots if kind == "in" and operands.count(operands[k]) == 1]
        found += [first if name == "input" else name for name in names]
    outs = [k for kind, k in form.roots if kind == "out"]
    found += ["result" if len(form.out_avals) == 1 else f"result{k}" for k in outs]
    return sorted("_saved_" + name for name in found)


def _owner(value: Value, edge: Any) -> Any:
    """The tensor whose value a node has saved, if the program still has it. Nothing leads there, so that it costs no step of a
    training loop anything: the garbage collector knows who holds the value."""
    for holder in gc.get_referrers(value):
        if not isinstance(holder, Tensor) or holder._value is not value:
            continue
        if edge is None or (holder._node, holder._index) == tuple(edge):
            return holder
    return None


def _saved_value(node: Node, kind: str, k: int) -> Any:
    form = node.form
    if (kind, k) not in form.roots:
        return None
    value: Value = node.checked()[form.roots.index((kind, k))]
    if value.aval.wrapped:
        return from_host(np.asarray(value.array))
    edge = (node, k) if kind == "out" else None
    if kind == "in" and k in form.wanted:
        edge = node.edges[form.wanted.index(k)]
        if not isinstance(edge[0], Node):
            return edge[0]
    owner = _owner(value, edge)
    if owner is not None and kind == "in":
        return owner
    t = wrap(value) if owner is None else detached(owner)  # on the memory of what the operation gave
    if edge is not None and (value.aval.dtype.is_floating_point or value.aval.dtype.is_complex):
        t._node, t._index, t._rg = edge[0], edge[1], True
    return t
