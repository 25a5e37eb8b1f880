"""How products and means along rows are given to XLA, so that they and their gradients are fast on a CPU.

The primitives here are linear or bilinear maps that have a gradient of their own; derivatives of any order, `jax.vmap` and
forward mode follow from them.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.mlir.dialects import stablehlo as hlo
from jax.interpreters import ad, mlir

from ..._core import native
from ..._core.compile.context import target
from ..._core.tuning import (
    COPIED_GRADIENT,
    KERNEL_WEIGHT,
    PRODUCT_IN_BATCHES,
    PRODUCT_IN_VECTORS,
    PRODUCT_ON_UNITS,
    VECTOR_PRODUCT,
    VECTOR_ROWS,
    VECTOR_WEIGHT,
)
from .primitives import natively, primitive

Array = jax.Array


def on_cpu() -> bool:
    """Will the kernel that is being traced run on XLA's CPU backend?"""
    return target() == "cpu"


def _contract(a: Array, b: Array, i: int, j: int) -> Array:
    return lax.dot_general(a, b, (((i,), (j,)), ((), ())))


def _turned(x: Array) -> Array:
    """The transpose as an array of its own.

    Left to itself, XLA computes the elementwise operations that lead to a gradient a second time inside the transposition
    that a product needs, where every element is read from another cache line; and its products of a transposed left
    operand reach half the speed of others.
    """
    return lax.optimization_barrier(lax.optimization_barrier(x).T)


def _are_faster(rows: int, inner: int, columns: int) -> bool:
    """Is a product in the kernels, with its operands as they lie, faster than XLA's?"""
    if native.matrix_units():
        return True
    if native.with_avx2_alone():
        return inner * columns <= KERNEL_WEIGHT
    few = rows >= VECTOR_ROWS and inner * columns <= VECTOR_WEIGHT and rows * inner * columns <= VECTOR_PRODUCT
    return native.available() and few


def _where_faster(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """For a function of a (rows, inner) and another matrix."""
    found = natively(kernel)

    def run(a: Any, b: Any, *rest: Any) -> Any:
        rows, inner = a.shape
        return found(a, b, *rest) if _are_faster(rows, inner, math.prod(b.shape) // max(inner, 1)) else None

    return run


def _by_columns(a: Array, b: Array) -> Array:
    """`a.T @ b`: the gradient of a weight."""
    return _columns_p.bind(a, b)


# a (rows, n) and b (rows, m) to (n, m)
_columns_p = primitive(
    "columns",
    lambda a, b: _contract(_turned(a), b, 1, 0),
    natively(functools.partial(native.product, a_turned=True)),
)
ad.defbilinear(
    _columns_p,
    lambda g, a, b: _times_transposed_p.bind(b, g),
    lambda g, a, b: _times_p.bind(a, lax.optimization_barrier(g)),
)

# x (rows, in) and weight (out, in) to (rows, out)
_times_transposed_p = primitive(
    "times_transposed",
    lambda x, w: _contract(x, w, 1, 1),
    _where_faster(functools.partial(native.product, b_turned=True)),
)
ad.defbilinear(
    _times_transposed_p,
    lambda g, x, w: _times_p.bind(lax.optimization_barrier(g), w),
    lambda g, x, w: _by_columns(g, x),
)

# a (n, m) and b (m, p) to (n, p)
_times_p = primitive("times", lambda a, b: _contract(a, b, 1, 0), _where_faster(native.product))
ad.defbilinear(
    _times_p,
    lambda g, a, b: _times_transposed_p.bind(lax.optimization_barrier(g), b),
    lambda g, a, b: _by_columns(a, lax.optimization_barrier(g)),
)


def _batched(a: Array, b: Array, *, a_turned: bool, b_turned: bool) -> Array:
    before = tuple(range(a.ndim - 2))
    places = (a.ndim - 2 if a_turned else a.ndim - 1,), (b.ndim - 1 if b_turned else b.ndim - 2,)
    return lax.dot_general(a, b, (places, (before, before)))


def _batched_on_cpu(ctx: Any, *values: Any, a_turned: bool, b_turned: bool) -> Any:
    """An operand whose transposition would move its last dimension is read as it lies, and turned in the kernel."""
    avals, turned = list(ctx.avals_in), [a_turned, b_turned]
    if not native.fits(*avals):
        return mlir.lower_fun(_batched, multiple_results=False)(ctx, *values, a_turned=a_turned, b_turned=b_turned)
    orders: list[Any] = [None, None]
    operands = list(values)
    for i, value in enumerate(values):
        source, order = _transposed_from(value)
        if source is not None and order[-2] == len(order) - 1 and (turned[i] or not turned[1 - i]):
            operands[i], orders[i], turned[i] = source, (*order[:-2], order[-1], order[-2]), not turned[i]
            sizes = dict(zip(order, avals[i].shape, strict=True))
            avals[i] = avals[i].update(shape=tuple(sizes[d] for d in range(len(order))), sharding=None)

    def run(*arrays: Array) -> Array:
        a, b = (x if order is None else lax.transpose(x, order) for x, order in zip(arrays, orders, strict=True))
        flat = native.products(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]), *turned)
        return flat.reshape(*a.shape[:-2], *flat.shape[1:])

    return mlir.lower_fun(run, multiple_results=False)(ctx.replace(avals_in=avals), *operands)


