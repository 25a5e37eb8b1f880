"""Writing at the places an index tensor names: `index_add`, `index_fill`, `scatter`, `put`, ...

As in `gather`, indices may not be negative, and one out of range raises at the next synchronisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, Scalar, function, inner_op, method, numpy_names, op
from ..._core.define.signature import MISSING, need_kind
from ..._core.dispatch.number_limits import flag_overflow
from ..._core.tensor import strides
from ..._core.tensor.aliasing import warn_expanded
from ..._core.tensor.out_tensors import refuse_parts, refuse_shared
from ..._core.tensor.tensor import Tensor, need_tensor, strict_out, write_out
from ..._core.tensor.views import set_at
from ..._core.types.value import check_long
from ..._core.types.warn_once import once
from ..common.rules import derivatives, no_derivative, refuse, scalar_name
from ..reductions.sorting import sorted_with
from .gather import _along, _integers, _lifted, _out_of_bounds, _slices, _wrapped, flag_outside, need_same
from .setitem import assignable

# -- writing to whole slices


def _same_dtype(name: str, a: Any, b: Any) -> None:
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: self and source expected to have the same dtype, but got (self) {scalar_name(a)} and "
            f"(source) "
            f"{scalar_name(b)}"
        )


def _check_ranks(name: str, input: Any, index: Any, source: Any) -> None:
    """A number goes with a number only, and with one index."""
    if not source.ndim and index.size != 1:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if (not source.ndim) != (not input.ndim):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )


def _check_rows(name: str, input: Any, d: int, index: Any, source: Any) -> None:
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {scalar_name(index)} "
        )
    _integers(index, f"{name}(): Expected dtype int32/int64 for index but got: {scalar_name(index)}")
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"{name}(): self ({scalar_name(input)}) and source ({scalar_name(source)}) must have the same scalar type"
        )
    if source.shape[d : d + 1] != index.shape and source.ndim:
        count = source.shape[d] if d < source.ndim else 1
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {d}"
        )
    if input.shape[:d] + input.shape[d + 1 :] != source.shape[:d] + source.shape[d + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            "self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )


def _rows_into(name: str, input: Any, dim: int, index: Any, source: Any) -> tuple[int, Any, Any, Any]:
    """The dimension from the front and the operands, of one dimension at least, of slices that go where an index says."""
    d = strides.wrap_dim(dim, input.ndim)
    if index.ndim < 2 and input.dtype == source.dtype:
        _check_ranks(name, input, index, source)
    input, index, source = _lifted(input, index, source)
    _check_rows(name, input, d, index, source)
    return d, input, index, source


@op(inplace=True, saved={"index": "source", "source": "source"})
def index_add(input: Array, dim: int, index: Array, source: Array, *, alpha: Scalar = 1):
    """The input with `alpha * source` added to the slices at the indices; repeated indices add up."""
    shape = input.shape
    d, input, index, source = _rows_into("index_add_", input, dim, index, source)
    n = input.shape[d]
    once = isinstance(alpha, int) and alpha == 1
    flag_outside(index, 0, n, _out_of_bounds(0, n) if once and len(shape) > 1 and index.dtype == np.int64 else _outside)
    if not once:
        source = source * jnp.asarray(alpha).astype(source.dtype)
    at = input.at[_slices(index, d)]
    if input.dtype == np.bool_:
        return at.max(source, mode="promise_in_bounds").reshape(shape)
    return at.add(source, mode="promise_in_bounds").reshape(shape)


def _outside(index: int) -> Exception:
    return IndexError("index out of range in self")


@op(inplace=True, saved={"source": "source"})
def index_copy(input: Array, dim: int, index: Array, source: Array):
    """The input with the slices at the indices replaced by those of `source`."""
    shape = input.shape
    d = strides.wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim and shape and source.ndim != len(shape):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality "
            f"({source.ndim}), destination dimensionality ({len(shape)})"
        )
    if not source.ndim and not index.size == 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    rest = [tuple(s[:d] + s[d + 1 :]) for s in (shape, source.shape)]
    if rest[0] != rest[1] and not (source.ndim and shape):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, rest[0]))} at dimension {d} and source slice shape: {' '.join(map(str, rest[1]))} at dimension 0."
        )
    input, index, source = _lifted(input, index, source)
    _integers(index, f"index_copy_(): Expected a long tensor for index, but got {scalar_name(index)}", ("int64",))
    _same_dtype("index_copy_()", input, source)
    if source.ndim == input.ndim:
        for k, (a, b) in enumerate(zip(input.shape, source.shape, strict=True)):
            if k != d and a != b:
                raise RuntimeError(
                    "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
                    "slice shape: "
                    f"{_shown(input.shape, d)} at dimension {d} and source slice shape: "
                    f"{_shown(source.shape, d)} at "
                    f"dimension {d}."
                )
    if source.shape[d] != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({source.shape[d]})"
        )
    n = input.shape[d]
    flag_outside(index, 0, n, _out_of_bounds(0, n, "index_copy_(): ", IndexError))
    return set_at(input, source, _slices(index, d)).reshape(shape)


def _shown(shape: Any, d: int) -> str:
    return " ".join([str(n) for k, n in enumerate(shape) if k != d])


def _fill_rows(input: Any, dim: int, index: Any, value: Any) -> Any:
    shape = input.shape
    d = strides.wrap_dim(dim, input.ndim)
    _integers(index, "index_fill_(): Expected dtype int64 for index.", ("int64",), IndexError)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    input, index = _lifted(input, index)
    n = input.shape[d]
    flag_outside(index, -n, n, _out_of_bounds(0, n, "", IndexError))
    index = jnp.where(index < 0, index + n, index)
    chosen = jnp.zeros(n, np.bool_).at[index].set(True, mode="promise_in_bounds")  # an index given twice counts once
    chosen = lax.expand_dims(chosen, [i for i in range(input.ndim) if i != d])
    return jnp.where(chosen, value.astype(input.dtype), input).reshape(shape)


@inner_op(inplace=True, grad="IndexFillBackward0", like_input=True, unsaved=["input"])
def _index_fill_number(input: Array, dim: int, index: Array, value: Scalar):
    return _fill_rows(input, dim, index, jnp.asarray(value))


@inner_op(inplace=True, grad="IndexFillBackward1", like_input=True, unsaved=["input", "value"])
def _index_fill_tensor(input: Array, dim: int, index: Array, value: Array):
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return _fill_rows(input, dim, index, flag_overflow(value, input.dtype))


def _check_filling(input: Tensor, value: Any) -> None:
    """Refuse a complex number for what is not complex, a bool too."""
    if not isinstance(value, Tensor):
        need_kind("index_fill", "value", "Number", value)
    unreal = value.is_complex() if isinstance(value, Tensor) else isinstance(value, complex)
    if unreal and not input._value.aval.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


@function("index_fill", method=True)
@numpy_names
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """The input with the slices at the indices filled with a number or 0-d tensor."""
    if type(input) is not Tensor:
        need_tensor(input, "index_fill", "input")
    _check_filling(input, value)
    if isinstance(value, Tensor):
        return _index_fill_tensor(input, dim, index, value)
    check_long(value)
    return _index_fill_number(input, dim, index, assignable(value, input.dtype))


@method("index_fill_")
@numpy_names
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place form of `index_fill`."""
    warn_expanded(self, "index_fill_")
    _check_filling(self, value)
    if isinstance(value, Tensor):
        return _index_fill_tensor.inplace(self, dim, index, value)
    check_long(value)
    return _index_fill_number.inplace(self, dim, index, assignable(value, self.dtype))


