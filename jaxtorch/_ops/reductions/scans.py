"""Running sums, products and extremes, differences, and the integrals and gradients made of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core import native
from ..._core.define.op import Array, Arrays, Scalar, function, inner_op, method, methods, numpy_names, op
from ..._core.define.signature import MISSING, need_kind
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes
from ..._core.types.structseq import types
from ..common.primitives import linear_in, natively, primitive, with_tangent
from ..common.rules import C_NAMES, default_float, kind, refuse, to_float, unsupported
from ..types.casting import computed_in
from .reductions import axes_of, bad_call, follow, one_axis, wide


def _xlas(kind: str) -> Callable[..., Any]:
    of = {"sum": lax.cumsum, "product": lax.cumprod, "logsumexp": lax.cumlogsumexp}[kind]
    return lambda x, reverse: of(x, axis=1, reverse=reverse)


def _kernel(kind: str) -> Any:
    """The primitive that runs along the second of three dimensions."""
    return primitive(f"running_{kind}", _xlas(kind), natively(functools.partial(native.running, kind=kind)))


_sum_p, _product_p, _logsumexp_p = (_kernel(kind) for kind in native.RUNNING)
linear_in(_sum_p, _xlas("sum"), 1, lambda g, reverse: [_sum_p.bind(g, reverse=not reverse)])


@jax.custom_jvp
def _log_sum(a: Any, b: Any) -> Any:
    """`log(exp(a) + exp(b))`. Its derivative is 0 and not NaN where both are -inf: a sum of nothing yet."""
    return jnp.logaddexp(a, b)


@_log_sum.defjvp
def _of_log_sum(primals: Any, tangents: Any) -> Any:
    y = _log_sum(*primals)
    below = jnp.where(jnp.isneginf(y), 0, y)
    return y, sum(t * jnp.exp(x - below) for x, t in zip(primals, tangents, strict=True))


def _log_sums(x: Any, axis: int, reverse: bool = False) -> Any:
    """Running logarithms of sums as they are differentiated: JAX's own give NaN where two neighbours are -inf."""
    return lax.associative_scan(_log_sum, x, axis=axis, reverse=reverse)


linear_in(_logsumexp_p, lambda x, reverse: _log_sums(x, 1, reverse), 0)
_cumlogsumexp_p = primitive("cumlogsumexp_along", lambda x, axis: lax.cumlogsumexp(x, axis=axis))
linear_in(_cumlogsumexp_p, _log_sums, 0)


def _of_product(moved: Any, x: Any, reverse: bool) -> Any:
    """The tangent of running products: through the sum of relative changes, unless a number cannot be divided by."""

    def divided(x: Any, t: Any) -> Any:
        return _product_p.bind(x, reverse=reverse) * _sum_p.bind(t / x, reverse=reverse)

    def multiplied(x: Any, t: Any) -> Any:
        return jax.jvp(lambda x: _xlas("product")(x, reverse), (x,), (t,))[1]

    return lax.cond(((x == 0) | ~jnp.isfinite(x)).any(), multiplied, divided, x, *moved)


with_tangent(_product_p, _of_product)


def _along(made: Any, scan: Callable[..., Any]) -> Callable[..., Any]:
    """`scan(x, axis)`, by a kernel where the array is large."""

    def run(x: Any, axis: int) -> Any:
        if x.dtype != np.float32 or x.size < native.KERNEL_ELEMENTS:
            return scan(x, axis)
        inner = math.prod(x.shape[axis + 1 :])
        return made.bind(x.reshape(-1, x.shape[axis], inner), reverse=False).reshape(x.shape)

    return run


def _running(scan: Callable[..., Any], name: str, input: Any, dim: Any, dtype: Any) -> Any:
    axis = one_axis(name, dim, input.ndim)
    if dtype is not None:
        x = computed_in(input, dtype)
    else:
        x = input.astype(np.int64) if kind(input) in ("bool", "int") else input
    if kind(x) == "bool":
        unsupported(f"{name}_out_cpu", x)
    wider = x.astype(np.complex128) if x.dtype == np.complex64 else wide(x)
    return scan(wider, axis).astype(x.dtype) if x.ndim else x


