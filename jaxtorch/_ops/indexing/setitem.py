"""`x[index] = value`, `copy_` and `index_put_`: writing into tensors.

Basic indices write through views, which are made but never read; index arrays scatter; a mask and a number
choose elementwise, so that the mask need not be known on the host.
"""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Scalar, function, functions, inner_op, method
from ..._core.define.signature import need_kind
from ..._core.dispatch.number_limits import flag_overflow
from ..._core.run.runner import is_tracer
from ..._core.tensor import strides, view_strides
from ..._core.tensor.aliasing import check_apart, check_fillable, check_once, check_overlap, warn_expanded
from ..._core.tensor.indexing import Plan, plan_given
from ..._core.tensor.layouts import memory_places, offset_of, strides_of
from ..._core.tensor.storage import Alias
from ..._core.tensor.tensor import Tensor, check_writable, from_host, kept_value, need_tensor, refuse_inference
from ..._core.tensor.views import assigned, several_in_one_place
from ..._core.types import dtypes
from ..._core.types.grad_mode import state
from ..._core.types.value import python_number, wrap_number
from ..._core.types.warn_once import once
from ..common.rules import C_NAMES
from ..shapes.views import unsqueeze
from ..types.casting import _LEGACY, convert, move
from .getitem import (
    _advanced,
    _as_tensors,
    _differentiable,
    _is_tensor,
    _select_at,
    _settle,
    _shared,
    _view_of,
    chain_of,
    plan_of,
)
from .index_put_at_once import PUT_BY, _index_put, is_plain, put_at_once

_ndarray = np.ndarray


def assignable(number: Any, dtype: dtypes.dtype, to_infinity: bool = False) -> Any:
    """A Python number that `dtype` can hold; RuntimeError where it overflows (a fraction is cut off).

    to_infinity: types of half precision take numbers that are too large, as infinity.
    """
    if isinstance(number, np.generic):
        number = python_number(number)
    if isinstance(number, int) and not -(2**63) <= number < 2**64:
        raise ValueError("Overflow when unpacking long long")
    name = _OVERFLOWING.get(dtype.name) or C_NAMES.get(dtype.name, dtype.name)
    overflow = RuntimeError(f"value cannot be converted to type {name} without overflow")
    if isinstance(number, complex):
        if dtype.is_complex or dtype is dtypes.bool_:
            return number
        if number.imag:
            raise overflow
        number = number.real
    if dtype is dtypes.bool_ or dtype.is_complex:
        return number
    if dtype.is_floating_point:
        checked = dtype.itemsize > 1 and not (to_infinity and dtype.itemsize == 2)
        if checked and number - number == 0 and abs(number) > _largest(dtype):
            raise overflow
        return number
    if number != number or number in (float("inf"), float("-inf")):
        raise overflow
    whole, limits = int(number), np.iinfo(dtype.np)
    lowest = -limits.max if limits.min == 0 and not isinstance(number, float) else limits.min
    if not lowest <= number <= limits.max:
        raise overflow
    return whole


@functools.cache
def _largest(dtype: dtypes.dtype) -> float:
    return float(jnp.finfo(dtype.np).max)


_OVERFLOWING = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int64": "int64_t",
}  # fmt: skip


def _prefix_stripped(value: Tensor) -> Tensor:
    """Without its leading dimensions of size 1, which the target need not have."""
    shape = value._value.aval.shape
    extra = 0
    while extra < len(shape) and shape[extra] == 1:
        extra += 1
    return value.reshape(shape[extra:]) if extra else value


@inner_op()
def _filled(value: Scalar, size: Any, dtype: Any, device: Any):
    return jnp.broadcast_to(convert(jnp.asarray(value), dtype), size)


@inner_op(grad="CopyBackwards")
def _copied_onto(self: Array, src: Array):
    return jnp.broadcast_to(convert(src, dtypes.from_numpy(self.dtype)), self.shape)


@inner_op(grad="CopyBackwards")
def _copied_over(src: Array, size: Any, dtype: Any):
    return jnp.broadcast_to(convert(src, dtype), size)


@inner_op(grad="FillBackward3")
def _filled_onto(self: Array, value: Array):
    return jnp.broadcast_to(convert(value, dtypes.from_numpy(self.dtype)), self.shape)


