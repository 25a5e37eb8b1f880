"""Boolean masks: `where`, `masked_fill`, `nonzero`, triangles.

What selects by a mask has a shape that depends on the data: the mask is read on the host, and the
selection is then a gather.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define import missing_dtypes
from ..._core.define.op import Array, Operand, Scalar, function, inner_op, method, methods, op
from ..._core.define.signature import need_kind
from ..._core.dispatch.number_limits import check_common, flag_overflow
from ..._core.record.value_checks import flag
from ..._core.tensor import strides
from ..._core.tensor.aliasing import check_fillable, check_history, repeats, warn_expanded
from ..._core.tensor.layouts import memory_places
from ..._core.tensor.out_tensors import refuse_parts, refuse_shared
from ..._core.tensor.tensor import Tensor, from_host, need_tensor, strict_out, write_out
from ..._core.types import dtypes
from ..._core.types.value import check_long
from ..._core.types.warn_once import once
from ..common.host_contents import content_of
from ..common.rules import C_NAMES, scalar_name
from ..types.casting import cast
from .setitem import assignable

# -- choosing between two tensors


@inner_op(promote=True, grad="WhereBackward0")
def _where(condition: Array, input: Operand, other: Operand):
    strides.broadcast_shapes(condition.shape, input.shape, other.shape)
    return jnp.where(condition != 0, input, other)


_NUMBERS = (int, float, complex, np.number, np.bool_)


def _chosen(condition: Tensor, input: Any, other: Any) -> Tensor:
    d = condition._value.aval.dtype
    if d is not dtypes.bool_:
        if d is not dtypes.uint8:
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype " + dtypes.scalar_name(d)
            )
        once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
            "PyTorch. Use a boolean condition instead."
        )
        condition = cast(condition, dtypes.bool_)
    for x in (input, other):
        check_common(x, (input, other), True, False, to_infinity=True)
    return _where(condition, input, other)


@function("where")
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None, **kwargs: Any) -> Any:
    """Elements of `input` where the condition holds, else of `other`; alone, the places where it holds."""
    if kwargs:
        input = kwargs.pop("self", input)
        if kwargs:
            raise TypeError(f"where() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if (
        not isinstance(condition, Tensor)
        or (input is None) is not (other is None)
        or (input is None and out is not None)
    ):
        given = [type(x).__name__ for x in (condition, input, other) if x is not None]
        raise TypeError(
            f"where() received an invalid combination of arguments - got ({', '.join(given)}), but "
            f"expected one of:\n"
            " * (Tensor condition)\n * (Tensor condition, Tensor input, Tensor other, *, Tensor out = None)\n"
            " * (Tensor condition, Number self, Tensor other)\n * (Tensor condition, Tensor input, Number "
            "other)\n"
            " * (Tensor condition, Number self, Number other)"
        )
    if input is None:
        return nonzero(condition, as_tuple=True)
    if out is not None:
        need_tensor(input, "where", "input", 2)
        need_tensor(other, "where", "other", 3)
        refuse_parts(out, (condition, input, other))
        return write_out(out, _chosen(condition, input, other), "where", (condition, input, other))
    return _chosen(condition, input, other)


@method("where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor's elements where the condition holds, else those of `other`."""
    need_tensor(condition, "where", "condition")
    return _chosen(condition, self, other)


# -- filling


def _need_bool(mask: Any, name: str) -> None:
    if mask.dtype != np.bool_:
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {C_NAMES[dtypes.from_numpy(mask.dtype).name]}"
        )


@op(name="_masked_fill_number", function=False, method=False, out=False, elementwise=True,
    grad="MaskedFillBackward0", inplace=True)  # fmt: skip
def _fill_number(self: Array, mask: Array, value: Scalar):
    _need_bool(mask, "masked_fill_")
    return jnp.where(mask, jnp.asarray(value).astype(self.dtype), self)


@op(name="_masked_fill_tensor", function=False, method=False, out=False, elementwise=True,
    grad="MaskedFillBackward1", inplace=True)  # fmt: skip
