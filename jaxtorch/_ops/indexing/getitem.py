"""`x[index]` and `x[index] = value`: basic indices are views, index arrays gather and scatter.

What an index means is worked out by `_core/tensor/indexing.py`. A view that needs no gradient is read as one
instruction however many steps it has; where the content lies in host memory it is not recorded at all, but taken by
NumPy at once, so that a `Dataset` which indexes sample by sample pays no more than a few microseconds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Arrays, method, op
from ..._core.record.program import emit
from ..._core.record.value_checks import Within, first, flag
from ..._core.run import capture
from ..._core.run.runner import ArrayImpl
from ..._core.tensor import indexing, strides, view_strides
from ..._core.tensor.aliasing import check_place
from ..._core.tensor.indexing import Plan, are_within, check_operands, plan
from ..._core.tensor.layouts import normal, strides_of
from ..._core.tensor.storage import alias_of
from ..._core.tensor.tensor import Tensor, from_host, wrap
from ..._core.tensor.views import _chain_key, _read_entry, drop_gradients, view_alias
from ..._core.transforms import forward_mode
from ..._core.tuning import CACHED
from ..._core.types import dtypes
from ..._core.types.device import cpu
from ..._core.types.grad_mode import state, watch
from ..._core.types.value import INT, Aval, Value, aval_of, marked_as
from ..common.host_contents import content_of, host_content
from ..shapes.views import _alias, _slice, select, unsqueeze
from ..types.casting import move

_SELECT, _SLICE, _UNSQUEEZE = select.op, _slice.op, unsqueeze.op
_ndarray = np.ndarray


# -- basic indices: views


def _is_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor)


def _number_of(t: Tensor) -> int | None:
    """The value of a 0-d index tensor; None inside a JAX transformation, where it is not known."""
    array = t._array()
    return int(array) if type(array) in (_ndarray, ArrayImpl) else None


def _steps_of(steps: Any) -> list[Any]:
    """The steps of a basic index as a chain of views."""
    chain = []
    for step in steps:
        kind, d = step[0], step[1]
        if kind == "select":
            chain.append((_SELECT, (d,), (step[2],)))
        elif kind == "slice":
            _, d, start, stop, jump = step
            chain.append((_SLICE, (d, len(range(start, stop, jump)), jump), (start,)))
        else:
            chain.append((_UNSQUEEZE, (d,), ()))
    return chain


class _Recipe(NamedTuple):
    """What steps make of any tensor of one type and layout: the view's type and layout; the chain, whole and without its numbers.

    kernel: reads the view (None on `meta`); places: the same for NumPy, an index for each step. `native/views.inc` knows their order.
    """

    aval: Aval
    layout: Any
    chain: tuple[Any, ...]
    static: tuple[Any, ...]
    numbers: tuple[int, ...]
    kernel: Any
    places: tuple[Any, ...]


_recipes: dict[Any, _Recipe] = indexing.recipes


def _recipe(aval: Aval, layout: Any, steps: Any) -> _Recipe:
    size = aval.shape
    stride, offset = (strides.contiguous(size), 0) if layout is None else layout
    for step in steps:
        kind, d = step[0], step[1]
        if kind == "select":
            offset += step[2] * stride[d]
            size, stride = size[:d] + size[d + 1 :], stride[:d] + stride[d + 1 :]
        elif kind == "slice":
            _, d, start, stop, jump = step
            length = len(range(start, stop, jump))
            offset += start * stride[d]
            size = (*size[:d], length, *size[d + 1 :])
            stride = (*stride[:d], stride[d] * jump, *stride[d + 1 :])
        else:
            size, stride, _ = view_strides.unsqueeze(size, stride, 0, d)
    chain = tuple(_steps_of(steps))
    static, numbers = _chain_key(chain)
    found = _Recipe(
        aval_of(size, aval.dtype, aval.slot),
        (stride, offset) if offset else normal(size, stride, 0),
        chain,
        static,
        tuple([n for _, _, given in chain for n in given]),
        None if aval.slot.is_meta else _read_entry(aval, static, numbers).kernel,
        tuple(map(_place_of, steps)),
    )
    if len(_recipes) >= CACHED:
        _recipes.clear()
    _recipes[aval, layout, steps] = found
    return found


def chain_of(aval: Aval, steps: Any) -> tuple[Any, ...]:
    """The steps of a basic index as a chain of views, for a contiguous tensor of this type."""
    return (_recipes.get((aval, None, steps)) or _recipe(aval, None, steps)).chain


def _view_of(base: Tensor, steps: Any) -> tuple[Tensor, _Recipe]:
    """A view of `base` that has not been read: its alias and layout are made, its content is not. And how it is to be read."""
    aval, layout = base._value.aval, base._layout
    recipe = _recipes.get((aval, layout, steps)) or _recipe(aval, layout, steps)
    alias = alias_of(base)
    out = wrap(Value(recipe.aval))
    out._layout = recipe.layout
    out._alias = view_alias(base, alias, (*alias.chain, *recipe.chain) if alias.chain else recipe.chain)
    if alias.base is not None:
        alias.read(base)
    first = out._alias.base
    if base._rg and (state.grad or (first is not None and first._rg)):
        drop_gradients(out)
    return out, recipe


def _basic(self: Tensor, steps: Any) -> Tensor:
    """The view that some steps make, read."""
    if indexing.viewed_in_c is not None:
        made = indexing.viewed_in_c(self, steps)
        if made is not None:
            return made
    alias = self._alias
    if alias is not None and alias.base is not None:
        alias.read(self)
    if self._rg and state.grad:
        return _differentiable(self, steps)
    out, recipe = _view_of(self, steps)
    made = out._alias
    assert made is not None
    made.placed = made.counted()
    if made.storage.host is not None:
        made.seen = -1  # read when it is used
        return out
    value = self._value if alias is None else alias.read(self)
    array = None if watch and forward_mode.is_dual(value) else value.array
    if array is not None and capture.active is None:
        if type(array) is ArrayImpl and recipe.aval.slot is cpu.slot:
            value.owned = False
            array = np.asarray(array)
        if type(array) is _ndarray:
            for place in recipe.places:
                array = array[place]
            out._value.array = array
            marked_as(value, out._value)
        else:
            array = None
    else:
        array = None
    if array is None:
        kernel = recipe.kernel
        if kernel is None:
            chain, numbers = _chain_key(recipe.chain)
            kernel = _read_entry(value.aval, chain, numbers).kernel
        out._value = emit(kernel, [value, *[Value(INT, n) for n in recipe.numbers]])[0]
    made.seen = made.version.n
    out._value.guard = made.guard(recipe.layout)
    return out


def _place_of(step: Any) -> tuple[Any, ...]:
    """A step as an index for NumPy."""
    kind, d = step[0], step[1]
    return (*(slice(None),) * d, step[2] if kind == "select" else slice(*step[2:]) if kind == "slice" else None, ...)


_FIRST = (("select", 0, 0),)


def rows_on_host(self: Tensor) -> tuple[Tensor, ...] | None:
    """`unbind` of a tensor whose content is on the host, where no gradient flows: views, and nothing is recorded. None elsewhere."""
    value = self._value
    if indexing.rows_in_c is None or value.array is None or type(self) is not Tensor or not value.aval.numel:
        return None
    aval, layout = value.aval, self._layout
    stride, offset = (strides.contiguous(aval.shape), 0) if layout is None else layout
    first = _recipes.get((aval, layout, _FIRST)) or _recipe(aval, layout, _FIRST)
    return indexing.rows_in_c(self, aval.shape[0], "UnbindBackward0", first, stride[1:], offset, stride[0])


def _differentiable(self: Tensor, steps: Any) -> Tensor:
    for step in steps:
        if step[0] == "select":
            self = select(self, step[1], step[2])
        elif step[0] == "slice":
            _, d, start, stop, jump = step
            self = _slice(self, d, len(range(start, stop, jump)), jump, start)
        else:
            self = unsqueeze(self, step[1])
    return self


@op(name="_select_at", function=False, method=False, grad="SelectBackward0")
def _select_at(input: Array, index: Array, dim: int):
    n = input.shape[dim]
    _flag_range([index], [n])
    return jax.lax.dynamic_index_in_dim(input, jnp.where(index < 0, index + n, index), dim, keepdims=False)


def _traced(self: Tensor, found: Plan) -> Tensor:
    """Steps with an index whose value is not known, inside a JAX transformation: a copy, not a view."""
    for step in found.steps:
        if step[0] == "select_at":
            self = _select_at(self, found.numbers[step[2]], step[1])
        else:
            self = _differentiable(self, [step])
    return self


def plan_of(index: Any, size: Any) -> Plan:
    """`plan`, which has nothing to find out of one index tensor, or of a mask that fits."""
    if type(index) is Tensor:
        aval = index._value.aval
        if aval.shape and size:
            dtype = aval.dtype
            if dtype is dtypes.int64 or (dtype is dtypes.bool_ and aval.shape == size[: len(aval.shape)]):
                return Plan((), (index,), 0, size)
    return plan(index, size, _is_tensor, _number_of)


def _picked(self: Tensor, index: Tensor) -> Tensor | None:
    """The rows that one index tensor or mask names, where all is on the host; None where it is not, or not as it should be."""
    if self._layout is not None or (self._rg and state.grad) or _is_permuted(index):
        return None
    places = host_content(index)
    aval = index._value.aval
    if (
        places is None
        and aval.dtype is dtypes.bool_
        and not watch
        and aval.shape == self._value.aval.shape[: aval.ndim]
    ):
        content_of(index)  # its number of places is needed whatever it is for
        places = host_content(index)
    content = None if places is None else host_content(self)
    if places is None or content is None or not content.ndim or content.shape[0] == 0:
        return None
    kind = places.dtype.kind
    is_long = kind == "i" and places.dtype.itemsize >= 4
    if not places.ndim or not (is_long or (kind == "b" and places.shape == content.shape[: places.ndim])):
        return None
    try:
        return from_host(content[places])
    except IndexError:  # the plan says which
        return None


class Places(NamedTuple):
    """Index tensors and whole numbers that name elements together, where all are on the host: each as an array, and as a value where
    a program may have it (None where its memory is shared with NumPy); a mask is the places where it is true."""

    arrays: list[np.ndarray]
    values: list[Any]

    def are_within(self, size: Any) -> bool:
        """Is each a place in its dimension? Those that were found so are not looked at again."""
        for array, value, n in zip(self.arrays, self.values, size, strict=False):
            if getattr(value, "fine", None) != n:
                if not are_within(array, n):
                    return False
                if value is not None:
                    value.fine = n
        return True


def places_of(size: Any, slot: Any, indices: tuple[Any, ...]) -> Places | None:
    """What these indices of a tensor of this size, on this device, name from its first dimension on; None where they are not all on
    the host, or none of the common case."""
    arrays: list[Any] = []
    values: list[Any] = []
    for i in indices:
        if type(i) is int:
            array = np.array(i)
            arrays.append(array)
            values.append(Value(aval_of((), dtypes.int64, slot), array))
            continue
        array = host_content(i) if type(i) is Tensor else None
        if array is None or not array.ndim:
            return None
        if array.dtype == np.int64:
            arrays.append(array)
            values.append(None if _shared(i) else i._read())
        elif len(indices) == 1 and array.dtype == np.bool_ and array.shape == size[: array.ndim]:
            for at in array.nonzero():
                value = Value(aval_of(at.shape, dtypes.int64, slot), at)
                value.fine = size[len(arrays)]
                arrays.append(at)
                values.append(value)
        else:
            return None
    return None if len(arrays) > len(size) or 0 in size else Places(arrays, values)


_picks: dict[Any, Any] = {}  # by types: the kernel that gathers, None where the usual way has to look at it


def _picked_together(self: Tensor, indices: tuple[Any, ...]) -> Tensor | None:
    """The elements that index tensors, and whole numbers, or a mask, name together; None as for `_picked`."""
    if watch or (self._layout is not None and len(indices) != self._value.aval.ndim) or (self._rg and state.grad):
        return None
    found = places_of(self._value.aval.shape, self._value.aval.slot, indices)
    if found is None or any(map(_is_permuted, indices)):
        return None
    content = host_content(self)
    if content is not None:
        try:
            return from_host(content[tuple(found.arrays)])
        except IndexError:  # the plan says which
            return None
    whole = self._read()
    if None in found.values or (whole.array is not None and type(whole.array) is not ArrayImpl):
        return None
    key = (whole.aval, tuple([v.aval for v in found.values]))
    kernel = _picks.get(key, False)
    if kernel is False:
        if len(_picks) >= CACHED:
            _picks.clear()
        kernel = _picks[key] = _picking(*key)
    if kernel is None or not found.are_within(whole.aval.shape):
        return None
    return wrap(emit(kernel, [whole, *found.values])[0])


def _picking(whole: Aval, kinds: tuple[Aval, ...]) -> Any:
    """The kernel of `_picked_together` for these types; None where there is something to refuse."""
    if whole.slot.is_meta or any(a.slot is not whole.slot for a in kinds):
        return None
    try:
        strides.broadcast_shapes(*[a.shape for a in kinds])
    except RuntimeError:
        return None
    return _index.op.build((whole, kinds, (True,) * len(kinds), True)).kernel


def getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: integers, slices, None and `...` give views; index arrays and masks give copies."""
    kind = type(index)
    if kind is int:
        shape = self._value.aval.shape
        if shape and 0 <= index < shape[0]:
            return _basic(self, (("select", 0, index),))
    elif kind is Tensor or (kind is tuple and index and type(index[0]) is Tensor):
        found = _picked(self, index) if kind is Tensor else None
        if found is None:
            found = _picked_together(self, index if kind is tuple else (index,))
        if found is not None:
            return found
    try:
        found = plan_of(index, self._value.aval.shape)
    except IndexError as error:
        if getattr(error, "viewed", False):
            check_place(self)
        raise
    if found.numbers:
        self = _traced(self, found)
    elif found.steps:
        self = _basic(self, found.steps)
    elif not found.operands:
        return _alias(self)
    return _advanced(self, found) if found.operands else self