def _transposed_from(value: Any) -> tuple[Any, tuple[int, ...]]:
    """Of a value in a program that is being lowered: what it was transposed from, and the order of its dimensions."""
    made_by = getattr(value.owner, "opview", None)
    if not isinstance(made_by, hlo.TransposeOp):
        return None, ()
    return made_by.operand, tuple(made_by.permutation)


# The products of the matrices in a and b, which may be turned, not both: each derivative is such a product again.
_batched_p = primitive("batched", _batched)
mlir.register_lowering(_batched_p, _batched_on_cpu, platform="cpu", cacheable=False)


def _with(a: Array, b: Array, a_turned: bool = False, b_turned: bool = False) -> Array:
    return _batched_p.bind(a, b, a_turned=a_turned, b_turned=b_turned)


def _for_left(g: Array, a: Array, b: Array, a_turned: bool, b_turned: bool) -> Array:
    return _with(b, g, b_turned=True) if a_turned else _with(g, b, b_turned=not b_turned)


def _for_right(g: Array, a: Array, b: Array, a_turned: bool, b_turned: bool) -> Array:
    return _with(g, a, a_turned=True) if b_turned else _with(a, g, a_turned=not a_turned)


ad.defbilinear(_batched_p, _for_left, _for_right)


def _rows_of(row: Array, *, rows: int) -> Array:
    return jnp.broadcast_to(row, (rows, *row.shape))


# A bias in every row, whose gradient is a sum over rows.
_rows_p = primitive("rows", _rows_of)
_sums_p = primitive("row_sums", lambda x: jnp.sum(x, 0), natively(native.sums))
ad.deflinear2(_rows_p, lambda g, _, **params: [_sums_p.bind(g)])
ad.deflinear2(
    _sums_p, lambda g, x: [_rows_p.bind(g, rows=x.aval.shape[0] if ad.is_undefined_primal(x) else x.shape[0])]
)


def _linear(x: Array, w: Array, row: Array) -> Array:
    return _contract(x, w, 1, 1) + row


# x (rows, in), weight (out, in) and bias (out,) to (rows, out)
_linear_p = primitive("linear", _linear, _where_faster(native.linear))


def _linear_tangent(primals: Any, tangents: Any) -> Any:
    x, w, row = primals
    dx, dw, drow = tangents
    found = [
        None if type(dx) is ad.Zero else _times_transposed_p.bind(dx, w),
        None if type(dw) is ad.Zero else _times_transposed_p.bind(x, dw),
        None if type(drow) is ad.Zero else _rows_p.bind(drow, rows=x.shape[0]),
    ]
    return _linear_p.bind(x, w, row), functools.reduce(operator.add, [t for t in found if t is not None])


ad.primitive_jvps[_linear_p] = _linear_tangent