def _copy_into(target: Tensor, source: Any, fill: bool | None = None) -> Tensor:
    """Make `target`, perhaps a view that has not been read, hold `source`, a number or a tensor that fits.

    fill: this is an assignment, of a number or 0-d tensor (True) or of another, which is expanded first.
    """
    alias = target._alias
    if alias is not None and not state.copying and several_in_one_place(alias.chain, target):
        state.copying = True
        try:
            return _copy_into(target, source, fill)
        finally:
            state.copying = False
    if target._rg or target._alias is not None or target._layout is not None:
        check_writable(target)
    aval = target._value.aval
    keeps_history = target._rg and state.grad and (target._alias is None or target._alias.base is None)
    if not isinstance(source, Tensor):
        if keeps_history and not aval.ndim:
            return target._rebind(_copied_onto(target, _filled(source, (), aval.dtype, aval.slot.device)))
        if keeps_history:
            return target._rebind(_filled_onto(target, _filled(source, (), aval.dtype, aval.slot.device)))
        return target._rebind(_filled(source, aval.shape, aval.dtype, aval.slot.device))
    source = move(source, aval.slot)
    if target._alias is not None and source is not target:
        shared = source._alias is not None and source._alias.storage is target._alias.storage
        if shared and not fill:
            stretched = fill is not None and source._value.aval.shape != aval.shape
            check_overlap(target, (source.expand(aval.shape) if stretched else source,))
    if keeps_history and fill and aval.ndim and not source._value.aval.ndim:
        return target._rebind(_filled_onto(target, source))
    if keeps_history:
        return target._rebind(_copied_onto(target, source))
    base = None if target._alias is None else target._alias.base
    if fill and base is None and source._rg and aval.ndim and not source._value.aval.ndim:
        return target._rebind(_filled_onto(target, source))
    if base is not None and (base._rg or source._rg) and source._value.aval is aval:
        return target._rebind(source)  # the base's new history leads straight to the source
    return target._rebind(_copied_over(source, aval.shape, aval.dtype))


@method("copy_")
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `other`, broadcast and converted, into this tensor."""
    if non_blocking is not False:
        need_kind("copy_", "non_blocking", "bool", non_blocking)
    if not isinstance(other, Tensor):
        if not isinstance(other, (int, float, complex, np.number)):
            need_tensor(other, "copy_", "other")
        if isinstance(other, complex) and not self._value.aval.dtype.is_complex:
            other = other != 0 if self._value.aval.dtype.name == "bool" else other.real
        return _copy_into(self, assignable(other, self._value.aval.dtype))
    size, given = self._value.aval.shape, other._value.aval.shape
    if size != given:
        found = strides.broadcast_shapes(size, given)
        if found != size:
            raise RuntimeError(f"output with shape {list(size)} doesn't match the broadcast shape {list(found)}")
    if other is self or _same_memory(self, other):
        refuse_inference(self)
        check_fillable(self)
        if not state.grad or not (self.requires_grad or other.requires_grad):
            self._write(kept_value(self._read()))  # counted, though nothing changes
        elif self._rg and (self._alias is None or self._alias.base is None):
            self._rebind(_copied_onto(self, other))
        else:
            self._rebind(_copied_over(other, size, self._value.aval.dtype))
        return self
    _warn_complex(other, self._value.aval.dtype)
    return _copy_into(self, other)


def _same_memory(a: Tensor, b: Tensor) -> bool:
    """Do two tensors show the same elements of one memory?"""
    if a._alias is None or b._alias is None or a._alias.storage is not b._alias.storage:
        return False
    conjugations = [sum(step[0].name == "_conj" for step in alias.chain) % 2 for alias in (a._alias, b._alias)]
    return (a._value.aval, strides_of(a), offset_of(a), conjugations[0]) == (
        b._value.aval,
        strides_of(b),
        offset_of(b),
        conjugations[1],
    )


def _warn_complex(src: Tensor, dtype: dtypes.dtype) -> None:
    if src._value.aval.dtype.is_complex and not (dtype.is_complex or dtype is dtypes.bool_):
        once("Casting complex values to real discards the imaginary part")


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: written through views for basic indices, scattered for index arrays and masks."""
    aval = self._value.aval
    if not isinstance(value, Tensor):
        if not isinstance(value, (int, float, complex, np.integer)):
            kind = type(value)
            name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
            raise TypeError(f"can't assign a {name} to a {_legacy_name(aval)}")
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, int) and value >= 2**63:
            raise ValueError("Overflow when unpacking long long")
        value = assignable(value, aval.dtype, to_infinity=True)
    kind = type(index)
    if kind is int:
        shape = aval.shape
        if shape and 0 <= index < shape[0] and _assigned_at_once(self, (("select", 0, index),), value):
            return
    elif index is False or (kind in PUT_BY and put_at_once(self, index, value)):
        return
    try:
        found = plan_of(None if index is True else index, aval.shape)
    except IndexError as error:
        parts = index if isinstance(index, tuple) else (index,)
        arrays = not getattr(error, "basic", False) and any(isinstance(i, (list, Tensor, np.ndarray)) for i in parts)
        if arrays and not str(error).startswith("too many") and (self._rg or self._alias is not None):
            check_fillable(self)  # PyTorch looks at index arrays last
        raise
    steps = found.steps
    if type(index) is slice and steps[0][2:] == (0, aval.shape[0], 1) and _is_whole(index):
        steps = ()  # as in PyTorch the whole is no view of itself
    if not (steps and not found.operands and not found.numbers and _assigned_at_once(self, steps, value)):
        _assign(self, steps, found, value)