def _fill_tensor(self: Array, mask: Array, value: Array):
    _need_bool(mask, "masked_fill_")
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if jnp.iscomplexobj(value) and not jnp.iscomplexobj(self):
        raise RuntimeError("value cannot be converted to type float without overflow")
    return jnp.where(mask, flag_overflow(value, self.dtype), self)


def _filled(ops: tuple[Any, Any], self: Tensor, mask: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return ops[1](self, mask, value)
    if not isinstance(value, _NUMBERS):
        need_tensor(value, "masked_fill", "value", 2)
    check_long(value)
    return ops[0](self, mask, assignable(value, self._value.aval.dtype))


@function("masked_fill", method=True)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with `value`, a number or 0-d tensor, where the mask holds."""
    if type(input) is not Tensor:
        need_tensor(input, "masked_fill", "input")
    filled = _filled((_fill_number, _fill_tensor), input, mask, value)
    filled._layout = None  # always contiguous
    return filled


@method("masked_fill_")
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place form of `masked_fill`."""
    if warn_expanded(self, "masked_fill_"):
        if self._alias is not None:
            check_history(self, self._alias)
        result = masked_fill(self, mask, value)
        if result._value.aval.shape != self._value.aval.shape:
            raise RuntimeError(
                f"output with shape {list(self._value.aval.shape)} doesn't match the broadcast shape "
                f"{list(result._value.aval.shape)}"
            )
        return self._rebind(result)
    return _filled((_fill_number.inplace, _fill_tensor.inplace), self, mask, value)


@op(inplace=True, out=False, unsaved=["input", "source"])
def masked_scatter(input: Array, mask: Array, source: Array):
    """A copy with the elements of `source`, in order, at the places where the mask holds."""
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{scalar_name(input)} and "
            f"{scalar_name(source)}"
        )
    if mask.dtype != np.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {scalar_name(mask)}")
    shape = strides.broadcast_shapes(input.shape, mask.shape)
    mask = jnp.broadcast_to(mask, shape)
    input = jnp.broadcast_to(input, shape)
    flat = mask.reshape(-1)
    order = jnp.cumsum(flat.astype(np.int64)) - 1
    if source.size:
        taken = source.reshape(-1).at[jnp.clip(order, 0, source.size - 1)].get(mode="promise_in_bounds").reshape(shape)
        out = jnp.where(mask, taken, input)
    else:
        out = input
    flag(
        (jnp.sum(flat.astype(np.int64)) > source.size).astype(np.int64),
        lambda code: RuntimeError("Number of elements of source < number of ones in mask"),
    )
    return out


# -- places


def _places(t: Tensor) -> tuple[np.ndarray, ...]:
    """The indices of the elements that are not zero, by dimension."""
    array = content_of(t)
    return np.nonzero(array) if array.ndim else np.nonzero(array.reshape(1))


@function("nonzero", method=True)
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero, as rows, or as one tensor for each dimension."""
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {type(out).__name__}")
    device = need_tensor(input, "nonzero")._value.aval.slot.device
    need_kind("nonzero", "as_tuple", "bool", as_tuple)
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    missing_dtypes.refuse("nonzero", [input._value.aval], {})
    found = _places(input)
    if as_tuple:
        return tuple([from_host(a, device) for a in found])
    if not input._value.aval.ndim:
        rows = np.zeros((len(found[0]), 0), np.int64)
    else:
        rows = found[0].reshape(-1, 1) if len(found) == 1 else np.stack(found, axis=1)
    result = from_host(rows, device)
    count, ndim = rows.shape
    if ndim and (1, count) != strides.contiguous((count, ndim)):
        result._layout = ((1, count), 0)
    return result if out is None else write_out(out, result, "nonzero")


@op(differentiable=False)
def nonzero_static(input: Array, *, size: int, fill_value: int = -1):
    """The indices of the first `size` elements that are not zero, as rows (size, dimensions); missing ones hold `fill_value`."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be a non-negative integer, but got {size}")
    if not input.ndim or not input.size:
        return jnp.full((size, input.ndim), fill_value, np.int64)
    found = jnp.nonzero(input.reshape(-1) != 0, size=size, fill_value=-1)[0]
    places = jnp.stack(jnp.unravel_index(jnp.maximum(found, 0), input.shape), 1)
    return jnp.where((found < 0)[:, None], fill_value, places.astype(np.int64)).astype(np.int64)


