"""Kernels on NumPy: how a forked process (a DataLoader worker) computes, where JAX must not run (see hostmode.py).

Tracing needs no runtime, so a kernel's jaxpr is made as always, and each of its primitives is looked up here. A primitive
that is not in the table is refused with the name of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex_core

from . import hostmode
from .context import x64
from .entry import Kernel
from .program import force
from .value import Value

_PRIMITIVES: dict[str, Callable[..., Any]] = {}
_jaxprs: dict[Kernel, Any] = {}


def run(kernel: Kernel, values: list[Value]) -> list[Value]:
    """Run one kernel on host arrays."""
    arrays = []
    for v in values:
        arrays.append(np.asarray(force(v), v.aval.dtype.np))
    outs = evaluate(kernel, arrays)
    n = len(kernel.out_avals) - len(kernel.checks)
    for flag, make in zip(outs[n:], kernel.checks, strict=True):
        if int(flag):
            raise make(int(flag))
    return [Value(a, np.asarray(o, a.dtype.np)) for a, o in zip(kernel.out_avals, outs[:n], strict=False)]


def evaluate(kernel: Kernel, arrays: list[Any]) -> list[Any]:
    """The outputs of a kernel, the flags of its checks among them, for NumPy arrays."""
    closed = _jaxprs.get(kernel)
    if closed is None:
        with x64():
            closed = _jaxprs[kernel] = jax.make_jaxpr(kernel.fn)(*[a.struct for a in kernel.in_avals])
    return compute(closed, arrays, kernel.name)


def compute(closed: Any, arrays: list[Any], operation: str) -> list[Any]:
    """A closed jaxpr on NumPy arrays."""
    with np.errstate(all="ignore"):
        return _evaluate(closed.jaxpr, closed.consts, arrays, operation)


def _evaluate(jaxpr: Any, consts: Any, args: Any, operation: str) -> list[Any]:
    env: dict[Any, Any] = {}

    def read(v: Any) -> Any:
        return np.asarray(v.val, v.aval.dtype) if isinstance(v, jex_core.Literal) else env[v]  # pyright: ignore[reportAttributeAccessIssue]

    env.update(zip(jaxpr.constvars, [np.asarray(c) for c in consts], strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        inputs = [read(v) for v in eqn.invars]
        inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
        if inner is not None and eqn.primitive.name in (
            "jit",
            "pjit",
            "custom_jvp_call",
            "custom_vjp_call",
            "closed_call",
        ):
            outs = _evaluate(inner.jaxpr, inner.consts, inputs, operation)
        else:
            rule = _PRIMITIVES.get(eqn.primitive.name)
            if rule is None:
                hostmode.refuse(operation)
            outs = rule(*inputs, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
        for v, o in zip(eqn.outvars, outs, strict=True):
            env[v] = np.asarray(o, v.aval.dtype)
    return [read(v) for v in jaxpr.outvars]


def _rule(name: str) -> Any:
    def define(fn: Callable[..., Any]) -> Callable[..., Any]:
        _PRIMITIVES[name] = fn
        return fn

    return define


def _elementwise(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **_: fn(*args)


def _divide(a: Any, b: Any) -> Any:
    if a.dtype.kind in "iu":
        quotient = np.floor_divide(np.abs(a), np.abs(b))
        return (quotient * np.sign(a) * np.sign(b)).astype(a.dtype)
    return np.divide(a, b)


for _name, _fn in {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "div": _divide, "neg": np.negative,
    "max": np.maximum, "min": np.minimum, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil,
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "square": np.square, "pow": np.power, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)), "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "not": np.invert, "is_finite": np.isfinite, "rem": np.fmod, "nextafter": np.nextafter, "real": np.real,
    "imag": np.imag, "conj": np.conj, "complex": lambda a, b: a + 1j * b, "shift_left": np.left_shift,
    "shift_right_arithmetic": np.right_shift, "shift_right_logical": np.right_shift, "stop_gradient": lambda x: x,
    "copy": np.array, "copy_p": np.array,
}.items():  # fmt: skip
    _PRIMITIVES[_name] = _elementwise(_fn)


@_rule("integer_pow")
def _integer_pow(x: Any, *, y: int, **_: Any) -> Any:
    return x**y if y >= 0 else 1 / x ** (-y)


@_rule("round")
def _round(x: Any, *, rounding_method: Any, **_: Any) -> Any:
    if int(rounding_method) == 1:
        return np.round(x)
    return np.trunc(x + np.copysign(0.5, x))


@_rule("clamp")
def _clamp(low: Any, x: Any, high: Any, **_: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


@_rule("select_n")
def _select(which: Any, *cases: Any, **_: Any) -> Any:
    return np.where(which, cases[1], cases[0]) if len(cases) == 2 else np.choose(which, cases)


@_rule("convert_element_type")
def _convert(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    return x.astype(new_dtype)


@_rule("broadcast_in_dim")
def _broadcast(x: Any, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    full = [1] * len(shape)
    for d, n in zip(broadcast_dimensions, x.shape, strict=True):
        full[d] = n
    return np.broadcast_to(x.reshape(full), shape)


@_rule("reshape")
def _reshape(x: Any, *, new_sizes: Any, **_: Any) -> Any:
    return x.reshape(new_sizes)


@_rule("squeeze")
def _squeeze(x: Any, *, dimensions: Any, **_: Any) -> Any:
    return np.squeeze(x, tuple(dimensions))


@_rule("transpose")
def _transpose(x: Any, *, permutation: Any, **_: Any) -> Any:
    return x.transpose(permutation)


@_rule("rev")
def _rev(x: Any, *, dimensions: Any, **_: Any) -> Any:
    return np.flip(x, dimensions)


@_rule("slice")
def _slice(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    steps = strides or (1,) * x.ndim
    return x[tuple(slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, steps, strict=True))]


def _starts(x: Any, starts: Any, sizes: Any) -> list[int]:
    return [min(max(int(s), 0), n - k) for s, n, k in zip(starts, x.shape, sizes, strict=True)]


@_rule("dynamic_slice")
def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Any, **_: Any) -> Any:
    begin = _starts(x, starts, slice_sizes)
    return x[tuple(slice(b, b + k) for b, k in zip(begin, slice_sizes, strict=True))]


@_rule("dynamic_update_slice")
def _dynamic_update_slice(x: Any, part: Any, *starts: Any, **_: Any) -> Any:
    begin = _starts(x, starts, part.shape)
    out = np.array(x)
    out[tuple(slice(b, b + k) for b, k in zip(begin, part.shape, strict=True))] = part
    return out


@_rule("concatenate")
def _concatenate(*xs: Any, dimension: int, **_: Any) -> Any:
    return np.concatenate(xs, dimension)


@_rule("stack")
def _stack(*xs: Any, axis: int, **_: Any) -> Any:
    return np.stack(xs, axis)


@_rule("unstack")
def _unstack(x: Any, *, axis: int, **_: Any) -> Any:
    return list(np.moveaxis(x, axis, 0))


@_rule("bitcast_convert_type")
def _bitcast(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    if x.dtype.itemsize != np.dtype(new_dtype).itemsize:
        hostmode.refuse("a view as a type of another size")
    return np.ascontiguousarray(x).view(new_dtype).reshape(x.shape)


@_rule("pad")
def _pad(x: Any, value: Any, *, padding_config: Any, **_: Any) -> Any:
    """Holes inside, then edges; a negative edge cuts."""
    spread = np.full([n + max(n - 1, 0) * hole for n, (_, _, hole) in zip(x.shape, padding_config, strict=True)], value)
    spread[tuple(slice(None, None, hole + 1) for _, _, hole in padding_config)] = x
    kept = [slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi, _) in zip(spread.shape, padding_config, strict=True)]
    edges = [(max(lo, 0), max(hi, 0)) for lo, hi, _ in padding_config]
    return np.pad(spread[tuple(kept)], edges, constant_values=value)


@_rule("iota")
def _iota(*, dtype: Any, shape: Any, dimension: int, **_: Any) -> Any:
    line = np.arange(shape[dimension], dtype=dtype)
    return np.broadcast_to(line.reshape([-1 if d == dimension else 1 for d in range(len(shape))]), shape)


def _reducer(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *, axes, **_: fn(x, axis=tuple(axes)) if axes else x


for _name, _fn in {
    "reduce_sum": lambda x, axis: np.sum(x, axis, dtype=x.dtype), "reduce_max": np.max, "reduce_min": np.min,
    "reduce_prod": lambda x, axis: np.prod(x, axis, dtype=x.dtype), "reduce_and": np.all, "reduce_or": np.any,
}.items():  # fmt: skip
    _PRIMITIVES[_name] = _reducer(_fn)
for _name, _fn in {"argmax": np.argmax, "argmin": np.argmin}.items():
    _PRIMITIVES[_name] = lambda x, *, axes, index_dtype, fn=_fn, **_: fn(x, axes[0])
for _name, _fn in {
    "cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate,
}.items():  # fmt: skip
    _PRIMITIVES[_name] = lambda x, *, axis, reverse=False, fn=_fn, **_: (
        np.flip(fn(np.flip(x, axis), axis=axis), axis) if reverse else fn(x, axis=axis)
    )


@_rule("sort")
def _sort(*xs: Any, dimension: int, num_keys: int, **_: Any) -> Any:
    order = np.lexsort(xs[:num_keys][::-1], axis=dimension) if num_keys > 1 else np.argsort(
        xs[0], axis=dimension, kind="stable")  # fmt: skip
    return [np.take_along_axis(x, order, dimension) for x in xs]


@_rule("dot_general")
def _dot_general(a: Any, b: Any, *, dimension_numbers: Any, **_: Any) -> Any:
    (contract_a, contract_b), (batch_a, batch_b) = dimension_numbers
    letters = iter(range(52))
    la: dict[int, int] = {}
    lb: dict[int, int] = {}
    for i, j in [*zip(batch_a, batch_b, strict=True), *zip(contract_a, contract_b, strict=True)]:
        la[i] = lb[j] = next(letters)
    free_a = [la.setdefault(d, next(letters)) for d in range(a.ndim) if d not in la]
    free_b = [lb.setdefault(d, next(letters)) for d in range(b.ndim) if d not in lb]
    out = [la[i] for i in batch_a] + free_a + free_b
    return np.einsum(a, [la[d] for d in range(a.ndim)], b, [lb[d] for d in range(b.ndim)], out, optimize=True)


@_rule("gather")
def _gather(
    x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, fill_value: Any, **_: Any
) -> Any:
    """XLA's gather, slice by slice of the index array: for the small samples that a data set handles."""
    d = dimension_numbers
    batches = list(zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True))
    batch = indices.shape[:-1]
    gone = {*d.collapsed_slice_dims, *d.operand_batching_dims}
    kept = [n for k, n in enumerate(slice_sizes) if k not in gone]
    missing = _fill(x.dtype, fill_value) if "FILL" in str(mode) else None
    rows = []
    for where in np.ndindex(*batch):
        begin, inside = _window(x, indices[where], d.start_index_map, slice_sizes, [(k, where[b]) for k, b in batches])
        part = x[tuple(slice(b, b + n) for b, n in zip(begin, slice_sizes, strict=True))]
        rows.append(part.reshape(kept) if inside or missing is None else np.full(kept, missing, x.dtype))
    stacked = np.stack(rows).reshape(*batch, *kept) if rows else np.empty((*batch, *kept), x.dtype)
    rank = len(batch) + len(kept)
    front = [i for i in range(rank) if i not in d.offset_dims]
    order = [0] * rank
    for i, axis in enumerate([*front, *d.offset_dims]):
        order[axis] = i
    return stacked.transpose(order)