def _assigned_at_once(self: Tensor, steps: tuple[Any, ...], value: Any) -> bool:
    """Write to what these steps find as one operation, if neither autograd nor another tensor has a part in it. Was that so?"""
    alias = self._alias
    if not is_plain(self, alias):
        return False
    whole = self._read()
    if isinstance(value, Tensor):
        if value._rg or value is self or value._value.aval.slot is not whole.aval.slot:
            return False
        part = value._read()
        shape = part.aval.shape
        if (
            (shape and shape != _size_along(whole.aval.shape, steps))
            or part.aval.dtype.is_complex
            or is_tracer(part.array)
        ):
            return False
    else:
        part = wrap_number(value)
    if is_tracer(whole.array):
        return False
    chain = chain_of(whole.aval, steps)
    given = value._alias if isinstance(value, Tensor) else None
    if alias is not None and type(given) is Alias and given.storage is alias.storage and given.chain == chain:
        self._write(
            kept_value(whole)
        )  # as in `x[i] += y`, which has written there before: counted, though nothing changes
    else:
        self._write(assigned(whole, part, chain, convert))
    return True


def _size_along(size: tuple[int, ...], steps: tuple[Any, ...]) -> tuple[int, ...]:
    """The size of the view that these steps lead to."""
    for step in steps:
        kind, d = step[0], step[1]
        size = (
            size[:d] + size[d + 1 :]
            if kind == "select"
            else (*size[:d], len(range(*step[2:])), *size[d + 1 :])
            if kind == "slice"
            else (*size[:d], 1, *size[d:])
        )
    return size


def _assign(self: Tensor, steps: tuple[Any, ...], found: Plan, value: Any) -> None:
    """Write to what these steps and the plan's index arrays find."""
    if found.numbers:
        for k, step in enumerate(steps):
            if step[0] == "select_at":
                _assign_at(self, steps, k, found, value)
                return
    target = _view_of(self, steps)[0] if steps else self
    if found.operands:
        _scatter_into(target, found, value)
        return
    fill = True
    if isinstance(value, Tensor):
        size = target._value.aval.shape
        fill = not value._value.aval.ndim
        if value._value.aval.shape != size:
            value = _prefix_stripped(value)
            view_strides.expand_size(value._value.aval.shape, size)
        _warn_complex(value, self._value.aval.dtype)
    _copy_into(target, value, fill)


def _assign_at(self: Tensor, steps: tuple[Any, ...], k: int, found: Plan, value: Any) -> None:
    """The same where step k selects a place that JAX traces: a copy of what it selects is written to, and put back."""
    _, dim, number = steps[k]
    target = _differentiable(self, steps[:k])
    place = found.numbers[number]
    part = _select_at(target, place, dim)
    _assign(part, steps[k + 1 :], found, value)
    place = functions["where"](place < 0, place + target._value.aval.shape[dim], place).long()
    target.index_copy_(dim, place.reshape(1), unsqueeze(part, dim))


def _is_whole(index: slice) -> bool:
    """Does a slice that covers a dimension say so without counting from its end?"""
    return (index.start is None or index.start == 0) and (index.stop is None or index.stop >= 0)


def _legacy_name(aval: Any) -> str:
    return f"torch.{_LEGACY[aval.dtype]}"


