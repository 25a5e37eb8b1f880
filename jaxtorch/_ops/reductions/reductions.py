"""Reductions: sums, means, products, extremes, truth, and what they need to know about dimensions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.compile.symbolic_sizes import scalar
from ..._core.define.op import Array, Ints, function, functions, inner_op, method, op
from ..._core.define.signature import once_given
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, write_out
from ..._core.types import dtypes
from ..._core.types.size import as_size
from ..._core.types.structseq import types
from ..common import nan_extremes
from ..common.exact_division import quotient
from ..common.rules import HALVES, check_mean, derivatives, kind, refuse, scalar_name, to_float, unsupported, zeros_mask
from ..types.casting import computed_in

# -- dimensions


def one_axis(name: str, dim: Any, ndim: int, argument: str = "dim") -> int:
    """A single dimension, from the front; a 0-d tensor has one to name."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(dim).__name__}")
    return strides.wrap_dim(operator.index(dim), ndim)


def need_few_dims(ndim: int) -> None:
    """RuntimeError where dimensions to reduce are named of a tensor that has more than PyTorch has bits for."""
    if ndim > 64:
        raise RuntimeError("only tensors with up to 64 dims are supported")


def axes_of(name: str, dim: Any, ndim: int, empty_is_all: bool = True) -> tuple[int, ...]:
    """The axes that `dim` (an int, a tuple or None) names, from the front; none of a 0-d tensor's."""
    if dim is None:
        return tuple(range(ndim))
    if dim != () or not empty_is_all:
        need_few_dims(ndim)
    if not isinstance(dim, tuple):
        if isinstance(dim, bool) or not hasattr(dim, "__index__"):
            raise TypeError(f"{name}(): argument 'dim' (position 1) must be tuple of ints, not {type(dim).__name__}")
        dim = (dim,)
    elif not dim and empty_is_all:
        return tuple(range(ndim))
    found: list[int] = []
    for d in dim:
        if isinstance(d, bool) or not hasattr(d, "__index__"):
            raise TypeError(
                f"{name}(): argument 'dim' (position 1) must be tuple of ints, but found element of type "
                f"{type(d).__name__}"
            )
        axis = strides.wrap_dim(operator.index(d), ndim)
        if axis in found:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
        found.append(axis)
    return tuple(found) if ndim else ()


def extent(x: Any, axes: tuple[int, ...]) -> int:
    """How many elements are reduced to one."""
    n = 1
    for a in axes:
        n *= x.shape[a]
    return n


def need_elements(name: str, x: Any, dim: int, colon: str = "():") -> None:
    """IndexError where a dimension that must hold something is empty."""
    if x.ndim and x.shape[dim] == 0:
        raise IndexError(f"{name}{colon} Expected reduction dim {dim} to have non-zero size.")


def wide(x: Any) -> Any:
    """Half precision in single: the type sums and products are accumulated in."""
    return x.astype(np.float32) if x.dtype in HALVES else x


def bad_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], expected: list[str]) -> NoReturn:
    """TypeError for arguments that fit none of the signatures."""
    got = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
    lines = "".join([f"\n * ({e})" for e in expected])
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(got)}), but expected one of:{lines}\n"
    )


def full_or_dims(name: str) -> Callable[..., str]:
    """grad_fn names of reductions: 0 over everything, 1 over named dimensions."""

    def named(operand_keys: Any, statics: Any) -> str:
        return f"{name}Backward{0 if statics[0] is None and not statics[1] else 1}"

    return named


# -- sums


def _summand(x: Any, dtype: Any) -> Any:
    """The input in the type its sum has."""
    if dtype is not None:
        return computed_in(x, dtype)
    return x.astype(np.int64) if kind(x) in ("bool", "int") else x