@_rule("split")
def _split(x: Any, *, sizes: Any, axis: int, **_: Any) -> Any:
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def _window(x: Any, index: Any, axes: Any, sizes: Any, batch: Any) -> tuple[list[int], bool]:
    """Where a slice of `sizes` begins, moved inside if need be; and whether it was inside. `batch`: (axis, place) pairs."""
    starts = [0] * x.ndim
    for axis, place in batch:
        starts[axis] = place
    for k, axis in enumerate(axes):
        starts[axis] = int(index[k])
    begin = _starts(x, starts, sizes)
    return begin, begin == starts


def _fill(dtype: Any, value: Any) -> Any:
    """What a gather gives outside: NaN, the least signed or the greatest unsigned number."""
    if value is not None:
        return value
    if dtype.kind in "fc":
        return np.nan
    return True if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max


def _scatter(combine: Callable[..., Any]) -> Callable[..., Any]:
    """XLA's scatter with a way to combine old and new, update by update in their order."""

    def scatter(x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **_: Any) -> Any:
        d = dimension_numbers
        batches = list(zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True))
        single = {*d.inserted_window_dims, *d.operand_batching_dims}
        windows = iter(d.update_window_dims)
        sizes = [1 if k in single else updates.shape[next(windows)] for k in range(x.ndim)]
        outer = [k for k in range(updates.ndim) if k not in d.update_window_dims]
        updates = updates.transpose([*outer, *d.update_window_dims])
        out = np.array(x)
        for where in np.ndindex(*indices.shape[:-1]):
            at_batch = [(k, where[b]) for k, b in batches]
            begin, inside = _window(x, indices[where], d.scatter_dims_to_operand_dims, sizes, at_batch)
            if inside or "CLIP" in str(mode):
                at = tuple(slice(b, b + n) for b, n in zip(begin, sizes, strict=True))
                out[at] = combine(out[at], updates[where].reshape(sizes))
        return out

    return scatter


for _name, _fn in {
    "scatter": lambda old, new: new, "scatter-add": np.add, "scatter-sub": np.subtract, "scatter-mul": np.multiply,
    "scatter-min": np.minimum, "scatter-max": np.maximum,
}.items():  # fmt: skip
    _PRIMITIVES[_name] = _scatter(_fn)


@_rule("top_k")
def _top_k(x: Any, *, k: int, axis: int, **_: Any) -> Any:
    flipped = np.flip(x, axis)  # of equal elements the first comes first
    order = np.flip(np.argsort(flipped, axis=axis, kind="stable"), axis)
    order = np.take(x.shape[axis] - 1 - order, range(k), axis)
    return [np.take_along_axis(x, order, axis), order]