@function("argwhere", method=True)
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, as rows."""
    return nonzero(input)


@function("masked_select", method=True)
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the mask holds, in one dimension."""
    need_tensor(input, "masked_select")
    if need_tensor(mask, "masked_select", "mask", 2)._value.aval.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    missing_dtypes.refuse("masked_select", [input._value.aval], {})
    if out is not None:
        refuse_shared(out, (input, mask))
    size = strides.broadcast_shapes(input._value.aval.shape, mask._value.aval.shape)
    places = np.flatnonzero(np.broadcast_to(content_of(mask), size))
    if size != input._value.aval.shape:
        own = np.arange(input._value.aval.numel).reshape(input._value.aval.shape)
        places = np.broadcast_to(own, size).reshape(-1)[places]
    result = _take_flat(input, from_host(places, input.device))
    return result if out is None else write_out(out, result, "masked_select")


@inner_op(grad="MaskedSelectBackward0", saved=["input"])
def _take_flat(input: Array, places: Array):
    return input.reshape(-1).at[places].get(mode="promise_in_bounds")


# -- triangles


def _triangle(name: str, keep: Any) -> Any:
    def body(input: Array, diagonal: int = 0):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        rows, columns = input.shape[-2:]
        mask = keep(up_to(columns)[None, :] - up_to(rows)[:, None], diagonal)
        return jnp.where(mask, input, jnp.zeros((), input.dtype))

    body.__annotations__ = {"input": "Array", "diagonal": "int"}
    body.__name__ = body.__qualname__ = name
    side = "below" if name == "tril" else "above"
    body.__doc__ = f"The elements on and {side} a diagonal of the last two dimensions; zeros elsewhere."
    made = op(inplace=True)(body)

    def in_place(self: Tensor, diagonal: int = 0) -> Tensor:
        shape = self._value.aval.shape
        if self._layout is None or len(shape) < 2 or not repeats(shape, self._layout[0]):
            return made.inplace(self, diagonal)
        check_fillable(self)
        outside = ~np.broadcast_to(keep(np.arange(shape[-1])[None, :] - np.arange(shape[-2])[:, None], diagonal), shape)
        places = memory_places(shape, self._layout[0], 0)
        cleared = from_host(np.isin(places, places[outside]), self.device)
        return self._rebind(_fill_number(self, cleared, 0))

    in_place.__name__ = in_place.__qualname__ = name + "_"
    in_place.__doc__ = (
        f"In-place form of `{name}`. Of several elements in one place, each that is to be zero clears it."
    )
    methods[name + "_"] = in_place
    return made


tril = _triangle("tril", lambda over, diagonal: over <= diagonal)
triu = _triangle("triu", lambda over, diagonal: over >= diagonal)


# -- `out=`


def _where_same(source: dtypes.dtype, target: dtypes.dtype) -> None:
    raise RuntimeError(f"Expected out type to be {dtypes.scalar_name(source)} but got {dtypes.scalar_name(target)}")


def _select_same(source: dtypes.dtype, target: dtypes.dtype) -> None:
    raise RuntimeError("masked_select(): self and result must have the same scalar type")


def _need_long(source: dtypes.dtype, target: dtypes.dtype) -> None:
    raise RuntimeError(
        f"nonzero: Expected out tensor to have scalar type Long but got scalar type{dtypes.scalar_name(target)}"
    )


strict_out.update(where=_where_same, masked_select=_select_same, nonzero=_need_long)