@op(inplace=True, saved=["result"])
def index_reduce(input: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True):
    """The slices of `source` reduced ('prod', 'mean', 'amax', 'amin') into the input's at the indices."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    once("index_reduce() is in beta and the API may change at any time.")
    shape = input.shape
    d, input, index, source = _rows_into("index_reduce_", input, dim, index, source)
    if reduce in ("amax", "amin"):
        refuse("index_func_", input, "complex")
    elif reduce == "mean":
        refuse("div_floor_cpu", input, "bool")
    if not include_self:
        refuse("index_reduce_func_exclude_input_init", input, "bool", "complex")
    flag_outside(index, 0, input.shape[d], _outside)
    first = _reduced(jnp.moveaxis(input, d, 0), jnp.moveaxis(source, d, 0), (index,), reduce, include_self)
    return jnp.moveaxis(first, 0, d).reshape(shape)


# -- writing to single elements


def _check_scatter(name: str, input: Any, d: int, index: Any, src: Any) -> None:
    _integers(index, f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and input.dtype != src.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return
    if index.ndim != input.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if src is not None and index.ndim != src.ndim:
        if index.ndim > src.ndim and all(n <= m for n, m in zip(index.shape, src.shape, strict=False)):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-src.ndim}, {src.ndim - 1}], but got {src.ndim})"
            )
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    too_big = any(k != d and n > m for k, (n, m) in enumerate(zip(index.shape, input.shape, strict=True)))
    if src is not None:
        too_big = too_big or any(n > m for n, m in zip(index.shape, src.shape, strict=True))
        if too_big:
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart "
                f"from dimension "
                f"{d} and to be no larger size than src {list(src.shape)}"
            )
    elif too_big:
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {d}"
        )


def _scattered(name: str, input: Any, dim: int, index: Any, src: Any, write: Callable[[Any, Any, Any], Any]) -> Any:
    """`write(x, src, at)` with the operands of a scatter, checked."""
    shape = input.shape
    d = strides.wrap_dim(dim, input.ndim)
    whole = src.ndim or not index.ndim
    input, index = _lifted(input, index)
    if whole:
        (src,) = _lifted(src)
    _check_scatter(name, input, d, index, src if whole else None)
    if not index.size:
        return input.reshape(shape)
    n = input.shape[d]
    flag_outside(index, 0, n, _out_of_bounds(d, n))
    part = src[tuple([slice(k) for k in index.shape])] if whole else jnp.broadcast_to(src, index.shape)
    return write(input, part.astype(input.dtype), _along(index, d)).reshape(shape)


def _add_at(x: Any, src: Any, at: Any) -> Any:
    if x.dtype == np.bool_:
        return x.at[at].max(src, mode="promise_in_bounds")
    return x.at[at].add(src, mode="promise_in_bounds")


def _times_at(x: Any, src: Any, at: Any) -> Any:
    return _product_at(x, src, at, True)


def _check_source(input: Any, dim: int, index: Any, src: Any) -> None:
    strides.wrap_dim(dim, input.ndim)
    if input.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.ndim and not src.ndim and index.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")


@inner_op(inplace=True, grad="ScatterBackward0")
def _scatter_src(input: Array, dim: int, index: Array, src: Array):
    _check_source(input, dim, index, src)
    return _scattered("scatter", input, dim, index, src, set_at)


@inner_op(inplace=True, grad="ScatterBackward1")
def _scatter_value(input: Array, dim: int, index: Array, value: Scalar):
    value = jnp.asarray(value).astype(input.dtype)
    return _scattered("scatter", input, dim, index, value, set_at)


def _writer(reduce: str) -> Any:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _add_at if reduce == "add" else _times_at


_underived = no_derivative(RuntimeError, "derivative for aten::scatter is not implemented")(lambda found, *of: found)


@inner_op(inplace=True, grad="NotImplemented")
def _scatter_src_reduce(input: Array, dim: int, index: Array, src: Array, reduce: str):
    _check_source(input, dim, index, src)
    found = _scattered("scatter", input, dim, index, src, _writer(reduce))
    return _underived(found, input, src)


@inner_op(inplace=True, grad="NotImplemented")
def _scatter_value_reduce(input: Array, dim: int, index: Array, value: Scalar, reduce: str):
    found = _scattered("scatter", input, dim, index, jnp.asarray(value).astype(input.dtype), _writer(reduce))
    return _underived(found, input)


def _scatter_any(inplace: bool, input: Tensor, dim: int, index: Tensor, src: Any, value: Any, reduce: Any) -> Tensor:
    given = src if value is None else value
    if given is None:
        raise TypeError('scatter() missing 1 required positional arguments: "src"')
    if reduce is not MISSING:
        need_kind("scatter", "reduce", "str", reduce)
    if not isinstance(given, Tensor):
        need_kind("scatter", "value", "Number", given)
    if isinstance(given, Tensor):
        made, rest = (_scatter_src, ()) if reduce is MISSING else (_scatter_src_reduce, (reduce,))
    else:
        made, rest = (_scatter_value, ()) if reduce is MISSING else (_scatter_value_reduce, (reduce,))
        given = assignable(given, input.dtype)
    return (made.inplace if inplace else made)(input, dim, index, given, *rest)


@function("scatter", method=True)
@numpy_names
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = MISSING,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The input with elements of `src` (or a number) written where `index` says along a dimension.

    reduce: 'add' or 'multiply' combines them with what is there.
    """
    result = _scatter_any(False, input, dim, index, src, value, reduce)
    if out is None:
        return result
    refuse_parts(out, (input,))
    refuse_shared(out, (index, src))
    return write_out(out, result, "scatter")


