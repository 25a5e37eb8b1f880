"""What PyTorch forbids where tensors share memory: writes to views and to overlapping places, and views that have lost their
place in the graph."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..graph.nodes import entered_kinds, node_name, shown
from ..tuning import CACHED
from ..types.grad_mode import state
from ..types.warn_once import warn
from . import strides
from . import tensor as _tensor
from .layouts import memory_places, offset_of, strides_of
from .storage import Alias
from .tensor import Tensor

REPEATED = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)


def check_place(t: Any) -> None:
    """Raise PyTorch's error for a view that has lost its place in the graph: no gradient can be recorded for it."""
    alias = getattr(t, "_alias", None)
    if alias is None or not (alias.multi or alias.no_grad) or alias.base is None:
        return
    alias.read(t)
    if t._rg and alias.placed != alias.counted() and (alias.base._rg or shown(t._node) is not None):
        raise RuntimeError(forbidden(t, alias, True))


@functools.lru_cache(CACHED)
def repeats(size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Do several elements lie in one place, in a way that PyTorch does not look for (`unfold`)?"""
    places = memory_places(size, stride, 0)
    return len(np.unique(places)) < places.size


def check_single(t: Tensor) -> None:
    """Raise PyTorch's error for a tensor with several elements in one place."""
    if strides.may_overlap(t._value.aval.shape, t._layout[0]):
        raise RuntimeError(REPEATED)


def check_fillable(t: Tensor) -> None:
    """Raise PyTorch's errors for tensors that may not be filled; elements in one place do not matter."""
    if t._alias is not None:
        check_history(t, t._alias)
    if t._rg and t._node is None and state.grad:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def warn_expanded(t: Tensor, name: str) -> bool:
    """Warn, as PyTorch does, of an operation in place on an expanded tensor; is it one?"""
    expanded = t._layout is not None and strides.may_overlap(t._value.aval.shape, t._layout[0])
    if expanded:
        warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing "
            "this operation."
        )
    return expanded


READ_WHILE_WRITTEN = frozenset(
    """index_add index_copy index_reduce _index_fill_number _index_fill_tensor put _scatter_src _scatter_value _scatter_src_reduce
    _scatter_value_reduce scatter_add scatter_reduce""".split()
)
"""Operations in place that may share no memory at all with their other operands."""


def overlap_test(name: str, target: str, others: str) -> str:
    """The Python text of the test for shared memory, in an operation's form in place."""
    if name in READ_WHILE_WRITTEN:
        return f"_WHOLLY({target}, ({others},))"
    return f"if {target}._alias is not None: _OVERLAP({target}, ({others},))"


def check_once(t: Tensor) -> None:
    """Refuse an operation in place that would change an element once for each time it is viewed, in no certain order."""
    layout = t._layout
    if layout is not None and not _is_single(t._value.aval.shape, layout[0]):
        check_single(t)
        raise NotImplementedError(
            "jaxtorch: an operation in place on a view with several elements in one place (unfold) would depend on "
            "the order in which they are written; clone() the view"
        )


