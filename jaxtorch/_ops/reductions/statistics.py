"""Statistics: variance, median, mode, quantiles, covariance and histograms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.compile.symbolic_sizes import scalar
from ..._core.define.op import Array, Ints, Number, Operand, function, inner_op, numpy_names, op
from ..._core.define.signature import need_kind, once_given
from ..._core.record.value_checks import flag
from ..._core.tensor.tensor import Tensor, write_out
from ..._core.types import dtypes
from ..._core.types.structseq import types
from ..._core.types.warn_once import warn
from ..common.exact_division import quotient
from ..common.rules import derivatives, diagonal_of, kind, refuse, scalar_name, to_float, unsupported
from .reductions import UNSET, axes_of, bad_call, extent, follow, need_elements, one_axis, shared_extreme, wide
from .sorting import dropped, sorted_with

# -- variance


def _middle(x: Any, axes: tuple[int, ...]) -> Any:
    """The mean, its axes kept; finite where the sum is not, and NaN where an element is infinite, as PyTorch has it here."""
    n = extent(x, axes)
    room = scalar(1 << n.bit_length(), x.dtype)
    mean = quotient(jnp.sum(x, axes, keepdims=True), scalar(n, x.dtype))
    small = quotient(jnp.sum(x / room, axes, keepdims=True), scalar(n, x.dtype)) * room
    return jnp.where(jnp.isfinite(mean), mean, small if kind(x) == "complex" else small + (small - small))


def _from_mean(x: Any, axes: tuple[int, ...]) -> Any:
    return x - _middle(x, axes)


def _real_product(a: Any, b: Any) -> Any:
    return jnp.real(jnp.conj(a) * b) if kind(a) == "complex" else a * b


_WIDER = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
_REAL = dict.fromkeys(_WIDER, np.float32)


def variance(x: Any, axes: tuple[int, ...], freedom: float, root: bool) -> Any:
    """The variance, or its root, with the axes kept, for so many degrees of freedom."""

    def slope(t: Any, ans: Any, x: Any) -> Any:
        far = _from_mean(x, axes)
        if not (root or freedom):  # infinitely steep, as PyTorch has it, and no sign
            return jnp.sum(jnp.where(far == 0, np.nan, np.inf) * jnp.real(t), axes, keepdims=True).astype(ans.dtype)
        total = jnp.sum(_real_product(far, t), axes, keepdims=True)
        if not root:
            return total * (2 / freedom)
        over = ans * scalar(freedom, ans.dtype)
        safe = jnp.where(ans == 0, jnp.ones_like(over), over)
        return jnp.where(ans == 0, jnp.zeros_like(ans), total / safe)

    @derivatives(slope)
    def computed(x: Any) -> Any:
        far = _from_mean(x, axes)
        wide = far.astype(_WIDER.get(x.dtype, x.dtype))  # squares of large numbers, and of small ones, have room there
        total = jnp.sum(_real_product(wide, wide), axes, keepdims=True)
        found = quotient(total, scalar(freedom, total.dtype))
        real = found.astype(_REAL.get(x.dtype, found.dtype))
        if kind(x) == "complex":  # PyTorch adds the variances of both parts
            return jnp.sqrt(real) if root else real
        return jnp.sqrt(found).astype(real.dtype) if root else real

    return computed(x)


def _spread(name: str, input: Any, dim: Any, correction: Any, keepdim: bool, root: bool) -> tuple[Any, Any]:
    if kind(input) in ("bool", "int"):
        who = "std and var" if "_" not in name else name
        raise RuntimeError(f"{who} only support floating point and complex dtypes")
    axes = axes_of(name, dim, input.ndim)
    x = wide(input)
    freedom = extent(x, axes) - (1 if correction is None else correction)
    if not extent(x, axes):
        freedom = min(freedom, 0)  # of nothing it is NaN, whatever the correction
    if freedom <= 0:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
            "numel divided by output numel)."
        )
        freedom = 0.0
    found = variance(x, axes, freedom, root)
    mean = _middle(x, axes)
    if not keepdim:
        found, mean = jnp.squeeze(found, axes), jnp.squeeze(mean, axes)
    half = input.dtype != x.dtype
    return (found.astype(input.dtype), mean.astype(input.dtype)) if half else (found, mean)


@inner_op(grad="VarBackward0")
def _var(input: Array, dim: Ints | None, correction: Number, keepdim: bool):
    return _spread("var", input, dim, correction, keepdim, False)[0]


@inner_op(grad="StdBackward0", saved=["result"])
def _std(input: Array, dim: Ints | None, correction: Number, keepdim: bool):
    return _spread("std", input, dim, correction, keepdim, True)[0]


@inner_op(grad="VarMeanBackward0")
def _var_mean(input: Array, dim: Ints | None, correction: Number, keepdim: bool):
    return _spread("var_mean", input, dim, correction, keepdim, False)


@inner_op(grad="StdMeanBackward0", saved=["result"])
def _std_mean(input: Array, dim: Ints | None, correction: Number, keepdim: bool):
    return _spread("std_mean", input, dim, correction, keepdim, True)


def _spread_overloads(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    """`f(x, dim, correction=, keepdim=)`; the older `f(x, unbiased)`, `f(x, dim, unbiased, keepdim)`."""

    def spread(
        input: Tensor, dim: Any = None, unbiased: Any = UNSET, keepdim: Any = UNSET, *,
        correction: Any = UNSET, out: Tensor | None = None, axis: Any = UNSET, keepdims: Any = UNSET,
    ) -> Any:  # fmt: skip
        if axis is not UNSET:
            dim = once_given(name, "dim", dim, None, axis)
        if keepdims is not UNSET:
            keepdim = once_given(name, "keepdim", keepdim, UNSET, keepdims)
        if out is not None and (
            name.endswith("mean") or dim.__class__ is bool or (dim is None and unbiased is not UNSET)
        ):
            raise TypeError(f"{name}() received an invalid combination of arguments: this form of it takes no out=")
        if dim.__class__ is bool:
            if unbiased is not UNSET or correction is not UNSET or keepdim is not UNSET:
                _bad_spread(name, input, dim, unbiased, keepdim, correction)
            dim, unbiased = None, dim
        if unbiased is not UNSET:
            if correction is not UNSET or unbiased.__class__ is not bool:
                _bad_spread(name, input, dim, unbiased, keepdim, correction)
            correction = 1 if unbiased else 0
        elif correction is UNSET or correction is None:
            correction = 1
        found = inner(input, dim, correction, False if keepdim is UNSET else keepdim)
        return found if out is None else write_out(out, found, name)

    spread.__name__ = spread.__qualname__ = name
    return spread


def _bad_spread(name: str, input: Any, dim: Any, unbiased: Any, keepdim: Any, correction: Any) -> None:
    given = {"dim": dim, "unbiased": unbiased, "keepdim": keepdim, "correction": correction}
    bad_call(
        name,
        (input,),
        {k: v for k, v in given.items() if v is not UNSET},
        [
            "Tensor input, tuple of ints dim, bool unbiased = True, bool keepdim = False, *, Tensor out = None",
            "Tensor input, tuple of ints dim = None, *, Number correction = None, bool keepdim = False, "
            "Tensor out = None",
            "Tensor input, bool unbiased = True",
        ],
    )


var = function("var", method=True)(_spread_overloads("var", _var))
std = function("std", method=True)(_spread_overloads("std", _std))
var_mean = function("var_mean")(_spread_overloads("var_mean", _var_mean))
std_mean = function("std_mean")(_spread_overloads("std_mean", _std_mean))
for _f, _what in ((var, "variance"), (std, "standard deviation")):
    _f.__doc__ = f"The {_what} over dimensions (an int, a tuple, None for all), divided by `n - correction`."
for _f, _what in ((var_mean, "variance"), (std_mean, "standard deviation")):
    _f.__doc__ = f"The {_what} and the mean over dimensions, divided by `n - correction`."


# -- the middle, and the most frequent


def _median_place(x: Any, ordered: Any, axis: int, skip_nan: bool) -> Any:
    """Where the lower median is among the ordered elements (NaN last), or a NaN that counts."""
    n = x.shape[axis]
    if kind(x) != "float":
        return jnp.full(x.shape[:axis] + (1,) + x.shape[axis + 1 :], (n - 1) // 2, np.int64)
    there = jnp.sum(~jnp.isnan(ordered), axis, keepdims=True, dtype=np.int64)
    if skip_nan:
        return jnp.where(there == 0, 0, (jnp.maximum(there, 1) - 1) // 2)
    return jnp.where(there < n, there, (n - 1) // 2)


def _median(name: str, x: Any, axis: int, skip_nan: bool) -> tuple[Any, Any]:
    def select(x: Any) -> tuple[Any, Any]:
        ordered, at = sorted_with(x, axis)
        if not x.ndim:
            return ordered, at
        place = _median_place(x, ordered, axis, skip_nan)
        return jnp.take_along_axis(ordered, place, axis), jnp.take_along_axis(at, place, axis)

    return follow(select, x, axis)


def _check_median(name: str, input: Any) -> None:
    if kind(input) in ("bool", "complex"):
        unsupported(f"{'median' if name == 'median' else 'nanmedian'}_cpu", input)


def _median_all(name: str, input: Any, skip_nan: bool) -> Any:
    _check_median(name, input)
    if input.size == 0:
        if kind(input) != "float":
            raise RuntimeError(f"{name}(): expected a tensor with elements, got an empty {scalar_name(input)} tensor")
        return jnp.full((), np.nan, input.dtype)

    def middle(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        return _median(name, x.reshape(-1), 0, skip_nan)[0].reshape((1,) * x.ndim)

    axes = tuple(range(input.ndim))
    return jnp.squeeze(shared_extreme(input, axes, middle), axes)


def _median_dim(name: str, input: Any, dim: Any, keepdim: bool, skip_nan: bool) -> Any:
    axis = one_axis(name, dim, input.ndim)
    need_elements(name, input, axis)
    _check_median(name, input)
    return getattr(types, name)(dropped(*_median(name, input, axis, skip_nan), axis, keepdim))


@inner_op(grad="MedianBackward0")
def _median_whole(input: Array):
    return _median_all("median", input, False)


@inner_op(grad="MedianBackward1", unsaved=["input"])
def _median_along(input: Array, dim: int, keepdim: bool):
    return _median_dim("median", input, dim, keepdim, False)


@inner_op(grad="NanmedianBackward0")
def _nanmedian_whole(input: Array):
    return _median_all("nanmedian", input, True)


@inner_op(grad="NanmedianBackward1")
def _nanmedian_along(input: Array, dim: int, keepdim: bool):
    return _median_dim("nanmedian", input, dim, keepdim, True)


def _median_overloads(name: str, whole: Any, along: Any) -> Callable[..., Any]:
    def middle(
        input: Tensor, dim: Any = UNSET, keepdim: Any = UNSET, *, out: Any = None, axis: Any = UNSET,
        keepdims: Any = UNSET,
    ) -> Any:  # fmt: skip
        if axis is not UNSET:
            dim = once_given(name, "dim", dim, UNSET, axis)
        if keepdims is not UNSET:
            keepdim = once_given(name, "keepdim", keepdim, UNSET, keepdims)
        if dim is UNSET and (out is not None or keepdim is not UNSET):
            raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
        found = whole(input) if dim is UNSET else along(input, dim, keepdim is not UNSET and keepdim)
        return found if out is None else write_out(out, found, name)

    middle.__name__ = middle.__qualname__ = name
    return middle


median = function("median", method=True)(_median_overloads("median", _median_whole, _median_along))
median.__doc__ = "The lower median of all elements, or along a dimension with its index; NaN if there is one."
nanmedian = function("nanmedian", method=True)(_median_overloads("nanmedian", _nanmedian_whole, _nanmedian_along))
nanmedian.__doc__ = "The lower median of what is not NaN, of all elements or along a dimension with its index."


@op(unsaved=["input"], saved=["result1"])
def mode(input: Array, dim: int = -1, keepdim: bool = False):
    """The most frequent element along a dimension (of several the smallest), and its last index."""
    axis = one_axis("mode", dim, input.ndim)
    need_elements("mode", input, axis)
    if input.ndim:
        refuse("mode_cpu", input, "complex")

    def select(x: Any) -> tuple[Any, Any]:
        ordered, at = sorted_with(x, axis)
        if not x.ndim:
            return ordered, at
        n = x.shape[axis]
        place = lax.broadcasted_iota(np.int64, x.shape, axis)
        before = jnp.roll(ordered, 1, axis)
        new = (place == 0) | (ordered != before)
        start = lax.cummax(jnp.where(new, place, 0), axis)
        run = place - start  # how far into its run of equal elements each is
        longest = jnp.argmax(run, axis, keepdims=True).astype(np.int64) if n else place
        return jnp.take_along_axis(ordered, longest, axis), jnp.take_along_axis(at, longest, axis)

    return types.mode(dropped(*follow(select, input, axis), axis, keepdim))


# -- quantiles

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@inner_op(grad="SqueezeBackward4", unsaved=["input", "q"])
def _quantile(input: Array, q: Operand, dim: int | None, keepdim: bool, interpolation: str, name: str, number: bool):
    x = input
    if x.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if x.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if number:
        q = q.astype(x.dtype)
    elif q.dtype != x.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not number:
        bad = jnp.any(~((q >= 0) & (q <= 1)))
        flag(bad.astype(np.int64), lambda code: RuntimeError("quantile() q values must be in the range [0, 1]"))
    kept = [1] * x.ndim
    if dim is not None:
        axis = one_axis(name, dim, x.ndim)
        if x.ndim:
            kept = [1 if i == axis else n for i, n in enumerate(x.shape)]
            x = jnp.moveaxis(x, axis, -1)
    out_shape = kept if keepdim else [n for i, n in enumerate(kept) if dim is not None and x.ndim and i != axis]
    rows = x.reshape(-1, x.shape[-1]) if dim is not None and x.ndim else x.reshape(1, -1)
    found = _interpolated(rows, q.reshape(-1), interpolation, name == "nanquantile")  # (q, rows)
    return found.reshape(*q.shape, *out_shape)


def _interpolated(rows: Any, q: Any, how: str, skip_nan: bool) -> Any:
    ordered, _ = follow(lambda x: sorted_with(x, 1), rows, 1)
    n = rows.shape[1]
    bad = jnp.isnan(rows)
    if skip_nan:
        last = jnp.maximum(jnp.sum(~bad, 1) - 1, 0).astype(rows.dtype)
        rank = q[:, None] * last
    else:
        rank = jnp.where(jnp.any(bad, 1), scalar(n - 1, rows.dtype), q[:, None] * scalar(n - 1, rows.dtype))
    if how == "lower":
        rank = jnp.floor(rank)
    elif how == "higher":
        rank = jnp.ceil(rank)
    elif how == "nearest":
        rank = jnp.round(rank)
    low = jnp.clip(jnp.floor(lax.stop_gradient(rank)).astype(np.int64), 0, n - 1)
    found = jnp.take_along_axis(ordered, low.T, 1).T
    if how not in ("linear", "midpoint"):
        return found
    high = jnp.clip(jnp.ceil(lax.stop_gradient(rank)).astype(np.int64), 0, n - 1)
    above = jnp.take_along_axis(ordered, high.T, 1).T
    weight = jnp.full_like(rank, 0.5) if how == "midpoint" else rank - low.astype(rank.dtype)
    near = lax.stop_gradient(weight) < 0.5
    return jnp.where(near, found + weight * (above - found), above - (above - found) * (1 - weight))


def _quantile_named(name: str) -> Callable[..., Tensor]:
    def quantile(
        input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
        interpolation: str = "linear", out: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        number = not isinstance(q, Tensor)
        if number and q.__class__ is not float:
            need_kind(name, "q", "float", q)
        if number and not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        found = _quantile(input, float(q) if number else q, dim, keepdim, interpolation, name, number)
        return found if out is None else write_out(out, found, name)

    quantile.__name__ = quantile.__qualname__ = name
    return quantile


quantile = function("quantile", method=True)(numpy_names(_quantile_named("quantile")))
quantile.__doc__ = "The q-quantiles of all elements or along a dimension; a dimension for q comes first."
nanquantile = function("nanquantile", method=True)(numpy_names(_quantile_named("nanquantile")))
nanquantile.__doc__ = "The q-quantiles of what is not NaN, of all elements or along a dimension."


# -- covariance


def _check_weights(name: str, w: Any, n: int, integral: bool) -> None:
    if w.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions"
        )
    if integral and kind(w) != "int":
        raise RuntimeError(f"cov(): expected {name} to have integral dtype but got {name} with {scalar_name(w)} dtype")
    if not integral and kind(w) != "float":
        raise RuntimeError(
            f"cov(): expected {name} to have floating point dtype but got {name} with {scalar_name(w)} dtype"
        )
    if w.size != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{w.size} != {n}"
        )
    flag(jnp.any(w < 0).astype(np.int64), lambda code: RuntimeError(f"cov(): {name} cannot be negative"))


def _covariance(name: str, input: Any, correction: Any, fweights: Any, aweights: Any) -> Any:
    if input.ndim > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if kind(input) == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = to_float(input.reshape(1, -1) if input.ndim < 2 else input)
    n = rows.shape[1]
    w = None
    if fweights is None and aweights is None and n <= correction:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."
        )
    for label, given, integral in (("fweights", fweights, True), ("aweights", aweights, False)):
        if given is not None:
            _check_weights(label, given, n, integral)
            real = dtypes.from_numpy(rows.dtype).to_real().np
            given = given.reshape(-1) if kind(given) == "float" else given.reshape(-1).astype(real)
            w = given if w is None else w * given
    if w is None:
        total: Any = np.array(n, dtypes.from_numpy(rows.dtype).to_real().np)
        mean = quotient(jnp.sum(rows, 1, keepdims=True), scalar(n, rows.dtype))
        divisor = total - np.array(correction, total.dtype)
    else:
        total = jnp.sum(w)
        mean = jnp.sum(rows * w, 1, keepdims=True) / total
        if aweights is None or correction == 0:
            divisor = total - np.array(correction, total.dtype)
        else:
            a = aweights.reshape(-1).astype(total.dtype)
            divisor = total - correction * jnp.sum(w * a) / total
    far = rows - mean
    weighted = far if w is None else far * w
    far = far.astype(weighted.dtype)
    found = quotient(weighted @ jnp.conj(far).T, jnp.maximum(divisor, 0).astype(weighted.dtype))
    return jnp.squeeze(found)


@op(out=False, grad="SqueezeBackward0", unsaved=["input"])
def cov(input: Array, *, correction: int = 1, fweights: Array | None = None, aweights: Array | None = None):
    """The covariance matrix of variables (rows) over observations (columns), with weights."""
    return _covariance("cov", input, correction, fweights, aweights)


@op(out=False, grad="ClampBackward1", unsaved=["input", "result"])
def corrcoef(input: Array):
    """The correlation coefficients of variables (rows) over observations (columns)."""
    found = _covariance("corrcoef", input, 1, None, None)
    if not found.ndim:
        return found / found
    d = jnp.sqrt(diagonal_of(found))
    found = found / d[:, None] / d[None, :]
    if kind(found) == "complex":
        return lax.complex(jnp.clip(found.real, -1, 1), jnp.clip(found.imag, -1, 1))
    return jnp.clip(found, -1, 1)
