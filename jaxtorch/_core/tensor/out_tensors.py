"""`out=` tensors: how results are stored in them, and operations that read their inputs while they write, where PyTorch refuses
shared memory."""

from __future__ import annotations

from typing import Any

from ..define.op import functions
from ..run.runner import is_tracer
from ..types.reference_counts import counted
from ..types.value import Value
from ..types.warn_once import warn
from . import strides
from . import tensor as _tensor
from .aliasing import READ_WHILE_WRITTEN, check_apart, check_overlap
from .layouts import offset_of, strides_of
from .storage import HELD
from .tensor import Tensor, check_writable

SEPARATE = frozenset(("kthvalue", "index_select", "gather", "take", "cross", "linalg_cross"))
"""Operations whose `out=` tensor may share no memory with an input."""
PARTLY = frozenset(
    """cumsum cumprod logcumsumexp renorm addmv addr addmm addbmm baddbmm index_add index_copy index_reduce diff
    linalg_solve_triangular scatter_add scatter_reduce frexp mode topk sort msort aminmax
    _median_along _nanmedian_along _max_dim _min_dim""".split()
)
"""Operations, not elementwise, whose `out=` tensors may share no part of an operand's memory, but may be the operand."""
ACCUMULATING = frozenset(("sum", "nansum", "prod", "mean", "cumsum", "cumprod"))
"""Operations that compute in the type of their `out=` tensor."""
NAMED = {
    "lerp": "'lerp' if isinstance(weight, _T) and weight.ndim else 'lerp|number'",
    "clamp": "'clamp' if isinstance(min, _T) or isinstance(max, _T) else 'clamp|numbers'",
    "clamp_min": "'clamp_min' if isinstance(min, _T) else 'clamp|numbers'",
    "clamp_max": "'clamp_max' if isinstance(max, _T) else 'clamp|numbers'",
    "_pow": "'pow'",
    "diff": "'diff' if n else 'diff|copy'",
    "abs": "'abs|complex' if getattr(input, 'is_complex', bool)() else 'abs'",
} | {name: repr(name + "|dtype") for name in ACCUMULATING}
"""Operations whose arguments decide which types their `out=` may have: the name to look that up by (`strict_out`)."""


def refuse_parts(out: Any, inputs: Any, name: str = "") -> None:
    """Raise PyTorch's error where an `out=` tensor shares a part of an input's memory; name: the operation's, where that is
    one that may share none at all with inputs behind the first."""
    for target in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(target, Tensor):
            continue  # which is refused where it would be written
        if target._alias is not None:
            check_overlap(target, inputs)
        if name in READ_WHILE_WRITTEN:
            check_apart(target, inputs[1:])


def refuse_shared(out: Any, inputs: Any) -> None:
    """Raise PyTorch's error where an `out=` tensor shares memory with an input, of operations that read while they write."""
    for target in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(target, Tensor):
            continue
        if target._layout is not None and not strides.is_dense(target._value.aval.shape, strides_of(target)):
            shape, stride = target._value.aval.shape, strides_of(target)
            if any(n > 1 and s == 0 for n, s in zip(shape, stride, strict=True)):
                raise RuntimeError(
                    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                    "Please clone() the tensor before performing the operation."
                )
        for x in inputs:
            if isinstance(x, Tensor) and x._value.aval.numel and target._value.aval.numel and same_memory(target, x):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                    "memory location. Please clone() the tensor before performing the operation."
                )


def same_memory(a: Tensor, b: Tensor) -> bool:
    """May two tensors have an element in common? Tensors whose elements alternate in memory count as such."""
    if a is b:
        return True
    if a._alias is None or b._alias is None or a._alias.storage is not b._alias.storage:
        return False

    def extent(t: Tensor) -> tuple[int, int]:
        last = sum((n - 1) * s for n, s in zip(t._value.aval.shape, strides_of(t), strict=True))
        return offset_of(t), offset_of(t) + last

    (a0, a1), (b0, b1) = extent(a), extent(b)
    return a0 <= b1 and b0 <= a1


def store_out(out: Tensor, result: Tensor) -> None:
    """Write an `out=` result: resized to the result's shape, converted to the tensor's own type."""
    value = result._value
    if value.aval.dtype is not out._value.aval.dtype:
        value = functions["_cast"](result, out._value.aval.dtype)._value
    if value.aval.shape != out._value.aval.shape:
        kept = result._alias is None and result._layout is not None and not result._layout[1]
        resize(out, value, result._layout if kept else None)  # PyTorch resizes it to the strides of the result
        return
    check_writable(out)
    out._write(value)


in_memory: Any = None
"""`resize_` for a tensor whose memory others see: (tensor, shape, strides or None). Set by `_tensor/storage.py`."""


def resize(out: Tensor, value: Value, layout: Any = None) -> None:
    """Give an `out=` tensor a new shape and content, warning as PyTorch does where it had any."""
    if out._value.aval.numel:
        warn(
            f"An output with one or more elements was resized since it had shape {list(out._value.aval.shape)}, which "
            f"does not match the required output shape {list(value.aval.shape)}. This behavior is deprecated, and in a "
            "future PyTorch release outputs will not be resized unless they have zero elements: call out.resize_(0) first."
        )
    alias, aval = out._alias, value.aval
    shared = alias is not None and (next(counted((alias.storage,))) > HELD or alias.storage.host is not None)
    if shared and not (aval.slot.is_meta or is_tracer(value.array)):
        in_memory(out, aval.shape, None if layout is None else layout[0])
        out._write(value)
        return
    out._alias = None
    out._layout = layout
    out._value = value


_tensor.store_out = store_out