# -- index arrays


def _settle(operands: Any, size: Any, fits: Any = None) -> list[Any]:
    """Index arrays with masks turned into integers; on the host, and checked (see `check_operands`), where they are there."""
    settled: list[Any] = []
    for o in operands:
        if not isinstance(o, Tensor):
            settled.append(o)
        elif o._value.aval.dtype in (dtypes.bool_, dtypes.uint8):
            settled.extend(np.nonzero(content_of(o)))
        else:
            array = host_content(o)
            if array is None:
                settled.append(o)
            else:
                settled.append(np.array(array) if _shared(o) else array)
    check_operands(settled, [n for n, o in zip(size, settled, strict=False) if o is not None], size, fits)
    return settled


def _shared(t: Tensor) -> bool:
    return t._alias is not None and t._alias.storage.host is not None


def _flag_range(indices: Any, lengths: Any) -> None:
    """Raise PyTorch's IndexError at the next synchronisation if an index is out of range."""
    shape, count = strides.broadcast_shapes(*[i.shape for i in indices]), len(lengths)
    codes: Any = jnp.zeros(shape, np.int64)
    for k in range(count - 1, -1, -1):
        i, n = indices[k].astype(np.int64), lengths[k]
        coded = 1 + k + count * jnp.where(i < 0, -2 * i - 1, 2 * i)
        codes = jnp.where((i >= n) | (i < -n), coded, codes)
    found, code = first(codes != 0, codes)

    def make(code: int) -> Exception:
        value, k = divmod(code - 1, count)
        value = -(value + 1) // 2 if value % 2 else value // 2
        return IndexError(f"index {value} is out of bounds for dimension {k} with size {lengths[k]}")

    flag(jnp.where(found, code, 0), make, *[Within("indices", -n, n, place=k) for k, n in enumerate(lengths)])