@method("scatter_")
@numpy_names
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = MISSING
) -> Tensor:
    """In-place form of `scatter`."""
    return _scatter_any(True, self, dim, index, src, value, reduce)


@op(inplace=True, saved={"index": "src"})
def scatter_add(input: Array, dim: int, index: Array, src: Array):
    """The input with elements of `src` added where `index` says along a dimension."""
    _check_source(input, dim, index, src)
    return _scattered("scatter", input, dim, index, src, _add_at)


@op(inplace=True, saved=["input", "src", "result"])
def scatter_reduce(input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True):
    """Elements of `src` reduced ('sum', 'prod', 'mean', 'amax', 'amin') into where `index` says."""
    strides.wrap_dim(dim, input.ndim)
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _check_source(input, dim, index, src)
    if index.size and reduce not in ("sum", "prod"):
        refuse(f"scatter_gather_tensor_cpu_reduce_{reduce}", input, "bool" if reduce == "mean" else "complex")

    def write(x: Any, part: Any, at: Any) -> Any:
        return _reduced(x, part, at, reduce, include_self)

    return _scattered("scatter", input, dim, index, src, write)


# -- reductions into places


def _reduced(x: Any, src: Any, at: Any, reduce: str, include_self: bool) -> Any:
    """`src` reduced into `x` at a NumPy index, with PyTorch's gradients."""
    mode = "promise_in_bounds"
    if reduce == "prod":
        return _product_at(x, src, at, include_self)
    if reduce in ("amax", "amin"):
        return _extreme_at(x, src, at, reduce == "amax", include_self)
    counts = jnp.zeros(x.shape, np.int64).at[at].add(1, mode=mode)
    kept = x if include_self else jnp.where(counts > 0, jnp.zeros_like(x), x)
    total = _add_at(kept, src, at)
    if reduce == "sum":
        return total
    count = jnp.maximum(counts + int(include_self), 1)
    if jnp.issubdtype(x.dtype, jnp.integer):
        return total // count.astype(x.dtype)
    return total / count.astype(x.dtype)