@functools.lru_cache(CACHED)
def _is_single(size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Is each element in a place of its own?"""
    return not strides.may_overlap(size, stride) and (strides.is_dense(size, stride) or not repeats(size, stride))


OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


def check_overlap(t: Tensor, others: Any) -> None:
    """Raise PyTorch's error where an operand lies partly in the memory that is written."""
    for x in others:
        if getattr(x, "_alias", None) is not None and _meet(t, x, False):
            raise RuntimeError(OVERLAP)


def check_apart(t: Tensor, others: Any) -> None:
    """Raise PyTorch's error where an operand lies partly or wholly in the memory that is written."""
    if any(x is t or _meet(t, x, True) for x in others):
        raise RuntimeError(OVERLAP)


def _meet(t: Tensor, x: Any, wholly: bool) -> bool:
    """Do tensors share memory, as far as PyTorch looks? wholly: also where both are the same elements."""
    alias = t._alias
    if (
        not isinstance(x, Tensor)
        or x is t
        or alias is None
        or x._alias is None
        or x._alias.storage is not alias.storage
    ):
        return False
    mine = t._value.aval.shape, strides_of(t), offset_of(t), t._value.aval.dtype.itemsize
    other = x._value.aval.shape, strides_of(x), offset_of(x), x._value.aval.dtype.itemsize
    return _partly(mine, other, wholly)


@functools.lru_cache(CACHED)
def _partly(a: Any, b: Any, wholly: bool) -> bool:
    """PyTorch's test for (size, stride, offset, bytes of an element); it leaves out what is not dense."""
    if 0 in a[0] or 0 in b[0] or not strides.is_dense(*a[:2]) or not strides.is_dense(*b[:2]):
        return False
    begin, end = a[2] * a[3], (a[2] + math.prod(a[0])) * a[3]
    other, until = b[2] * b[3], (b[2] + math.prod(b[0])) * b[3]
    if (begin, end) == (other, until):
        return wholly or a[1] != b[1]
    return begin < until and other < end


def check_history(t: Tensor, alias: Alias) -> None:
    """Raise PyTorch's errors for views whose place in the graph does not allow in-place operations."""
    base = alias.base
    if not state.grad or base is None:
        return
    if not (t._rg or base._rg or alias.own or alias.no_grad):
        if alias.placed != -1:
            alias.read(t)
        return
    unplaced = alias.placed not in (-1, alias.counted()) and shown(t._node) is None  # -1: a view made for this write
    dtype = t._value.aval.dtype
    inherits = unplaced and base._rg and (dtype.is_floating_point or dtype.is_complex)
    if alias.placed != -1 and not inherits:
        alias.read(t)
    requires = t._rg or inherits
    if alias.no_grad == "inference" or (requires and (alias.multi or alias.no_grad)):
        raise RuntimeError(forbidden(t, alias, False))
    if requires and (base._node is None or type(base._node) in entered_kinds):
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if requires and unplaced:  # PyTorch looks before it finds the view its new place, and does not find it one here
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


_UNCLEAR = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and "
    "the inplace either both inside the %s block (if you don't want the inplace to be tracked) or both outside (if you want the "
    "inplace to be tracked)."
)
_CUSTOM = (
    "inside a custom Function (or because an input was returned as-is), whose backward the write would leave out. "
    "You can fix this by cloning the output of the custom Function."
)


def forbidden(t: Tensor, alias: Alias, indirect: bool) -> str:
    """PyTorch's message for a view that must not be written (indirect: used, once its memory has been written)."""
    if alias.no_grad == "inference":
        return f"A view was created in inference mode and is being modified inplace in normal mode. {_UNCLEAR % 'inference_mode'}"
    node = shown(t._node)
    maker = (alias.multi or "") if node is None else getattr(node, "name", lambda: node_name(type(node)))()
    changed = (
        "its base or another view of its base has been modified inplace" if indirect else "is being modified inplace"
    )
    if alias.multi:
        return (
            f"Output {t._index} of {maker.split('Backward')[0]} is a view and {changed}. This view is the output "
            "of a function that returns multiple views. Such functions do not allow the output views to be modified inplace. "
            "You should replace the inplace operation by an out-of-place one."
        )
    if alias.no_grad == "custom":
        return (
            f"Output {t._index} of {maker.split('Backward')[0]} is a view and {changed}. This view was created "
            f"{_CUSTOM}"
        )
    if alias.no_grad == "no_grad custom":
        return (
            f"A view was created in no_grad mode and {changed} with grad mode enabled. This view was created {_CUSTOM}"
        )
    return (
        f"A view was created in {alias.no_grad} mode and {changed} with grad mode enabled. {_UNCLEAR % alias.no_grad}"
    )


_tensor.check_history, _tensor.check_place, _tensor.check_single = check_history, check_place, check_single
