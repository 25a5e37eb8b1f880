"""Views by strides (`as_strided`), and what changes a tensor's own shape (`unsqueeze_`, `t_`, ...)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Sizes, function, functions, inner_op, method, methods, numpy_names, op
from ..._core.define.signature import checked, need_kind
from ..._core.graph.nodes import node_type, shown
from ..._core.run import capture
from ..._core.tensor import strides, view_strides
from ..._core.tensor.aliasing import check_fillable, check_place
from ..._core.tensor.layouts import memory_places, offset_of, strides_of
from ..._core.tensor.storage import Alias, alias_of
from ..._core.tensor.tensor import Tensor, need_tensor, refuse_inference, wrap, write_out
from ..._core.tensor.views import ViewRule, _arguments, drop_gradients, set_at
from ..._core.types import dtypes
from ..._core.types.grad_mode import no_grad, state
from ..._core.types.size import need_sizes, one_by_one
from ..types.constants import contiguous_format
from .complex_views import _conj
from .views import (
    _alias,
    _expand,
    _view,
    _view_dtype,
    conjugated,
    negated,
    reshape,
    slice_dim,
    squeeze,
    t,
    transpose,
    unsqueeze,
)

# -- as_strided


def _elements(shape: Any, own: Any, size: Any, stride: Any, offset: int) -> np.ndarray:
    """Which element of a tensor with layout `own` (None: contiguous) lies at each place; -1 for none."""
    wanted = memory_places(size, stride, offset)
    count = int(np.prod(shape, dtype=np.int64))
    if own is None or (tuple(own[0]) == strides.contiguous(shape)):
        found = wanted - (0 if own is None else own[1])
        return np.where((found >= 0) & (found < count), found, -1)
    mine = memory_places(shape, *own).reshape(-1)
    table = np.full(1 + max(int(mine.max(initial=0)), int(wanted.max(initial=0))), -1)
    table[mine] = np.arange(count)
    return table[wanted]


def _found(shape: Any, own: Any, size: Any, stride: Any, offset: int) -> np.ndarray:
    """`_elements`, all of which must be there."""
    places = _elements(shape, own, size, stride, offset)
    if (places < 0).any():
        raise NotImplementedError("as_strided() to memory that holds no elements of the base")
    return places


def _strided_layout(old: Any, steps: Any, start: int, size: Any, stride: Any, offset: int, own: Any) -> Any:
    return size, stride, offset


@op(
    name="_as_strided",
    function=False,
    method=False,
    grad="AsStridedBackward0",
    view=ViewRule(
        _strided_layout, places=lambda shape, size, stride, offset, own: _found(shape, own, size, stride, offset)
    ),
)
def _as_strided(input: Array, size: Any, stride: Any, offset: int, own: Any):
    return input.reshape(-1)[_found(input.shape, own, size, stride, offset)]


@inner_op(grad="AsStridedBackward0")
def _as_strided_beyond(input: Array, seen: Array, own: Any, stride: Any, offset: int):
    """Elements of the input where it has them, else those of `seen`: all are equal, but the input's have its gradient."""
    places = _elements(input.shape, own, seen.shape, stride, offset)
    if not input.size:
        return seen
    return jnp.where(places >= 0, input.reshape(-1)[np.maximum(places, 0)], seen)


def _reaches(x: Tensor, size: Any, stride: Any, offset: int) -> bool:
    """Do all these places in memory hold elements of the tensor?"""
    if x._layout is not None and strides.may_overlap(x._value.aval.shape, x._layout[0]):
        return False
    return bool((_elements(x._value.aval.shape, x._layout, size, stride, offset) >= 0).all())


def _whole(x: Tensor) -> Tensor:
    """A tensor that is the whole storage of this one."""
    alias = x._alias
    if alias is None:
        return x
    base = alias.base
    if base is not None and base._alias is not None and not base._alias.chain:
        return base
    found = wrap(alias.storage.value)
    found._alias = Alias(alias.storage, (), None, 0)
    size, stride, offset = found._value.aval.shape, strides.contiguous(found._value.aval.shape), 0
    for step in alias.chain:
        size, stride, offset = step[0].view.layout(size, stride, offset, **_arguments(*step))
    if (tuple(stride), offset) != (strides_of(x), offset_of(x)):
        raise NotImplementedError("as_strided() of a view whose base was not contiguous and is gone: clone it first")
    return found