def _started(x: Any, at: Any, neutral: Any, include_self: bool) -> Any:
    """`x`, or where the places lie, unless it takes part itself, the neutral element."""
    return x if include_self else x.at[at].set(jnp.asarray(neutral, x.dtype), mode="promise_in_bounds")


def _other_factors(src: Any, place: Any) -> Any:
    """For each element the product of the others that go to the same place: without division, so right at zeros, too, and
    for derivatives of any order. As products of those before and those after it, among equal places (sorted)."""
    place, values = place.reshape(-1), src.reshape(-1)
    if not values.size:
        return src
    order = sorted_with(place, 0)[1]
    values, place = values[order], place[order]
    n = place.shape[0]
    change = lax.slice_in_dim(place, 1, n) != lax.slice_in_dim(place, 0, n - 1)
    edge = jnp.ones(1, bool)

    def multiply(a: Any, b: Any) -> Any:
        return a[0] | b[0], jnp.where(b[0], b[1], a[1] * b[1])

    def running(values: Any, begins: Any, shift: int, reverse: bool) -> Any:
        shifted = jnp.where(begins, jnp.ones_like(values), jnp.roll(values, shift))
        return lax.associative_scan(multiply, (begins, shifted), reverse=reverse)[1]

    before = running(values, jnp.concatenate([edge, change]), 1, False)
    after = running(values, jnp.concatenate([change, edge]), -1, True)
    return jnp.zeros_like(values).at[order].set(before * after).reshape(src.shape)