def _scatter_into(target: Tensor, found: Plan, value: Any) -> None:
    operands = found.operands
    aval = target._value.aval
    if isinstance(value, Tensor):
        value = move(value, aval.slot)
    is_number = not isinstance(value, Tensor) or value._value.aval.numel == 1
    mask = _lone_mask(found) if is_number else None
    if mask is not None:
        if mask._value.aval.dtype is dtypes.uint8:
            raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
        mask = move(mask, aval.slot)
        if target._rg or target._alias is not None:
            check_fillable(target)
        _put_result(target, _masked_fill(_read(target), _scalar_tensor(value, aval), mask))
        return
    if target._rg or target._alias is not None:
        check_fillable(target)
    value = _prefix_stripped(value) if isinstance(value, Tensor) else _scalar_tensor(value, aval)
    settled = _settle(operands, found.size, lambda settled: _fitting(target, settled, value))
    _check_indices(target, found)
    _put(target, settled, value, False)


def _lone_mask(found: Plan) -> Tensor | None:
    """The mask, if it is the only index array; with a dimension of size 1 for each one before it."""
    given = [o for o in found.operands if o is not None]
    mask = found.mask if found.mask is None else from_host(np.array(found.mask))
    if len(given) == 1 and isinstance(given[0], Tensor) and given[0]._value.aval.dtype in (dtypes.bool_, dtypes.uint8):
        mask = given[0]
    if mask is None:
        return None
    before = next(d for d, o in enumerate(found.operands) if o is not None)
    return mask.reshape((*(1,) * before, *mask._value.aval.shape)) if before else mask


def _scalar_tensor(value: Any, aval: Any) -> Tensor:
    return value if isinstance(value, Tensor) else _filled(value, (), aval.dtype, aval.slot.device)


def _read(target: Tensor) -> Tensor:
    """A view made for writing, with its content (and history) read."""
    value = target._value
    if value.array is None and value.program is None and value.pack is None and not _shared(target):
        alias = target._alias
        assert alias is not None
        alias.seen = -2
        alias.read(target)
    return target


def _put_result(target: Tensor, result: Tensor) -> None:
    target._rebind(result)


@inner_op(grad="IndexPutBackward0")
def _masked_fill(self: Array, value: Array, mask: Array):
    mask = (mask != 0).reshape(mask.shape + (1,) * (self.ndim - mask.ndim))
    return jnp.where(mask, flag_overflow(value.reshape(()), self.dtype), self)


def _result_shape(operands: Any, size: Any) -> tuple[int, ...]:
    """The shape that indexing with these arrays gives."""
    shapes = [tuple(o.shape) for o in operands if o is not None]
    spread = strides.broadcast_shapes(*shapes)
    dims = [d for d, o in enumerate(operands) if o is not None]
    at = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    rest = [n for d, n in enumerate(size) if d not in dims]
    return (*rest[:at], *spread, *rest[at:])


def _fitting(target: Tensor, settled: Any, value: Tensor) -> tuple[int, ...]:
    """The shape of what index arrays name in the target; RuntimeError where the value is of another shape or type."""
    aval = target._value.aval
    shape = _result_shape(settled, aval.shape)
    given = value._value.aval.shape
    try:
        fits = given == () or strides.broadcast_shapes(given, shape) == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing result "
            f"of shape "
            f"{list(shape)}"
        )
    if value._value.aval.dtype is not aval.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{dtypes.scalar_name(aval.dtype)} for the destination and "
            f"{dtypes.scalar_name(value._value.aval.dtype)} for "
            "the source."
        )
    return shape


def _check_indices(target: Tensor, found: Plan) -> None:
    """Raise PyTorch's error where an index array lies in the memory that is written; masks do not matter."""
    masks = dtypes.bool_, dtypes.uint8
    check_apart(target, [o for o in found.operands if isinstance(o, Tensor) and o._value.aval.dtype not in masks])


def _put(target: Tensor, settled: Any, value: Tensor, accumulate: bool) -> None:
    aval = target._value.aval
    shape = _fitting(target, settled, value)
    check_apart(target, (value,))
    arrays = [o for o in settled if o is not None]
    pattern = tuple([o is not None for o in settled])
    checked = all(isinstance(o, _ndarray) for o in arrays)
    if target._rg or target._alias is not None:
        check_fillable(target)
    expanded = warn_expanded(target, "index_put_")
    if not expanded:
        check_once(target)
    elif checked and not accumulate:
        target._rebind(_put_together(_read(target), settled, value, shape))
        return
    result = _index_put(_read(target), value, _as_tensors(arrays, aval.slot), pattern, accumulate, checked)
    _put_result(target, result)