@op(inplace="_cumsum_")
def cumsum(input: Array, dim: int, *, dtype: object = None):
    """The running sum along a dimension; integers add up in int64."""
    return _running(_along(_sum_p, lax.cumsum), "cumsum", input, dim, dtype)


@op(inplace="_cumprod_", saved=["result"])
def cumprod(input: Array, dim: int, *, dtype: object = None):
    """The running product along a dimension; the gradient is exact where there are zeros."""
    return _running(_along(_product_p, lax.cumprod), "cumprod", input, dim, dtype)


def _check_in_place(name: str, t: Tensor, dtype: Any) -> None:
    own = t.dtype
    if dtype is not None and dtype is not own:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {C_NAMES[own.name]} and output tensor dtype {C_NAMES[dtype.name]} should match"
        )
    if own is dtypes.bool_ and t.ndim and t.numel():
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")


def _same(t: Tensor, dim: int) -> Tensor:
    """A tensor of bools that has nothing to run along, written in place."""
    strides.wrap_dim(dim, t.ndim)
    return methods["bitwise_or_"](t, False)


@method("cumsum_")
@numpy_names
def cumsum_(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """In-place form of `cumsum`."""
    _check_in_place("cumsum", self, dtype)
    return _same(self, dim) if self.dtype is dtypes.bool_ else cumsum.inplace(self, dim)


@method("cumprod_")
@numpy_names
def cumprod_(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """In-place form of `cumprod`."""
    _check_in_place("cumprod", self, dtype)
    return _same(self, dim) if self.dtype is dtypes.bool_ else cumprod.inplace(self, dim)


def _running_extreme(name: str, ahead: Callable[[Any, Any], Any], input: Any, dim: Any) -> Any:
    """The running extreme and its index: of equal ones the last, and a NaN, once met, stays."""
    refuse(f"{name}_cpu", input, "complex")
    axis = one_axis(name, dim, input.ndim)

    def select(x: Any) -> tuple[Any, Any]:
        if not x.ndim:
            return x, jnp.zeros((), np.int64)

        def later(a: Any, b: Any) -> Any:
            (x, i), (y, j) = a, b
            take = ahead(y, x)
            if kind(x) == "float":
                take = jnp.isnan(y) | (~jnp.isnan(x) & take)
            return jnp.where(take, y, x), jnp.where(take, j, i)

        at = lax.broadcasted_iota(np.int64, x.shape, axis)
        return lax.associative_scan(later, (x, at), axis=axis)

    values, indices = follow(select, input, axis)
    return getattr(types, name)((values, indices))


@op(saved=["input"])
def cummax(input: Array, dim: int):
    """The running maximum along a dimension, and where it is."""
    return _running_extreme("cummax", lambda y, x: y >= x, input, dim)


@op(saved=["input"])
def cummin(input: Array, dim: int):
    """The running minimum along a dimension, and where it is."""
    return _running_extreme("cummin", lambda y, x: y <= x, input, dim)


def _log_add(a: Any, b: Any) -> Any:
    """`log(exp(a) + exp(b))` of complex numbers."""
    low, high = jnp.where(a.real < b.real, a, b), jnp.where(a.real < b.real, b, a)
    alone = jnp.isneginf(low.real) | (jnp.isposinf(high.real) & jnp.isfinite(low.real))
    total = jnp.where(alone, high, high + jnp.log1p(jnp.exp(low - high)))
    total = jnp.where(jnp.isneginf(high.real), lax.complex(high.real, jnp.zeros_like(high.real)), total)
    return jnp.where(jnp.isnan(a) | jnp.isnan(b), lax.complex(jnp.nan, jnp.nan).astype(total.dtype), total)


def _complex_log_sums(x: Any, axis: int) -> Any:
    """One after the other, in double precision: which of the logarithms of a sum is meant depends on the order."""

    def add(so_far: Any, here: Any) -> Any:
        total = _log_add(so_far, here)
        return total, total

    rows = jnp.moveaxis(x, axis, 0).astype(np.complex128)
    _, sums = lax.scan(add, jnp.full(rows.shape[1:], -np.inf, rows.dtype), rows)
    return jnp.moveaxis(sums, 0, axis).astype(x.dtype)


@op(saved=["result"])
def logcumsumexp(input: Array, dim: int):
    """The logarithm of the running sum of exponentials along a dimension, without overflow."""
    axis = one_axis("logcumsumexp", dim, input.ndim)
    refuse("logcumsumexp_out_cpu", input, "bool", "int")
    if not input.ndim:
        return input
    if kind(input) == "complex":
        return _complex_log_sums(input, axis)
    return _along(_logsumexp_p, lambda x, axis: _cumlogsumexp_p.bind(x, axis=axis))(wide(input), axis).astype(
        input.dtype
    )


# -- differences


def _common(*arrays: Any) -> Any:
    """The arrays in their common type."""
    kinds = [(dtypes.from_numpy(a.dtype), a.ndim) for a in arrays]
    common = dtypes.result_type([d for d, n in kinds if n], [d for d, n in kinds if not n], [])
    return [a.astype(common.np) for a in arrays]


def between(x: Any, axis: int) -> Any:
    """Differences of neighbours along an axis; bools differ or not."""
    n = x.shape[axis]
    if n == 0:
        return x
    left, right = lax.slice_in_dim(x, 0, n - 1, axis=axis), lax.slice_in_dim(x, 1, n, axis=axis)
    return left != right if x.dtype == bool else right - left


@op(grad="SubBackward0")
def diff(input: Array, n: int = 1, dim: int = -1, prepend: Array | None = None, append: Array | None = None):
    """The n-th differences of neighbours along a dimension, with values put before and after it."""
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not n and prepend is None and append is None:
        return input
    axis = one_axis("diff", dim, input.ndim)
    for extra in (prepend, append):
        if extra is None:
            continue
        if extra.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for i, (a, b) in enumerate(zip(input.shape, extra.shape, strict=True)):
            if i != axis and a != b:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except "
                    "along the "
                    f"differencing dimension; input.size({i}) = {a}, but got tensor.size({i}) = {b}"
                )
    if n == 0:
        return input
    parts = _common(*[p for p in (prepend, input, append) if p is not None])
    x = jnp.concatenate(parts, axis) if len(parts) > 1 else parts[0]
    for _ in range(min(n, x.shape[axis])):
        x = between(x, axis)
    return x


# -- integrals


def _widths(name: str, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """`y` in floating point, and the distances between sample points, which broadcast against it."""
    if kind(y) == "bool":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if x is None:
        y = to_float(y)
        steps = jnp.asarray(dx)
        if kind(steps) == "complex" and kind(y) != "complex":
            y = y.astype(dtypes.from_numpy(y.dtype).to_complex().np)
        return y, steps.astype(y.dtype)
    if kind(x) == "bool":
        raise RuntimeError(f"{name}: received a bool input for `x`, but bool is not supported")
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        steps = between(x, 0).reshape([-1 if i == axis else 1 for i in range(y.ndim)])
    else:
        x = x.reshape((1,) * (y.ndim - x.ndim) + x.shape)
        steps = between(x, axis)
    y, steps = _common(y, steps)
    return to_float(y), steps


def _areas(name: str, y: Any, x: Any, dx: Any, axis: int, summed: Any) -> Any:
    """What `summed` makes of the areas between points. Those of integers are summed twofold, as integers that may wrap around."""
    heights, steps = _widths(name, y, x, dx, axis)
    n = y.shape[axis]
    if n == 0:
        return summed(to_float(heights))
    whole = kind(y) == "int"
    y = y if whole else heights
    both = lax.slice_in_dim(y, 0, n - 1, axis=axis) + lax.slice_in_dim(y, 1, n, axis=axis)
    if not whole:
        return summed(both * to_float(steps) / 2)
    if x is None:
        return summed(to_float(both) * steps / 2)
    both, steps = _common(both, steps)
    products = both * steps
    return to_float(summed(products.astype(jnp.int64) if kind(products) == "int" else products)) / 2


_TRAPEZOIDS = ["Tensor y, Tensor x, *, int dim = -1", "Tensor y, *, Number dx = 1, int dim = -1"]


def _integral(name: str, integrate: Any, y: Tensor, x: Any, dx: Any, dim: int) -> Tensor:
    """What `integrate` gives for points or a distance, either of which may be left out, but not be None."""
    if x is None or dx is None or (x is not MISSING and dx is not MISSING):
        bad_call(name, (y,), {k: v for k, v in (("x", x), ("dx", dx)) if v is not MISSING}, _TRAPEZOIDS)
    if dx is MISSING:
        return integrate(y, None if x is MISSING else x, dim=dim)
    if isinstance(dx, (bool, complex)) and name != "trapz":
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    need_kind(name, "dx", "float", dx)
    return integrate(y, dx=dx, dim=dim)


def _area_name(operand_keys: Any, statics: Any) -> str:
    return "MulBackward1" if operand_keys[1] is None else "DivBackward1"


@inner_op(name="trapezoid", grad=_area_name, unsaved=["y", "x"])
def _trapezoid(y: Array, x: Array | None = None, *, dx: Scalar = None, dim: int = -1):
    axis = strides.wrap_dim(dim, y.ndim, scalar=False)
    if not y.shape[axis]:
        return jnp.zeros(y.shape[:axis] + y.shape[axis + 1 :], y.dtype)
    if x is None and kind(y) == "int":  # PyTorch adds the two ends as they are: they may wrap around
        ends = lax.index_in_dim(y, 0, axis, False) + lax.index_in_dim(y, -1, axis, False)
        whole = jnp.sum(y.astype(jnp.int64), axis)
        return (to_float(whole) - to_float(ends) * 0.5) * jnp.asarray(1 if dx is None else dx).astype(default_float())
    if x is None and dx is not None:
        y, dx = _widths("trapezoid", y, None, dx, axis)
        return _areas("trapezoid", y, None, 1, axis, lambda a: jnp.sum(a, axis)) * dx
    return _areas("trapezoid", y, x, 1 if dx is None else dx, axis, lambda a: jnp.sum(a, axis))


@inner_op(
    name="cumulative_trapezoid",
    grad=lambda keys, _: "CumsumBackward0" if keys[1] is None else "DivBackward1",
    unsaved=["y", "x"],
)
def _cumulative_trapezoid(y: Array, x: Array | None = None, *, dx: Scalar = None, dim: int = -1):
    if not y.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = strides.wrap_dim(dim, y.ndim, scalar=False)
    return _areas("cumulative_trapezoid", y, x, 1 if dx is None else dx, axis, lambda a: lax.cumsum(a, axis))


@function("trapezoid")
def trapezoid(y: Tensor, x: Any = MISSING, *, dx: Any = MISSING, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, for points `x` or a distance `dx` (1)."""
    return _integral("trapezoid", _trapezoid, y, x, dx, dim)


@function("trapz")
def trapz(y: Tensor, x: Any = MISSING, *, dx: Any = MISSING, dim: int = -1) -> Tensor:
    """`trapezoid`, by its old name."""
    return _integral("trapz", _trapezoid, y, x, dx, dim)


@function("cumulative_trapezoid")
def cumulative_trapezoid(y: Tensor, x: Any = MISSING, *, dx: Any = MISSING, dim: int = -1) -> Tensor:
    """The running integral along a dimension by the trapezoidal rule."""
    return _integral("cumulative_trapezoid", _cumulative_trapezoid, y, x, dx, dim)


# -- gradient


def _slopes(x: Any, steps: Any, axis: int, edge_order: int, even: bool) -> Any:
    """Second-order differences inside, first or second order at the two edges; `steps` are the distances, `even` if all equal."""
    n = x.shape[axis]

    def at(start: int, stop: int) -> Any:
        return lax.slice_in_dim(x, start, stop, axis=axis)

    def width(start: int, stop: int) -> Any:
        return steps[start:stop].reshape([-1 if i == axis else 1 for i in range(x.ndim)])

    h, k = width(0, n - 2), width(1, n - 1)
    if even:
        inner = (at(2, n) - at(0, n - 2)) / (h + k)
    else:
        inner = (
            at(0, n - 2) * (-k / (h * (h + k))) + at(1, n - 1) * ((k - h) / (h * k)) + at(2, n) * (h / (k * (h + k)))
        )
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / width(0, 1)
        last = (at(n - 1, n) - at(n - 2, n - 1)) / width(n - 2, n - 1)
    else:
        h, k = width(0, 1), width(1, 2)
        first = (
            -at(0, 1) * ((2 * h + k) / (h * (h + k))) + at(1, 2) * ((h + k) / (h * k)) - at(2, 3) * (h / (k * (h + k)))
        )
        h, k = width(n - 3, n - 2), width(n - 2, n - 1)
        last = (
            at(n - 3, n - 2) * (k / (h * (h + k)))
            - at(n - 2, n - 1) * ((h + k) / (h * k))
            + at(n - 1, n) * ((2 * k + h) / (k * (h + k)))
        )
    return jnp.concatenate([first, inner, last], axis)


@inner_op(grad="CatBackward0")
def _gradient(input: Array, coordinates: Arrays, spacing: tuple, dim: Any, edge_order: int):
    if input.dtype == np.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if kind(input) == "bool":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    axes = axes_of("gradient", dim, input.ndim)
    given = len(coordinates) or len(spacing)
    if given > 1 or (given and coordinates):
        _check_spacing(input.ndim, dim, len(axes), given)
    x = to_float(input)
    found = []
    for i, axis in enumerate(axes):
        n = x.shape[axis]
        if n < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        if coordinates:
            c = coordinates[i]
            if c.ndim != 1 or c.shape[0] != n:
                raise RuntimeError(
                    f"torch.gradient expected {n} coordinates along dimension {axis}, but got a tensor of "
                    f"size {list(c.shape)}"
                )
            steps = to_float(c[1:] - c[:-1])
            result = jnp.promote_types(x.dtype, steps.dtype)
        else:
            steps, result = jnp.full(n - 1, spacing[i if len(spacing) > 1 else 0]), x.dtype
        wide = x.astype(np.float32 if result in (jnp.float16, jnp.bfloat16) else result)
        slopes = _slopes(wide, steps.astype(wide.dtype), axis, edge_order, not coordinates)
        found.append(slopes.astype(result))
    return tuple(found)


def _check_spacing(ndim: int, dim: Any, n_axes: int, given: int) -> None:
    if dim is None and given != ndim:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"'self.dim() = {ndim}', since dim argument was not given, but got a list of length {given}"
        )
    if dim is not None and given != n_axes:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments "
            "to have the same "
            f"length, but got a spacing argument of length {given} and a dim argument of length {n_axes}."
        )


@function("gradient")
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Slopes along each dimension from differences; `spacing` is one number, or one or coordinates each."""
    if isinstance(spacing, Tensor):
        spacing = spacing.item()
    if spacing is None:
        spacing = 1
    if isinstance(spacing, (list, tuple)):
        if spacing and isinstance(spacing[0], Tensor) and spacing[0].dim():
            return _gradient(input, list(spacing), (), dim, edge_order)
        numbers = tuple([s.item() if isinstance(s, Tensor) else s for s in spacing])
        _check_spacing(input.dim(), dim, len(dim) if isinstance(dim, (list, tuple)) else 1, len(numbers))
        return _gradient(input, [], numbers, dim, edge_order)
    return _gradient(input, [], (spacing,), dim, edge_order)