def _index_tuple(shape: Any, indices: Any, pattern: Any, checked: bool) -> tuple[Any, ...]:
    """The NumPy index, of non-negative integers, for index arrays at the dimensions `pattern` marks."""
    rest = iter(indices)
    items: list[Any] = [next(rest) if given else slice(None) for given in pattern]
    lengths = [n for n, given in zip(shape, pattern, strict=False) if given]
    broadcast = strides.broadcast_shapes(*[i.shape for i in indices])
    if not checked and 0 not in broadcast:
        if 0 in lengths:
            raise IndexError("index is out of bounds for dimension with size 0")
        _flag_range(indices, lengths)
    return tuple([
        jnp.where(i < 0, i + n, i) if given else i
        for i, n, given in zip(items, shape, pattern, strict=False)
    ])  # fmt: skip


@op(name="_index", function=False, method=False, grad="IndexBackward0", saved=["indices"])
def _index(input: Array, indices: Arrays, pattern: Any, checked: bool = False):
    return input.at[_index_tuple(input.shape, indices, pattern, checked)].get(mode="promise_in_bounds")


def _is_permuted(index: Any) -> bool:
    """Is it an index tensor whose strides the result's may depend on?"""
    return isinstance(index, Tensor) and index._layout is not None and index._value.aval.ndim > 1