def _put_together(target: Tensor, settled: Any, value: Tensor, shape: Any) -> Tensor:
    """What an expanded tensor holds once each of its places in memory has the last value that is written there."""
    size, slot = target._value.aval.shape, target._value.aval.slot
    places = memory_places(size, strides_of(target), 0).reshape(-1)
    numbers = np.arange(len(places)).reshape(size)
    written = numbers[tuple([slice(None) if o is None else o for o in settled])].reshape(-1)
    last = np.full(places.max() + 1, -1)
    last[places[written]] = np.arange(len(written))
    (at,) = np.nonzero(last[places] >= 0)
    chosen, at = _as_tensors([last[places[at]], at], slot)
    given = value.expand(shape).reshape(-1)[chosen]
    return _index_put(target.reshape(-1), given, [at], (True,), False, True).reshape(size)


def given_indices(self: Tensor, indices: Any, name: str) -> Plan:
    """What the index arrays mean that `index_put_(indices, ...)` and its like are given, None for a whole dimension."""
    for i in indices:
        if i is not None and not isinstance(i, Tensor):
            raise RuntimeError(f"{name}() Expected a value of type 'List[Optional[Tensor]]' for argument 'indices'")
    size = self._value.aval.shape
    if len(indices) > len(size):
        raise IndexError(f"too many indices for tensor of dimension {len(size)} (got {len(indices)})")
    return plan_given(indices, size, _is_tensor)


def _need_indices(indices: Any, name: str) -> None:
    """TypeError for what is no sequence of tensors, RuntimeError for an empty one."""
    if isinstance(indices, Tensor) or not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}"
        )
    if not indices:
        raise RuntimeError(f"{name}(): there must be at least one index")
    for k, i in enumerate(indices):
        if not isinstance(i, Tensor):
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type(i).__name__}")


@method("index_put_")
def index_put_(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """Write `values` at the places a tuple of index arrays names; `accumulate` adds, repeated or not."""
    need_kind("index_put_", "accumulate", "bool", accumulate)
    if input._rg or input._alias is not None:
        check_fillable(input)
    need_tensor(values, "index_put_", "values", 3)
    _need_indices(indices, "index_put_")
    return put_given(input, indices, values, accumulate)


def put_given(self: Tensor, indices: Any, values: Tensor, accumulate: bool) -> Tensor:
    """`index_put_`, which takes None for a whole dimension too."""
    found = given_indices(self, indices, "index_put_")
    _check_indices(self, found)
    values = move(values, self._value.aval.slot)
    if not accumulate and values._value.aval.numel == 1:
        if _lone_mask(found) is not None:
            _scatter_into(self, found, values)  # as a number: of any type
            return self
        if not found.operands:
            _put_everywhere(self, indices, values)
            return self
    if not found.operands:
        raise RuntimeError("index_put_(): no index array among the indices")
    _put(self, _settle(found.operands, found.size, lambda at: _fitting(self, at, values)), values, accumulate)
    return self


def taken(self: Tensor, indices: Any) -> Tensor:
    """The elements at index arrays, of any shape; None stands for a whole dimension."""
    found = given_indices(self, indices, "index")
    if not found.operands:
        raise RuntimeError("index(): no index array among the indices")
    return _advanced(self, found)


def _put_everywhere(self: Tensor, indices: Any, value: Tensor) -> None:
    """Write one number where the only index, a mask without dimensions, says so: everywhere, or nowhere."""
    masks = [i for i in indices if i is not None]
    if len(masks) != 1 or masks[0]._value.aval.dtype is not dtypes.bool_:
        raise RuntimeError("index_put_(): masked_fill_ only supports boolean masks")
    check_fillable(self)
    _put_result(self, _masked_fill(_read(self), value, move(masks[0], self._value.aval.slot).expand(self.shape)))


function("index_put_")(index_put_)


@function("index_put", method=True)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` at the places that a tuple of index arrays names."""
    if type(input) is not Tensor:
        need_tensor(input, "index_put", "input")
    return index_put_(input.clone(), indices, values, accumulate)


method("__setitem__")(setitem)
