"""Views: tensors on the memory of another.

Strides follow `_core/tensor/strides.py`; see `_core/tensor/views.py` for how they alias.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, Ints, Scalar, Sizes, function, inner_op, method, numpy_names, op
from ..._core.define.signature import checked, need_kind
from ..._core.tensor import strides, view_strides
from ..._core.tensor.layouts import offset_of, strides_of
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.tensor.view_rules import ViewRule, expand_write
from ..._core.types import dtypes
from ..._core.types.size import as_size, check_long, need_sizes, one_by_one

# -- one shape for another


def _view_layout(size: Any, stride: Any, offset: int, *, new: Any) -> Any:
    if len(new) == 1 and isinstance(new[0], dtypes.dtype):
        raise RuntimeError("view(dtype) has its own rule")
    return (*strides.view(size, stride, new), offset)


@op(
    name="_view",
    function=False,
    method=False,
    grad="ViewBackward0",
    view=ViewRule(_view_layout, lambda whole, part, new: part.reshape(whole.shape)),
)
def _view(input: Array, new: Any):
    return input.reshape(strides.infer_size(new, input.size))


@op(
    name="_reshape_alias",
    function=False,
    method=False,
    grad="ReshapeAliasBackward0",
    view=ViewRule(_view_layout, lambda whole, part, new: part.reshape(whole.shape)),
)
def _reshape_alias(input: Array, new: Any):
    return input.reshape(new)


@op(
    name="_alias",
    function=False,
    method=False,
    grad="AliasBackward0",
    view=ViewRule(lambda size, stride, offset: (size, stride, offset), lambda whole, part: part),
)
def _alias(input: Array):
    return input


@method("view")
def view(self: Tensor, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """The same elements in another shape (one size may be -1), or the same memory as another element type."""
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"view(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtypes.dtype)):
        return view_dtype(self, dtype or shape[0])
    if not shape and size is None:
        raise TypeError("view() received an invalid combination of arguments - got (): sizes or a dtype are needed")
    return _view(self, as_size(shape if size is None else size, "view"))


def _dtype_layout(size: Any, stride: Any, offset: int, *, dtype: Any, old: int) -> Any:
    new = dtype.itemsize
    if new == old:
        return size, stride, offset
    if not size:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {old}-byte elements as elements of {new} bytes (different element sizes)"
        )
    if stride[-1] != 1:
        raise RuntimeError(
            "self.stride(-1) must be 1 to view as an element size that differs, but got " + str(stride[-1])
        )
    if old > new:
        ratio = old // new
        return (*size[:-1], size[-1] * ratio), (*[s * ratio for s in stride[:-1]], 1), offset * ratio
    ratio = new // old
    if size[-1] % ratio:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {ratio} to view elements of {old} bytes as {new} bytes, but got {size[-1]}"
        )
    if any(s % ratio for s in stride[:-1]):
        raise RuntimeError(f"self.stride(d) must be divisible by {ratio} to view as a wider element type")
    return (*size[:-1], size[-1] // ratio), (*[s // ratio for s in stride[:-1]], 1), offset // ratio


def _bitcast(x: Any, target: Any) -> Any:
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        x = _pairs(x).reshape(*x.shape[:-1], 2 * x.shape[-1])
    if target.kind == "c":
        real = np.dtype(np.float32 if target == np.complex64 else np.float64)
        x = _bitcast(x, real)
        x = x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
        return jax.lax.complex(x[..., 0], x[..., 1])
    if target == np.bool_:
        return _bitcast(x, np.dtype(np.uint8)) != 0
    old, new = x.dtype.itemsize, target.itemsize
    x = jax.lax.optimization_barrier(x)  # XLA joins two of these in a row, to one whose shape its verifier refuses
    if old == new:
        return jax.lax.bitcast_convert_type(x, target)
    if old > new:
        return jax.lax.bitcast_convert_type(x, target).reshape(*x.shape[:-1], x.shape[-1] * (old // new))
    ratio = new // old
    return jax.lax.bitcast_convert_type(x.reshape(*x.shape[:-1], x.shape[-1] // ratio, ratio), target)


def _pairs(x: Any) -> Any:
    return jnp.stack([x.real, x.imag], axis=-1)


@op(
    name="_view_dtype",
    function=False,
    method=False,
    grad="ViewBackward0",
    view=ViewRule(_dtype_layout, lambda x, new, dtype, old: _bitcast(new.ravel(), x.dtype).reshape(x.shape)),
)
def _view_dtype(input: Array, dtype: Any, old: int):
    return _bitcast(input, dtype.np) if input.ndim else _bitcast(input[None], dtype.np)[0]


def _conjugations(t: Tensor) -> int:
    """How many conjugating views lead to this tensor."""
    return 0 if t._alias is None else sum(step[0].name == "_conj" for step in t._alias.chain)


def conjugated(t: Tensor) -> bool:
    """Is the tensor the conjugate of what its memory holds?"""
    return t._value.aval.dtype.is_complex and _conjugations(t) % 2 == 1


def negated(t: Tensor) -> bool:
    """Is the tensor the negative of what its memory holds: the imaginary part of a conjugating view?"""
    if t._alias is None or t._value.aval.dtype.is_complex or _conjugations(t) % 2 == 0:
        return False
    return any(op.name == "_part" and statics == (1,) for op, statics, _ in t._alias.chain)


def view_dtype(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The same memory read as elements of another type."""
    if dtype is not t.dtype:
        for flagged, what in ((conjugated, "conjugate"), (negated, "negated")):
            if flagged(t):
                raise RuntimeError(
                    f"view: the memory of a {what} view holds other values: it cannot be read as {dtype}"
                )
    t = t.detach()  # as in PyTorch it shares memory but is no view to autograd
    names = dtypes.scalar_name(t.dtype), dtypes.scalar_name(dtype)
    view_strides.view_dtype(tuple(t.shape), strides_of(t), offset_of(t), t.dtype.itemsize, dtype.itemsize, names)
    return t if t.dtype is dtype else _view_dtype(t, dtype, t.dtype.itemsize).detach()