def _read_alike(whole: Tensor, x: Tensor) -> Tensor:
    """A tensor's memory, read as elements of the type that `x` has, conjugated where `x` is."""
    held, dtype = whole._value.aval.dtype, x._value.aval.dtype
    if held is not dtype:
        count = whole._value.aval.numel
        if negated(x) or count * held.itemsize % dtype.itemsize:
            raise NotImplementedError(
                "as_strided() to memory outside a view that reads it as another type: clone it first"
            )
        whole = _view_dtype(_as_strided(whole, (count,), (1,), 0, whole._layout), dtype, held.itemsize)
    return _conj(whole) if conjugated(x) else whole


def _extent(x: Tensor) -> int:
    """How many elements of memory, of the tensor's type, its storage has."""
    if x._alias is None:
        return offset_of(x) + x._value.aval.numel
    held = x._alias.storage.value.aval
    return held.numel * held.dtype.itemsize // x._value.aval.dtype.itemsize


@function("as_strided", method=True)
@checked
def as_strided(input: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with these sizes, strides and offset, counted in elements."""
    if type(input) is not Tensor:
        need_tensor(input, "as_strided", "input")
    capture.expose_memory(input)
    given = view_strides.as_strided(
        input._value.aval.shape, strides_of(input), offset_of(input), size, stride, storage_offset,
        storage=_extent(input), itemsize=input._value.aval.dtype.itemsize,
    )  # fmt: skip
    if _reaches(input, *given):
        return _as_strided(input, *given, input._layout)
    with no_grad():
        whole = _read_alike(_whole(input), input)
    if not _reaches(whole, *given):
        raise NotImplementedError("as_strided() to memory that holds no elements of the base")
    return _beyond(input, whole, given)


def _beyond(input: Tensor, whole: Tensor, given: Any) -> Tensor:
    """A view to elements of the storage that the input, itself a view, lacks. In the graph it is a view of the input."""
    with no_grad():
        out = _as_strided(whole, *given, whole._layout)
    mine, made = alias_of(input), alias_of(out)
    if input._rg and state.grad:
        check_place(input)
        graded = _as_strided_beyond(input, out.detach(), input._layout, *given[1:])
        graded._value.guard = out._value.guard
        out._value, out._node, out._index, out._rg = graded._value, graded._node, graded._index, True
    else:
        out._node, out._rg = None, False
    if mine.storage.inferred:
        made.base = None
    else:
        made.base, made.depth = input if mine.base is None else mine.base, -1
    made.multi, made.no_grad, made.silent = mine.multi, mine.no_grad, mine.silent
    if not state.grad:
        made.no_grad = "inference" if state.inference else "no_grad"
    elif mine.base is not None and mine.base._rg and not out._rg:
        drop_gradients(out)
    return out


@inner_op(grad="AsStridedScatterBackward0")
def _as_strided_scatter(input: Array, src: Array, size: Any, stride: Any, offset: int, own: Any):
    if src.shape != tuple(size):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(size)}"
        )
    places = _elements(input.shape, own, size, stride, offset)
    if (places < 0).any():
        raise NotImplementedError("as_strided_scatter() to memory outside the tensor")
    flat = set_at(input.reshape(-1), src.reshape(-1).astype(input.dtype), jnp.asarray(places.reshape(-1)))
    return flat.reshape(input.shape)


@function("as_strided_scatter", method=True)
@checked
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Tensor:
    """The input with the part that `as_strided` would view replaced."""
    if type(input) is not Tensor:
        need_tensor(input, "as_strided_scatter", "input")
    given = view_strides.as_strided(
        input._value.aval.shape, strides_of(input), offset_of(input), size, stride, storage_offset,
        storage=_extent(input), itemsize=input._value.aval.dtype.itemsize,
    )  # fmt: skip
    return _as_strided_scatter(input, src, *given, input._layout)


# -- the shape of a tensor itself


def become(self: Tensor, view: Tensor, name: str) -> Tensor:
    """Make the tensor be a view of itself: the same memory in another shape. Its views stay as they are."""
    refuse_inference(self)
    check_fillable(self)
    alias, made = alias_of(self), view._alias
    assert made is not None
    storage = alias.storage
    if storage.owner() is self:
        storage.owner = _nobody  # pyright: ignore[reportAttributeAccessIssue]
    alias.version.n += 1
    if alias.silent is not None:
        alias.version.hidden += 1
        alias.silent.n += 1
    made.base = alias.base
    made.depth = alias.depth if alias.base is not None else len(made.chain)
    made.silent, made.multi, made.no_grad = alias.silent, alias.multi, alias.no_grad
    made.placed, made.own = alias.placed, alias.own
    made.seen = made.version.n if storage.host is None else -1
    self._value, self._layout, self._alias = view._value, view._layout, made
    self._value.guard = made.guard(view._layout)
    if view._rg and shown(view._node) is not None:
        view._node.__class__ = node_type(name)
        self._set_history(view._node, view._index)
        made.placed = made.counted()
    elif made.base is not None and made.base._rg:
        self._value.guard, made.seen = None, -2  # its place in the graph is found anew
    return self


def _nobody() -> None:
    return None


@method("unsqueeze_")
@numpy_names
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """In-place form of `unsqueeze`."""
    return become(self, unsqueeze(self, dim), "UnsqueezeBackward1")


@method("squeeze_")
@numpy_names
def squeeze_(self: Tensor, dim: Any = None, *more: int) -> Tensor:
    """In-place form of `squeeze`."""
    dim = one_by_one("squeeze_", dim, more) if more else dim
    name = "SqueezeBackward3" if dim is None else "SqueezeBackward4" if isinstance(dim, int) else "SqueezeBackward5"
    return become(self, squeeze(self, dim), name)


@method("t_")
def t_(self: Tensor) -> Tensor:
    """In-place form of `t`."""
    return become(self, t(self), "TBackward1")


@method("transpose_", aliases=["swapdims_"])
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In-place form of `transpose`."""
    return become(self, transpose(self, dim0, dim1), "TransposeBackward1")


@method("swapaxes_")
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """In-place form of `swapaxes`."""
    return transpose_(self, axis0, axis1)


@method("as_strided_")
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """In-place form of `as_strided`."""
    return become(input, as_strided(input, size, stride, storage_offset), "AsStridedBackward1")


function("as_strided_")(methods["as_strided_"])


# -- copies of what a view operation would show


def _copying(name: str, view: Any) -> None:
    def copying(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if name in ("view", "expand") and args and type(args[0]).__name__ != "dtype":
            need_sizes(name + "_copy", "size", args[0], 2)
        if name == "view" and not isinstance(args[0] if args else kwargs.get("dtype"), dtypes.dtype):
            input = input.contiguous()  # whose every shape is a view
        if name == "split":
            need_kind("split_copy", "split_size", "int", args[0] if args else kwargs.get("split_size"))
        if name == "narrow":
            _need_dim(input, *args, **kwargs)
        shown = view(input, *args, **kwargs)
        found = copied(shown) if isinstance(shown, Tensor) else tuple([copied(t) for t in shown])
        if out is None:
            return found
        written = write_out(tuple(out) if isinstance(out, list) else out, found, name + "_copy")
        return written if isinstance(written, Tensor) else None

    def copied(part: Tensor) -> Tensor:
        fresh = part.clone(memory_format=contiguous_format)
        if fresh._node is not None and part._node is not None:
            own = type(part._node).__name__ + "_copy" if name != "narrow" else "NarrowCopyBackward0"
            fresh._node.__class__ = node_type(own)
        return fresh

    copying.__name__ = copying.__qualname__ = name + "_copy"
    copying.__doc__ = f"A copy of what `{name}` shows, contiguous and with its own memory."
    function(name + "_copy", method=name == "narrow")(copying)


def _need_dim(input: Tensor, dim: Any = 0, *rest: Any, **named: Any) -> None:
    """RuntimeError for a dimension beyond the last one, where `narrow` has an IndexError."""
    if input.ndim and isinstance(dim, int) and dim >= input.ndim:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.")


@checked
def slice_copy(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    return slice_dim(input, strides.wrap_dim(dim, input.ndim), start, end, step)


for _name in ("permute", "squeeze", "transpose", "t", "unsqueeze", "select", "diagonal", "unbind", "split_with_sizes",
              "as_strided", "narrow", "view_as_real", "view_as_complex", "split"):  # fmt: skip
    _copying(_name, functions[_name])
for _name in ("view", "expand", "unfold"):
    _copying(_name, methods[_name])
_copying("slice", slice_copy)
_copying("alias", _alias)
_copying("detach", lambda input: input.detach())


@function("is_same_size", method=True)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Do the tensors have the same shape?"""
    return (
        need_tensor(input, "is_same_size")._value.aval.shape
        == need_tensor(other, "is_same_size", "other")._value.aval.shape
    )


# -- the shape of another tensor


@method("view_as")
@numpy_names
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view with the other tensor's shape."""
    return _view(self, need_tensor(other, "view_as", "other")._value.aval.shape)


@method("reshape_as")
@numpy_names
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The elements in the other tensor's shape."""
    return reshape(self, need_tensor(other, "reshape_as", "other")._value.aval.shape)


@method("expand_as")
@numpy_names
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expanded to the other tensor's size."""
    return _expand(self, need_tensor(other, "expand_as", "other")._value.aval.shape)