def _sum(x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    return jnp.sum(wide(x), axes, keepdims=bool(keepdim)).astype(x.dtype)


@op(grad=full_or_dims("Sum"))
def sum(input: Array, dim: Ints | None = None, keepdim: bool = False, *, dtype: object = None):
    """The sum over dimensions (an int, a tuple, None for all); integers add up in int64."""
    x = _summand(input, dtype)
    if kind(x) == "bool":
        return jnp.any(x, axes_of("sum", dim, x.ndim), keepdims=bool(keepdim))
    return _sum(x, axes_of("sum", dim, x.ndim), keepdim)


@op()
def nansum(input: Array, dim: Ints | None = None, keepdim: bool = False, *, dtype: object = None):
    """The sum with NaN counted as zero; no complex inputs."""
    if kind(input) == "complex":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    floats = kind(input) == "float"
    x = _summand(zeros_mask(~jnp.isnan(input), input) if floats else input, dtype)
    if floats:
        refuse("nansum_cpu", x, "complex")
    return _sum(x, axes_of("nansum", dim, x.ndim), keepdim)


def _averaged(input: Any, dtype: Any) -> Any:
    if dtype is not None:
        if dtypes.category(dtype) < 2:
            raise RuntimeError(
                "mean(): could not infer output dtype. Optional dtype must be either a floating point or "
                "complex dtype. "
                f"Got: {dtypes.scalar_name(dtype)}"
            )
        return computed_in(input, dtype)
    check_mean(input)
    return input


@op(grad=full_or_dims("Mean"))
def mean(input: Array, dim: Ints | None = None, keepdim: bool = False, *, dtype: object = None):
    """The mean over dimensions (an int, a tuple, None for all) of floating-point or complex numbers."""
    x = _averaged(input, dtype)
    axes = axes_of("mean", dim, x.ndim)
    n = extent(x, axes)
    total = jnp.sum(wide(x), axes, keepdims=bool(keepdim))
    return quotient(total, scalar(n, total.dtype)).astype(x.dtype)


@op(grad="DivBackward0")
def nanmean(input: Array, dim: Ints | None = None, keepdim: bool = False, *, dtype: object = None):
    """The mean of what is not NaN; no integers, no complex numbers."""
    if kind(input) in ("bool", "int"):
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {scalar_name(input)}"
        )
    if kind(input) == "complex":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    x = input if dtype is None else computed_in(input, dtype)  # pyright: ignore[reportArgumentType]
    axes = axes_of("nanmean", dim, x.ndim)
    there = ~jnp.isnan(x)
    total = _sum(zeros_mask(there, x), axes, keepdim)
    return quotient(total, jnp.sum(there, axes, keepdims=bool(keepdim)).astype(x.dtype))


@op(grad=full_or_dims("Prod"), saved=["input", "result"])
def prod(input: Array, dim: int | None = None, keepdim: bool = False, *, dtype: object = None):
    """The product over one dimension or all; integers multiply in int64. Zeros have exact gradients."""
    if dim is None:
        if keepdim:
            bad_call("prod", (), {"keepdim": keepdim}, ["*, torch.dtype dtype = None"])
        axes = tuple(range(input.ndim))
    elif isinstance(dim, tuple):
        bad_call(
            "prod",
            (dim,),
            {},
            ["*, torch.dtype dtype = None", "int dim, bool keepdim = False, *, torch.dtype dtype = None"],
        )
    else:
        axes = axes_of("prod", dim, input.ndim)
    x = _summand(input, dtype)
    return jnp.prod(wide(x), axes, keepdims=bool(keepdim)).astype(x.dtype)