@inner_op(grad="UnsafeViewBackward0")
def _reshape_copy(input: Array, new: Any):
    return input.reshape(new)


@function("reshape")
def reshape(input: Tensor, shape: Any) -> Tensor:
    """The same elements in another shape: a view where the strides allow, else a copy."""
    need_tensor(input, "reshape")
    return reshaped(input, need_sizes("reshape", "shape", shape, 2))


def reshaped(input: Tensor, shape: Any) -> Tensor:
    """`reshape` of a tensor to sizes that have been looked at."""
    new = as_size(shape, "reshape", "shape")
    if input._layout is None:
        return _view(input, new)
    size = input._value.aval.shape
    new = strides.infer_size(new, input._value.aval.numel)
    if strides.view_strides(size, input._layout[0], new) is None:
        return _reshape_copy(input, new)
    if strides.is_contiguous(size, input._layout[0]):
        return _view(input, new)
    return _reshape_alias(input, new)


@method("reshape")
def _reshape(self: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    """The same elements in another shape: a view where the strides allow, else a copy."""
    if "shape" in kwargs:
        shape = (need_sizes("reshape", "shape", kwargs.pop("shape")),)
    if kwargs:
        raise TypeError(f"reshape() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if not shape:
        raise TypeError('reshape() missing 1 required positional arguments: "shape"')
    only: Any = shape[0]
    whole = len(shape) == 1 and (isinstance(only, (tuple, list)) or not hasattr(type(only), "__index__"))
    return reshaped(self, need_sizes("reshape", "shape", only if whole else shape, 1))


@function("flatten", method=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions start_dim to end_dim merged into one."""
    size = need_tensor(input, "flatten")._value.aval.shape
    for name, dim in (("start_dim", start_dim), ("end_dim", end_dim)):
        if dim.__class__ is not int:
            need_kind("flatten", name, "int", dim)
    new = strides.flatten_size(size, start_dim, end_dim)
    return input if tuple(new) == size else reshaped(input, new)


@function("ravel", method=True)
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return reshape(need_tensor(input, "ravel").contiguous(), (-1,))


@method("unflatten")
def _unflatten(self: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension split into several of the given sizes."""
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    return unflatten(self, dim, sizes)


@function("unflatten")
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension split into several of the given sizes."""
    need_tensor(input, "unflatten")
    need_sizes("unflatten", "sizes", sizes, 3)
    return _view(input, strides.unflatten_size(input._value.aval.shape, dim, sizes))


# -- dimensions in another order


def _inverse(dims: Any) -> list[int]:
    order = [0] * len(dims)
    for i, d in enumerate(dims):
        order[d] = i
    return order


@op(
    star="dims",
    function=False,
    view=ViewRule(
        view_strides.permute, lambda whole, part, dims: part.transpose(_inverse([d % max(part.ndim, 1) for d in dims]))
    ),
)
def permute(input: Array, dims: Sizes):
    """The dimensions in the order `dims`."""
    view_strides.permute(input.shape, strides.contiguous(input.shape), 0, dims)
    return input.transpose([d % max(input.ndim, 1) for d in dims])


@function("permute")
def _permute(input: Tensor, dims: Any) -> Tensor:
    """The dimensions in the order `dims`."""
    return permute(input, need_sizes("permute", "dims", dims, 2))


_permute.__name__ = _permute.__qualname__ = "permute"  # as those who are asked see it


@op(
    aliases=["swapdims"],
    view=ViewRule(
        view_strides.transpose, lambda whole, part, dim0, dim1: jnp.swapaxes(part, dim0, dim1) if part.ndim else part
    ),
)
def transpose(input: Array, dim0: int, dim1: int):
    """Two dimensions exchanged."""
    strides.wrap_dim(dim0, input.ndim), strides.wrap_dim(dim1, input.ndim)  # pyright: ignore[reportUnusedExpression]
    return jnp.swapaxes(input, dim0, dim1) if input.ndim else input


@function("swapaxes", method=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged, as `transpose`."""
    return transpose(input, axis0, axis1)


@op(view=ViewRule(view_strides.t, lambda whole, part: part.T))
def t(input: Array):
    """The transposed matrix; tensors of fewer dimensions as they are."""
    view_strides.t(input.shape, strides.contiguous(input.shape), 0)
    return input.T


@function("movedim", method=True, aliases=["moveaxis"])
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The dimensions at `source` moved to `destination`; the others keep their order."""
    need_tensor(input, "movedim")
    if source.__class__ is not int and not isinstance(source, (tuple, list)):
        source = strides.wrap_dim(source, input.ndim)
    if destination.__class__ is not int and not isinstance(destination, (tuple, list)):
        destination = strides.wrap_dim(destination, input.ndim)
    if isinstance(source, (tuple, list)) is not isinstance(destination, (tuple, list)):
        kinds = f"{type(source).__name__}, {type(destination).__name__}"
        raise TypeError(f"movedim() received an invalid combination of arguments - got (Tensor, {kinds})")
    for name, dims in (("source", source), ("destination", destination)):
        if isinstance(dims, (tuple, list)):
            need_sizes("movedim", name, dims, 2)
    if not input.ndim:
        for dims in (source, destination):
            for d in (dims,) if isinstance(dims, int) else dims:
                strides.wrap_dim(d, 0)
        return _alias(input)
    return permute(input, view_strides.moved_order(input.ndim, source, destination))


# -- more or fewer dimensions


def _expand_layout(size: Any, stride: Any, offset: int, *, size_: Any) -> Any:
    return view_strides.expand(size, stride, offset, size_)


@op(name="_expand", function=False, method=False, grad="ExpandBackward0", view=ViewRule(_expand_layout, expand_write))
def _expand(input: Array, size_: Any):
    return jnp.broadcast_to(input, view_strides.expand_size(input.shape, size_))


@method("expand")
def expand(self: Tensor, *sizes: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """Dimensions of size 1 repeated to the given sizes, without memory; -1 keeps a size."""
    if size is not None:
        if sizes:
            raise TypeError("expand() got multiple values for argument 'size'")
        sizes = need_sizes("expand", "size", size)
    elif not sizes:
        raise TypeError('expand() missing 1 required positional arguments: "size"')
    return _expand(self, as_size(sizes, "expand"))


@method("broadcast_to")
def _broadcast_to(self: Tensor, *items: Any, **size: Any) -> Tensor:
    """`torch.broadcast_to`, whose sizes may be given one by one."""
    if len(items) == 1 and not hasattr(type(items[0]), "__index__"):
        return broadcast_to(self, items[0], **size)
    return broadcast_to(self, items, **size) if items else broadcast_to(self, **size)


@function("broadcast_to")
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expanded to the given size."""
    return _expand(input, as_size(need_sizes("broadcast_to", "size", size, 2), "broadcast_to"))


def _reshaped_back(whole: Any, part: Any, **_: Any) -> Any:
    return part.reshape(whole.shape)


def _squeeze_name(operands: Any, statics: Any) -> str:
    return f"SqueezeBackward{0 if statics[0] is None else 1 if isinstance(statics[0], int) else 2}"


@op(
    name="squeeze", method=False, inplace=False, view=ViewRule(view_strides.squeeze, _reshaped_back), grad=_squeeze_name
)
def squeeze(input: Array, dim: Ints | None = None):
    """Without the dimensions of size 1, all of them or those in `dim`."""
    size, _, _ = view_strides.squeeze(input.shape, strides.contiguous(input.shape), 0, dim)
    return input.reshape(size)


@method("squeeze")
def _squeeze_method(self: Tensor, dim: Any = None, *more: int, **axis: Any) -> Tensor:
    """`torch.squeeze`, whose dimensions may be given one by one."""
    if more or axis:
        return squeeze(self, one_by_one("squeeze", dim, more) if more else dim, **axis)
    return squeeze(self, dim)


@op(view=ViewRule(view_strides.unsqueeze, _reshaped_back))
def unsqueeze(input: Array, dim: int):
    """With a dimension of size 1 at `dim`."""
    return jnp.expand_dims(input, strides.wrap_dim(dim, input.ndim + 1))


# -- parts


def _put_at(whole: Any, part: Any, dim: int, start: Any) -> Any:
    starts = [jnp.zeros((), np.int64)] * whole.ndim
    starts[dim] = jnp.asarray(start, np.int64)
    return jax.lax.dynamic_update_slice(whole, part, starts, allow_negative_indices=False)


def _select_write(whole: Any, part: Any, dim: int, index: Any) -> Any:
    d = strides.wrap_dim(dim, whole.ndim)
    return _put_at(whole, jnp.expand_dims(part, d), d, _from_start(index, whole.shape[d]))


def _from_start(index: Any, n: int) -> Any:
    return jnp.where(jnp.asarray(index) < 0, jnp.asarray(index) + n, index)


@op(
    view=ViewRule(
        lambda size, stride, offset, dim, index: view_strides.select(size, stride, offset, dim, index), _select_write
    )
)
def select(input: Array, dim: int, index: Scalar):
    """The slice at one index of a dimension, which is dropped."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not jnp.issubdtype(jnp.result_type(index), np.integer):
        raise TypeError(f"select(): argument 'index' must be int, not {jnp.result_type(index)}")
    d = strides.wrap_dim(dim, input.ndim)
    if not input.shape[d]:
        raise IndexError(
            f"select(): index out of range for tensor of size {list(input.shape)} at dimension {dim}: the dimension is empty"
        )
    place = _from_start(index, input.shape[d])
    return jax.lax.dynamic_index_in_dim(input, place, d, keepdims=False, allow_negative_indices=False)


def _slice_layout(size: Any, stride: Any, offset: int, dim: int, length: int, step: int, start: int = 0) -> Any:
    new, jump = list(size), list(stride)
    new[dim] = length
    jump[dim] *= step
    return tuple(new), tuple(jump), offset + start * stride[dim]


def _slice_write(whole: Any, part: Any, dim: int, length: int, step: int, start: Any = 0) -> Any:
    if length == 0:
        return whole
    if step == 1:
        if length == whole.shape[dim]:
            return part
        return _put_at(whole, part, dim, start)
    index = [slice(None)] * whole.ndim
    index[dim] = start + step * up_to(length)
    return whole.at[tuple(index)].set(part, mode="promise_in_bounds", unique_indices=True)


@op(name="_slice", function=False, method=False, grad="SliceBackward0", view=ViewRule(_slice_layout, _slice_write))
def _slice(input: Array, dim: int, length: int, step: int, start: Scalar = 0):
    if length == input.shape[dim]:
        return input
    if isinstance(start, int):
        return jax.lax.slice_in_dim(input, 0, (length - 1) * step + 1 if length else 0, step, dim)
    extent = (length - 1) * step + 1 if length else 0
    part = jax.lax.dynamic_slice_in_dim(input, start, extent, dim, allow_negative_indices=False)
    return part if step == 1 or not length else jax.lax.slice_in_dim(part, 0, extent, step, dim)


def slice_dim(t: Tensor, dim: int, start: int | None, stop: int | None, step: int | None) -> Tensor:
    """`t[..., start:stop:step, ...]` along one dimension, with Python's clamping."""
    n = t._value.aval.shape[dim]
    begin, end, jump = slice(start, stop, step).indices(n)
    return _slice(t, dim, max(0, -(-(end - begin) // jump)), jump, begin)


@function("narrow", method=True)
@numpy_names
@checked
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` entries of a dimension from `start` on."""
    size, length, start = input._value.aval.shape, check_long(length), check_long(start)
    if isinstance(length, np.ndarray) and not length.ndim:
        length = length.item()
    if start.__class__ is not int and not isinstance(start, Tensor):
        need_kind("narrow", "start", "int", start)
        start = int(start)
    if isinstance(start, Tensor):
        if start.ndim or dtypes.category(start.dtype) != 1:
            raise RuntimeError("narrow(): start must be a 0-dimensional integral Tensor")
        start = int(start.item())
    view_strides.narrow(size, strides.contiguous(size), 0, dim, start, length)
    d = strides.wrap_dim(dim, len(size))
    return _slice(input, d, length, 1, start + size[d] if start < 0 else start)


def _diagonal_layout(size: Any, stride: Any, base: int, offset: int, dim1: int, dim2: int) -> Any:
    return view_strides.diagonal(size, stride, base, offset, dim1, dim2)


@op(name="diagonal", view=ViewRule(_diagonal_layout))
def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """The diagonal of two dimensions, as the last dimension."""
    shape, _, _ = view_strides.diagonal(input.shape, strides.contiguous(input.shape), 0, offset, dim1, dim2)
    along = up_to(shape[-1])
    rows, columns = along + max(-offset, 0), along + max(offset, 0)
    return jnp.moveaxis(input, (dim1, dim2), (-2, -1)).at[..., rows, columns].get(mode="promise_in_bounds")


def _unfold_layout(size_: Any, stride: Any, offset: int, dimension: int, size: int, step: int) -> Any:
    return view_strides.unfold(size_, stride, offset, dimension, size, step)


@op(name="unfold", function=False, view=ViewRule(_unfold_layout))
def unfold(input: Array, dimension: int, size: int, step: int):
    """All windows of `size` entries along a dimension, `step` apart, as a new last dimension."""
    shape, _, _ = view_strides.unfold(input.shape, strides.contiguous(input.shape), 0, dimension, size, step)
    if not input.ndim:
        return jnp.broadcast_to(input, (size,))
    d = strides.wrap_dim(dimension, input.ndim)
    places = np.arange(shape[d])[:, None] * step + np.arange(size)
    taken = jnp.take(input, places.reshape(-1), axis=d, mode="clip")
    taken = taken.reshape(*input.shape[:d], shape[d], size, *input.shape[d + 1 :])
    return jnp.moveaxis(taken, d + 1, -1)