def _gathered(self: Tensor, operands: Any, layouts: Any = None) -> Tensor:
    """The elements at index arrays (None: a whole dimension), settled already; layouts: of these, where one is permuted."""
    given = [o for o in operands if o is not None]
    on_host = all(isinstance(o, _ndarray) for o in given)
    if self._alias is not None:
        self._alias.read(self)
    if on_host and not (self._rg and state.grad):
        array = host_content(self)
        if array is not None:
            if not array.size:  # where PyTorch reads nothing, and looks at no index
                operands = [None if o is None else np.zeros_like(o) for o in operands]
            out = from_host(array[tuple([slice(None) if o is None else o for o in operands])])
            return out if self._layout is None and layouts is None else _laid_out(out, self, operands, layouts)
    pattern = tuple([o is not None for o in operands])
    out = _index(self, _as_tensors(given, self._value.aval.slot), pattern, on_host)
    return out if self._layout is None and layouts is None else _laid_out(out, self, operands, layouts)


def _laid_out(out: Tensor, source: Tensor, operands: Any, layouts: Any) -> Tensor:
    """Give the result of indexing PyTorch's strides, where what was indexed, or an index tensor, is not contiguous."""
    if out._value.aval.ndim < 2:
        return out
    dims = [d for d, o in enumerate(operands) if o is not None]
    arrays = [tuple(o.shape) for o in operands if o is not None]
    given = layouts or [strides.contiguous(shape) for shape in arrays]
    spread = strides.broadcast_shapes(*arrays)
    at = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    size = out._value.aval.shape
    kept = [n for d, n in enumerate(strides_of(source)) if d not in dims]
    shapes, rows = [size], [(*kept[:at], *(0,) * len(spread), *kept[at:])]
    for shape, stride in zip(arrays, given, strict=True):
        lead = len(spread) - len(shape)
        own = [0 if n == 1 and m != 1 else s for n, m, s in zip(shape, spread[lead:], stride, strict=True)]
        shapes.append((*(1,) * at, *spread, *(1,) * (len(kept) - at)))
        seen = strides.view_strides(spread, (*(0,) * lead, *own), shapes[-1])
        rows.append(strides.contiguous(shapes[-1]) if seen is None else seen)
    out._layout = normal(size, strides.elementwise_strides(shapes, rows), 0)
    return out


def _as_tensors(arrays: Any, slot: Any) -> list[Tensor]:
    """Index arrays as operands: from the host where they are there, on the device of what they index."""
    return [from_host(a, slot.device) if isinstance(a, _ndarray) else move(a, slot) for a in arrays]


def _advanced(self: Tensor, found: Plan) -> Tensor:
    settled, layouts = _settle(found.operands, found.size), None
    if any(map(_is_permuted, found.operands)):
        layouts = []
        for o in found.operands:
            if isinstance(o, Tensor) and o._value.aval.dtype in (dtypes.bool_, dtypes.uint8):
                layouts.extend([(1,)] * o._value.aval.ndim)
            elif o is not None:
                layouts.append(strides_of(o) if isinstance(o, Tensor) else strides.contiguous(o.shape))
    return _gathered(self, settled, layouts)


method("__getitem__")(getitem)