def _product_at(x: Any, src: Any, at: Any, include_self: bool) -> Any:
    mode = "promise_in_bounds"

    def product(x: Any, src: Any, *at: Any) -> Any:
        start = _started(x, at, 1, include_self)
        if x.dtype == np.bool_:
            return start.at[at].min(src, mode=mode)
        return start.at[at].multiply(src, mode=mode)

    def others(src: Any, x: Any, at: Any) -> Any:
        return _other_factors(src, up_to(x.size).reshape(x.shape)[at])

    def of_factor(t: Any, ans: Any, src: Any, x: Any, *at: Any) -> Any:
        return jnp.zeros_like(x).at[at].add(t * others(src, x, at), mode=mode)

    @derivatives(of_factor, None, *[None] * len(at))
    def factor(src: Any, x: Any, *at: Any) -> Any:
        """What each place of `x` is multiplied by."""
        return jnp.ones_like(x).at[at].multiply(src, mode=mode)

    def of_x(t: Any, ans: Any, x: Any, src: Any, *at: Any) -> Any:
        if include_self:
            return t * factor(src, x, *at)
        return jnp.where(jnp.zeros(x.shape, np.bool_).at[at].set(True, mode=mode), jnp.zeros_like(t), t)

    def of_src(t: Any, ans: Any, x: Any, src: Any, *at: Any) -> Any:
        start = _started(x, at, 1, include_self)
        return jnp.zeros_like(x).at[at].add(t * start[at] * others(src, x, at), mode=mode)

    return derivatives(of_x, of_src, *[None] * len(at))(product)(x, src, *at)


def _extreme_at(x: Any, src: Any, at: Any, largest: bool, include_self: bool) -> Any:
    mode = "promise_in_bounds"
    if jnp.issubdtype(x.dtype, jnp.floating):
        neutral = -jnp.inf if largest else jnp.inf
    elif x.dtype == np.bool_:
        neutral = not largest
    else:
        neutral = jnp.iinfo(x.dtype).min if largest else jnp.iinfo(x.dtype).max

    def extreme(x: Any, src: Any, *at: Any) -> Any:
        place = _started(x, at, neutral, include_self).at[at]
        return place.max(src, mode=mode) if largest else place.min(src, mode=mode)

    def winners(ans: Any, x: Any, src: Any, at: Any) -> tuple[Any, Any, Any]:
        touched = jnp.zeros(x.shape, np.bool_).at[at].set(True, mode=mode)
        own = jnp.where(touched, (x == ans) & include_self, True)
        theirs = src == ans[at]
        return own, theirs, own.astype(x.dtype).at[at].add(theirs.astype(x.dtype), mode=mode)

    def of_x(t: Any, ans: Any, x: Any, src: Any, *at: Any) -> Any:
        own, _, count = winners(ans, x, src, at)
        return jnp.where(own, t / jnp.maximum(count, 1), jnp.zeros_like(t))

    def of_src(t: Any, ans: Any, x: Any, src: Any, *at: Any) -> Any:
        _, theirs, count = winners(ans, x, src, at)
        return jnp.zeros_like(x).at[at].add(jnp.where(theirs, t / count[at], jnp.zeros_like(t)), mode=mode)

    return derivatives(of_x, of_src, *[None] * len(at))(extreme)(x, src, *at)


@op(inplace=True, out=False, like_input=True, saved={"source": "source"})
def put(input: Array, index: Array, source: Array, accumulate: bool = False):
    """The input with the elements of `source` written (or added) at indices into the flattened input."""
    _integers(index, f"put_(): Expected a long tensor for index, but got {scalar_name(index)}", ("int64",))
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    if input.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{scalar_name(input)} and source.dtype = {scalar_name(source)}"
        )
    if not input.size and index.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    flat, at = input.reshape(-1), (_wrapped(index.reshape(-1), input.size),)
    write = _add_at if accumulate else set_at
    return write(flat, source.reshape(-1), at).reshape(input.shape)


for _name in ("scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_reduce",
              "slice_scatter"):  # fmt: skip
    strict_out[_name] = need_same