def _start_of(size: Any, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    lead = len(shape) - len(size)
    fits = lead >= 0 and not [n for n, m in zip(size, shape[lead:], strict=True) if n not in (1, m)]
    if not fits:
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    return lead, tuple(size)


@method("sum_to_size")
def sum_to_size(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The sum over the dimensions that broadcasting from `size` would have added or stretched; without any, the tensor itself."""
    if not sizes and size is None:
        raise TypeError('sum_to_size() missing 1 required positional arguments: "size"')
    if sizes and size is not None:
        raise TypeError("sum_to_size() got multiple values for argument 'size'")
    shape = self._value.aval.shape
    lead, size = _start_of(as_size(sizes if size is None else (size,), "sum_to_size"), shape)
    if not size:
        return functions["sum"](self)
    axes = [*range(lead), *[lead + i for i, n in enumerate(size) if n == 1 and shape[lead + i] != 1]]
    summed = functions["sum"](self, axes, True) if axes else self
    return summed.view(size) if lead else summed


@op(differentiable=False, method=False, out=False)
def count_nonzero(input: Array, dim: Ints | None = None):
    """How many elements are not zero, over dimensions (an int, a tuple, None for all)."""
    return jnp.sum(input != 0, axes_of("count_nonzero", dim, input.ndim), dtype=np.int64)


@method("count_nonzero")
def _count_nonzero(self: Tensor, dim: Any = None, *more: int, **axis: Any) -> Tensor:
    """`torch.count_nonzero`, whose dimensions may be given one by one."""
    return count_nonzero(self, (dim, *more) if more else dim, **axis)


def log_sum_exp(x: Any, axes: tuple[int, ...]) -> Any:
    """`log(sum(exp(x)))` with the axes kept, without overflow."""

    @derivatives(lambda t, ans, x: jnp.sum(t * jnp.exp(x - ans), axes, keepdims=True))
    def computed(x: Any) -> Any:
        if extent(x, axes) == 0:
            return jnp.full([1 if i in axes else n for i, n in enumerate(x.shape)], -np.inf, x.dtype)
        top = jnp.max(jnp.real(x), axes, keepdims=True)
        top = jnp.where(jnp.isfinite(top), top, 0)
        return jnp.log(jnp.sum(jnp.exp(x - top), axes, keepdims=True)) + top

    return computed(x)


@op(saved=["result"])
def logsumexp(input: Array, dim: Ints, keepdim: bool = False):
    """`log(sum(exp(input)))` over dimensions, without overflow; integers become floating point."""
    x = to_float(input)
    axes = axes_of("logsumexp", dim, x.ndim)
    if isinstance(dim, (tuple, list)) and not dim and x.ndim and x.size and not keepdim:  # what PyTorch makes of that
        raise RuntimeError(f"output with shape [] doesn't match the broadcast shape {[1] * x.ndim}")
    out = log_sum_exp(wide(x), axes).astype(x.dtype)
    return out if keepdim else jnp.squeeze(out, axes)


# -- truth


def _truth(input: Any, reduce: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    out = reduce(input != 0 if kind(input) != "bool" else input, axes, keepdims=bool(keepdim))
    return out.astype(np.uint8) if input.dtype == np.uint8 else out


@op(differentiable=False)
def any(input: Array, dim: Ints | None = None, keepdim: bool = False):
    """Is some element true (not zero)? uint8 answers uint8."""
    return _truth(input, jnp.any, axes_of("any", dim, input.ndim, empty_is_all=False), keepdim)


@op(differentiable=False)
def all(input: Array, dim: Ints | None = None, keepdim: bool = False):
    """Are all elements true (not zero)? uint8 answers uint8."""
    return _truth(input, jnp.all, axes_of("all", dim, input.ndim, empty_is_all=False), keepdim)


# -- extremes


def follow(select: Callable[[Any], tuple[Any, Any]], x: Any, axis: int) -> tuple[Any, Any]:
    """`select(x)`: values and their indices along an axis that stays. The gradient goes to those indices."""

    @jax.custom_jvp
    def chosen(x: Any) -> Any:
        return select(x)

    @chosen.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        values, indices = chosen(*primals)
        (t,) = tangents
        if t.dtype == jax.dtypes.float0:
            moved: Any = np.zeros(values.shape, jax.dtypes.float0)
        elif x.ndim == 0:
            moved = t
        elif indices.shape[axis] == 1:
            here = jax.lax.broadcasted_iota(np.int64, t.shape, axis) == indices
            moved = jnp.sum(zeros_mask(here, t), axis, keepdims=True, dtype=t.dtype)
        else:
            moved = jnp.take_along_axis(t, indices, axis)
        return (values, indices), (moved, np.zeros(indices.shape, jax.dtypes.float0))

    return chosen(x)


def shared_extreme(x: Any, axes: tuple[int, ...], reduce: Callable[..., Any], nan_counts: bool = True) -> Any:
    """An extreme with the axes kept, its gradient shared evenly among the elements that attain it.

    Where it is NaN, the NaNs share it if they count; otherwise nobody attains it and the gradient is NaN.
    """

    def slope(t: Any, ans: Any, x: Any) -> Any:
        at = (x == ans) | ((x != x) & (ans != ans)) if nan_counts else x == ans
        count = jnp.sum(at, axes, keepdims=True)
        share = jnp.where(count == 0, np.nan, at.astype(t.dtype) / jnp.maximum(count, 1).astype(t.dtype))
        return jnp.sum(t * share, axes, keepdims=True)

    @derivatives(slope)
    def computed(x: Any) -> Any:
        return reduce(x, axes, keepdims=True)

    return computed(x)


def first_index(x: Any, axis: int, largest: bool) -> Any:
    """The index of the first extreme (of the first NaN, if there is one), the axis kept."""
    if kind(x) == "bool":
        x = x.astype(np.uint8)
    find = jnp.argmax if largest else jnp.argmin
    if x.ndim == 0:
        return jnp.zeros((), np.int64)
    return find(x, axis, keepdims=True).astype(np.int64)


def _amax(name: str, reduce: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    refuse(f"{name[1:]}_values_cpu", input, "complex")
    axes = axes_of(name, dim, input.ndim)
    if input.size == 0:
        if dim is None or dim == ():
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the "
                "'dim' argument."
            )
        for a in axes:
            need_elements(name, input, a)
    out = shared_extreme(input, axes, reduce, nan_counts=False)
    return out if keepdim else jnp.squeeze(out, axes)


@op()
def amax(input: Array, dim: Ints | None = (), keepdim: bool = False):
    """The largest element over dimensions; equal ones share the gradient evenly."""
    return _amax("amax", nan_extremes.largest, input, dim, keepdim)


@op()
def amin(input: Array, dim: Ints | None = (), keepdim: bool = False):
    """The smallest element over dimensions; equal ones share the gradient evenly."""
    return _amax("amin", nan_extremes.smallest, input, dim, keepdim)


@op(saved=["result", "result1"])
def aminmax(input: Array, *, dim: int | None = None, keepdim: bool = False):
    """The smallest and the largest element, over one dimension or all."""
    refuse("aminmax_cpu", input, "complex")
    if dim is None:
        if input.size == 0:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
        axes = tuple(range(input.ndim))
    else:
        axis = one_axis("aminmax", dim, input.ndim)
        need_few_dims(input.ndim)
        need_elements("aminmax", input, axis, ":")
        axes = (axis,) if input.ndim else ()
    low, high = (
        shared_extreme(input, axes, nan_extremes.smallest, nan_counts=False),
        shared_extreme(input, axes, nan_extremes.largest, nan_counts=False),
    )
    return types.aminmax((low, high) if keepdim else (jnp.squeeze(low, axes), jnp.squeeze(high, axes)))


def _index_of(name: str, largest: bool, input: Any, dim: Any, keepdim: bool) -> Any:
    if kind(input) in ("bool", "complex"):
        raise RuntimeError(f"{name}(): does not support {kind(input)} input")
    if dim is None:
        if input.size == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        out = first_index(input.reshape(-1), 0, largest)
        return out.reshape((1,) * input.ndim if keepdim else ())
    axis = one_axis(name, dim, input.ndim)
    need_few_dims(input.ndim)
    need_elements(name, input, axis)
    out = first_index(input, axis, largest)
    return out if keepdim or not input.ndim else jnp.squeeze(out, axis)


@op(differentiable=False)
def argmax(input: Array, dim: int | None = None, keepdim: bool = False):
    """The index of the largest element along a dimension, or of all flattened; NaN counts as largest."""
    return _index_of("argmax", True, input, dim, keepdim)


@op(differentiable=False)
def argmin(input: Array, dim: int | None = None, keepdim: bool = False):
    """The index of the smallest element along a dimension, or of all flattened; NaN counts as smallest."""
    return _index_of("argmin", False, input, dim, keepdim)


def _whole(name: str, reduce: Any, input: Any) -> Any:
    if input.size == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the "
            "'dim' argument."
        )
    if kind(input) == "complex":
        unsupported(f"{name}_all", input)
    axes = tuple(range(input.ndim))
    return jnp.squeeze(shared_extreme(input, axes, reduce), axes)


def _along(name: str, largest: bool, input: Any, dim: Any, keepdim: bool) -> Any:
    axis = one_axis(name, dim, input.ndim)
    need_few_dims(input.ndim)
    if kind(input) == "complex":
        raise RuntimeError(f"{name}(): does not support complex input")
    need_elements(name, input, axis)

    def select(x: Any) -> tuple[Any, Any]:
        if not x.ndim:
            return x, jnp.zeros((), np.int64)
        reduce = nan_extremes.largest if largest else nan_extremes.smallest
        return reduce(x, axis, keepdims=True), first_index(x, axis, largest)

    values, indices = follow(select, input, axis)
    if not keepdim and input.ndim:
        values, indices = jnp.squeeze(values, axis), jnp.squeeze(indices, axis)
    return getattr(types, name)((values, indices))


@inner_op(grad="MaxBackward1", saved=["result"])
def _max_all(input: Array):
    return _whole("max", nan_extremes.largest, input)


@inner_op(grad="MinBackward1", saved=["result"])
def _min_all(input: Array):
    return _whole("min", nan_extremes.smallest, input)


@op(function=False, method=False, grad="MaxBackward0", unsaved=["input"], saved=["result1"])
def _max_dim(input: Array, dim: int, keepdim: bool):
    return _along("max", True, input, dim, keepdim)


@op(function=False, method=False, grad="MinBackward0", unsaved=["input"], saved=["result1"])
def _min_dim(input: Array, dim: int, keepdim: bool):
    return _along("min", False, input, dim, keepdim)


UNSET: Any = object()
"""What an overloaded function takes an argument for that was not given."""


def _extreme_overloads(name: str, whole: Any, along: Any, pairwise: str) -> Callable[..., Any]:
    """The three functions that share a name: of everything, along a dimension, and of two tensors."""
    expected = [
        "Tensor input, *, Tensor out = None",
        "Tensor input, Tensor other, *, Tensor out = None",
        "Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None",
    ]

    def extreme(
        input: Tensor, dim: Any = UNSET, keepdim: Any = UNSET, *, other: Any = UNSET, out: Any = None,
        axis: Any = UNSET, keepdims: Any = UNSET, x2: Any = UNSET,
    ) -> Any:  # fmt: skip
        if x2 is not UNSET:
            other = once_given(name, "other", other, UNSET, x2)
        if axis is not UNSET:
            dim = once_given(name, "dim", dim, UNSET, axis)
        if keepdims is not UNSET:
            keepdim = once_given(name, "keepdim", keepdim, UNSET, keepdims)
        if dim is UNSET and keepdim is UNSET and other is UNSET:
            found = whole(input)
        elif dim.__class__ is int or (dim is not UNSET and not isinstance(dim, Tensor) and hasattr(dim, "__index__")):
            return along(input, dim, False if keepdim is UNSET else keepdim, out=out)
        elif keepdim is UNSET and isinstance(other if dim is UNSET else dim, Tensor):
            return functions[pairwise](input, other if dim is UNSET else dim, out=out)
        else:
            given = {"dim": dim, "keepdim": keepdim, "other": other}
            bad_call(name, (input,), {k: v for k, v in given.items() if v is not UNSET}, expected)
        return found if out is None else write_out(out, found, name)

    extreme.__name__ = extreme.__qualname__ = name
    return extreme


max = function("max", method=True)(_extreme_overloads("max", _max_all, _max_dim, "maximum"))
max.__doc__ = "`max(x)`, `max(x, dim)` with the indices, or `max(x, other)`, which is `maximum`."
min = function("min", method=True)(_extreme_overloads("min", _min_all, _min_dim, "minimum"))
min.__doc__ = "`min(x)`, `min(x, dim)` with the indices, or `min(x, other)`, which is `minimum`."