def times_and_plus(x: Array, weight: Array, *biases: Array | None) -> Array:
    """`x @ weight.T` for x (..., in) and weight (out, in), as one product of two matrices, plus all biases."""
    count = math.prod(x.shape[:-1])
    rows = [b for b in biases if b is not None]
    alike = all(b.shape == weight.shape[:1] and b.dtype == weight.dtype == x.dtype for b in rows)
    if rows and alike and _are_faster(count, x.shape[-1], weight.shape[0]) and _pays(count, weight.shape[0]):
        out = _linear_p.bind(x.reshape(count, x.shape[-1]), weight, functools.reduce(operator.add, rows))
        return out.reshape(*x.shape[:-1], weight.shape[0])
    if alike and len(rows) > 1 and x.dtype.itemsize >= 4:  # half precision would round the sum
        rows = [functools.reduce(operator.add, rows)]
    out = times_transposed(x, weight)
    for row in rows:
        out = plus_row(out, row)
    return out


def plus_row(x: Array, row: Array) -> Array:
    """`x + row` for x (..., n) and row (n,)."""
    if row.ndim != 1 or x.ndim < 2 or x.shape[-1] != row.shape[0] or x.dtype != row.dtype:
        return x + row
    count = math.prod(x.shape[:-1])
    return x + _rows_p.bind(row, rows=count).reshape(x.shape) if _pays(count, x.shape[-1]) else x + row


def _pays(rows: int, columns: int) -> bool:
    least = PRODUCT_ON_UNITS if native.matrix_units() else PRODUCT_IN_VECTORS if native.available() else COPIED_GRADIENT
    return rows * columns >= least and on_cpu()


def _pays_in_batches(a: Array, b: Array) -> bool:
    large = a.shape[-2] * a.shape[-1] * b.shape[-1] >= PRODUCT_IN_BATCHES
    return large and on_cpu() and a.shape[-1] == b.shape[-2] and native.fits(a, b)


def times_transposed(x: Array, weight: Array) -> Array:
    """`x @ weight.T` for x (..., in) and weight (out, in), as one product of two matrices."""
    shape = (*x.shape[:-1], weight.shape[0])
    rows = x.reshape(math.prod(shape[:-1]), x.shape[-1])
    if _pays(rows.shape[0], shape[-1]):
        out = _times_transposed_p.bind(rows, weight)
    else:
        out = _contract(rows, weight, 1, 1)
    return out.reshape(shape)


def times(a: Array, b: Array) -> Array:
    """`a @ b`: for a (..., n, m) and b (m, p) as one product of two matrices."""
    if b.ndim != 2 or a.ndim < 2:
        if a.ndim == b.ndim > 2 and a.shape[:-2] == b.shape[:-2] and _pays_in_batches(a, b):
            return _with(a, b)
        return jnp.matmul(a, b)
    shape = (*a.shape[:-1], b.shape[1])
    rows = a.reshape(math.prod(shape[:-1]), a.shape[-1])
    out = _times_p.bind(rows, b) if _pays(rows.shape[0], shape[-1]) else _contract(rows, b, 1, 0)
    return out.reshape(shape)


def _averaged(x: Array, *, n: int) -> Array:
    size = math.prod(x.shape[x.ndim - n :])
    sums = _contract(x.reshape(-1, size), jnp.ones((size,), x.dtype), 1, 0)
    return jnp.broadcast_to((sums / size).reshape(*x.shape[: x.ndim - n], *[1] * n), x.shape)


# The mean over the last axes in every place of them: a projection, so its own transpose. As a product with a vector of ones
# it is computed faster than XLA's reductions are.
_averaged_p = primitive("averaged", _averaged)
ad.deflinear2(_averaged_p, lambda g, _, **params: [_averaged_p.bind(g, **params)])


def averaged(x: Array, axes: tuple[int, ...]) -> Array:
    """The mean of `x` over some axes, broadcast to the shape of `x`."""
    if x.size and axes == tuple(range(x.ndim - len(axes), x.ndim)) and on_cpu():
        return _averaged_p.bind(x, n=len(axes))
    return jnp.broadcast_to(jnp.mean(x, axes, keepdims=True), x.shape)
