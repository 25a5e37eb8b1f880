"""JAX's primitives on NumPy: one table, from the name of a primitive to a function of host arrays.

Forked workers compute with it (record/host_kernels.py), and small kernels before XLA has compiled them (tiering.py). A rule
is called with the equation's inputs and parameters. It need not care for the type of its result, which is cast to the
equation's, nor for half precision, which reaches `arithmetic` rules as float32. Gather, scatter, windows and loops are in
`numpy_indexing` and `numpy_program`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..tuning import SPREAD_BY_COPY, SUM_IN_ORDER, SUM_IN_SINGLE
from .blas import matmul


class Rule(NamedTuple):
    """How one primitive runs on NumPy.

    run:   the function.
    cost:  nanoseconds for each element of the largest operand or result, or a function of (equation) that gives them all.
    half:  does it take float16 and bfloat16 as they are? Else they are computed in float32.
    doubt: for inputs of which XLA makes something else, true. A worker, which has no choice, takes NumPy's answer.
    elementwise: operands that only broadcast to the result's shape will do.
    """

    run: Callable[..., Any]
    cost: float | Callable[[Any], float]
    half: bool = False
    doubt: Callable[..., Any] | None = None
    elementwise: bool = False


MOVES = frozenset(
    """eq ne select_n convert_element_type stop_gradient copy copy_p optimization_barrier broadcast_in_dim reshape squeeze transpose
    rev slice concatenate stack unstack split pad dynamic_slice dynamic_update_slice gather scatter scan cond while""".split()
)
"""Primitives that do not compute: their rules are good for any type that NumPy can hold."""
COMPLEX = MOVES | frozenset(
    """add add_any sub mul neg div abs sign exp expm1 log log1p logistic sqrt rsqrt square sin cos tan sinh cosh tanh asin acos atan
    asinh acosh atanh pow integer_pow real imag conj complex reduce_sum reduce_prod cumsum cumprod dot_general conv_general_dilated
    scatter-add scatter-sub scatter-mul cholesky triangular_solve lu householder_product geqrf qr eigh svd fft""".split()
)
"""Primitives whose rules are as good for complex numbers."""

RULES: dict[str, Rule] = {}
UFUNCS: dict[str, np.ufunc] = {"div": np.divide}
"""Primitives that are one of NumPy's own functions: division, of floats."""


def rule(
    name: str, cost: float | Callable[[Any], float], half: bool = False, doubt: Any = None, elementwise: bool = False
) -> Any:
    """Decorator that enters a function into the table."""

    def define(fn: Callable[..., Any]) -> Callable[..., Any]:
        RULES[name] = Rule(fn, cost, half, doubt, elementwise)
        return fn

    return define


def _elementwise(fn: Callable[..., Any], cost: float, doubt: Any = None) -> Rule:
    return Rule(lambda *args, **_: fn(*args), cost, False, doubt, True)


def _mapped(fn: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of the `math` module over an array."""

    def run(x: Any) -> Any:
        return np.fromiter(map(fn, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)

    return run


# elementwise


# Numerator and denominator, in x^2, of erf(x) / x for |x| <= 4 in float32, highest power first (those of Eigen and XLA).
_ERF_P = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
          -2.95459980854025e-03, -1.60960333262415e-02)  # fmt: skip
_ERF_Q = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
          -1.42647390514189e-02)  # fmt: skip


def _erf(x: Any) -> Any:
    if x.dtype != np.float32:
        return _mapped(math.erf)(x)
    x = np.clip(x, np.float32(-4), np.float32(4))
    squared = x * x
    above, below = np.full(x.shape, _ERF_P[0], np.float32), np.full(x.shape, _ERF_Q[0], np.float32)
    for coefficients, sum_ in ((_ERF_P, above), (_ERF_Q, below)):
        for c in coefficients[1:]:
            sum_ *= squared
            sum_ += np.float32(c)
    return np.clip(x * above / below, np.float32(-1), np.float32(1))


def _is_integer(x: Any) -> bool:
    return x.dtype.kind in "iu"


def _divide(a: Any, b: Any) -> Any:
    """Integers are divided towards zero."""
    if not _is_integer(a):
        return np.divide(a, b)
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient < 0) & (quotient * b != a)) if a.dtype.kind == "i" else quotient


def _odd_division(a: Any, b: Any, **_: Any) -> bool:
    """By zero, or the least integer by -1."""
    if not _is_integer(a):
        return False
    return bool((b == 0).any() or (a.dtype.kind == "i" and ((b == -1) & (a == np.iinfo(a.dtype).min)).any()))


def _sign(x: Any) -> Any:
    return np.copysign(np.sign(x), x) if x.dtype.kind == "f" else np.sign(x)


def _logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _shift(fn: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """With the sign, or the highest bit as a bit like the others."""
    return lambda x, by: fn(x.view(f"{kind}{x.itemsize}"), by.view(f"{kind}{x.itemsize}")).view(x.dtype)


def _complex(real: Any, imag: Any) -> Any:
    """Numbers of these parts, which may be infinite."""
    out = np.empty(np.broadcast(real, imag).shape, np.result_type(real, np.complex64))
    out.real, out.imag = real, imag
    return out


def _log1p(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.log1p(x)
    a, b = x.real, x.imag
    size = np.where(np.abs(x) < 0.5, np.log1p(a * (2 + a) + b * b) / 2, np.log(np.hypot(1 + a, b)))
    return _complex(size, np.arctan2(b, 1 + a))


def _expm1(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.expm1(x)
    a, half = x.real, np.sin(x.imag / 2)
    return _complex(np.expm1(a) * np.cos(x.imag) - 2 * half * half, np.exp(a) * np.sin(x.imag))


def _max(a: Any, b: Any) -> Any:
    return np.logical_or(a, b) if a.dtype.kind == "b" else np.maximum(a, b)


def _min(a: Any, b: Any) -> Any:
    return np.logical_and(a, b) if a.dtype.kind == "b" else np.minimum(a, b)


for _name, (_fn, _cost) in {
    "add": (np.add, 0.5), "add_any": (np.add, 0.5), "sub": (np.subtract, 0.5), "mul": (np.multiply, 0.5),
    "neg": (np.negative, 0.5), "max": (_max, 0.5), "min": (_min, 0.5), "abs": (np.abs, 0.5), "sign": (_sign, 2),
    "floor": (np.floor, 0.5), "ceil": (np.ceil, 0.5), "exp": (np.exp, 2), "exp2": (np.exp2, 3), "log": (np.log, 2),
    "log2": (np.log2, 2), "one_minus_square": (lambda x: (1 + x) * (1 - x), 1),
    "log1p": (_log1p, 5), "expm1": (_expm1, 5), "sqrt": (np.sqrt, 1), "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "cbrt": (np.cbrt, 10), "square": (np.square, 0.5), "sin": (np.sin, 4), "cos": (np.cos, 4), "tan": (np.tan, 6),
    "asin": (np.arcsin, 6), "acos": (np.arccos, 6), "atan": (np.arctan, 6), "atan2": (np.arctan2, 15),
    "sinh": (np.sinh, 8), "cosh": (np.cosh, 8), "tanh": (np.tanh, 5), "asinh": (np.arcsinh, 15),
    "acosh": (np.arccosh, 15), "atanh": (np.arctanh, 15), "logistic": (_logistic, 4), "erf": (_erf, 15),
    "erfc": (_mapped(math.erfc), 150), "eq": (np.equal, 0.5), "ne": (np.not_equal, 0.5), "lt": (np.less, 0.5),
    "le": (np.less_equal, 0.5), "gt": (np.greater, 0.5), "ge": (np.greater_equal, 0.5), "and": (np.bitwise_and, 0.5),
    "or": (np.bitwise_or, 0.5), "xor": (np.bitwise_xor, 0.5), "not": (np.invert, 0.5), "is_finite": (np.isfinite, 0.5),
    "real": (np.real, 1), "imag": (np.imag, 1), "conj": (np.conj, 1), "complex": (_complex, 2),
    "shift_left": (_shift(np.left_shift, "u"), 1), "shift_right_arithmetic": (_shift(np.right_shift, "i"), 1),
    "shift_right_logical": (_shift(np.right_shift, "u"), 1),
}.items():  # fmt: skip
    RULES[_name] = _elementwise(_fn, _cost)
    if isinstance(_fn, np.ufunc):
        UFUNCS[_name] = _fn
RULES["div"] = _elementwise(_divide, 2, _odd_division)
RULES["rem"] = _elementwise(np.fmod, 10, _odd_division)
RULES["nextafter"] = Rule(lambda a, b, **_: np.nextafter(a, b), 5, half=True, elementwise=True)


def _near_poles(x: Any, **_: Any) -> bool:
    return not bool(((x > 0) & np.isfinite(x)).all())


@rule("lgamma", 150, doubt=_near_poles, elementwise=True)
def _lgamma(x: Any, **_: Any) -> Any:
    return _mapped(_log_gamma)(x)


def _log_gamma(x: float) -> float:
    """`math.lgamma`, infinite at its poles and where it overflows."""
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


@rule("polynomial", 8, elementwise=True)
def _polynomial(x: Any, *coefficients: Any, **_: Any) -> Any:
    """By Horner's rule, the constant first."""
    result = coefficients[-1]
    for c in coefficients[-2::-1]:
        result = c + x * result
    return result


@rule("pow", 10, elementwise=True)
def _pow(x: Any, y: Any, **_: Any) -> Any:
    return np.power(x, y.astype(x.dtype))


@rule("integer_pow", 3, elementwise=True)
def _integer_pow(x: Any, *, y: int, **_: Any) -> Any:
    """By squaring, as XLA has it."""
    result, power, n = None, x, abs(y)
    while n:
        if n & 1:
            result = power if result is None else result * power
        n >>= 1
        power = power * power if n else power
    if result is None:
        return np.ones_like(x)
    return result if y > 0 else 1 / result


@rule("round", 2, elementwise=True)
def _round(x: Any, *, rounding_method: Any, **_: Any) -> Any:
    if int(rounding_method) == 1:
        return np.round(x)
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), np.copysign(whole, x))


@rule("clamp", 1, elementwise=True)
def _clamp(low: Any, x: Any, high: Any, **_: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


@rule("select_n", 2, half=True, elementwise=True)
def _select(which: Any, *cases: Any, **_: Any) -> Any:
    return np.where(which, cases[1], cases[0]) if len(cases) == 2 else np.choose(which, cases)


def _inexact_cast(x: Any, *, new_dtype: Any, **_: Any) -> bool:
    """To integers from NaN, or from what they cannot hold."""
    new = np.dtype(new_dtype)
    if x.dtype.kind in "iub" or new.kind not in "iu":
        return False
    wide, limits = x.real.astype(np.float64), np.iinfo(new)
    return not bool(((wide > limits.min - 1.0) & (wide < limits.max + 1.0) | (wide == limits.min)).all())


@rule("convert_element_type", 1, half=True, doubt=_inexact_cast, elementwise=True)
def _convert(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    return (x.real if x.dtype.kind == "c" and np.dtype(new_dtype).kind not in "cb" else x).astype(new_dtype)


@rule("bitcast_convert_type", 1, half=True)
def _bitcast(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    old, new = x.dtype.itemsize, np.dtype(new_dtype).itemsize
    if old < new:
        return np.ascontiguousarray(x).view(new_dtype)[..., 0]
    parts = np.ascontiguousarray(x[..., None]).view(new_dtype)
    return parts if old > new else parts[..., 0]


# moves


def _same(x: Any, **_: Any) -> Any:
    return x


for _name in ("stop_gradient", "copy", "copy_p", "optimization_barrier"):
    RULES[_name] = Rule(_same if _name != "optimization_barrier" else lambda *xs, **_: list(xs), 0, half=True)


@rule("broadcast_in_dim", 0, half=True)
def _broadcast(x: Any, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    full = [1] * len(shape)
    for d, n in zip(broadcast_dimensions, x.shape, strict=True):
        full[d] = n
    return spread(x.reshape(full), shape)


def spread(x: Any, shape: Any) -> Any:
    """An array repeated to a shape that it broadcasts to, perhaps as a view."""
    if x.shape == shape:
        return x
    if math.prod(shape) > SPREAD_BY_COPY:
        return np.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


@rule("reshape", 0.2, half=True)
def _reshape(x: Any, *, new_sizes: Any, dimensions: Any, **_: Any) -> Any:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


@rule("squeeze", 0, half=True)
def _squeeze(x: Any, *, dimensions: Any, **_: Any) -> Any:
    return x.squeeze(tuple(dimensions))


@rule("transpose", 0, half=True)
def _transpose(x: Any, *, permutation: Any, **_: Any) -> Any:
    return x.transpose(permutation)


@rule("rev", 0, half=True)
def _rev(x: Any, *, dimensions: Any, **_: Any) -> Any:
    return np.flip(x, tuple(dimensions))


@rule("slice", 0, half=True)
def _slice(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    steps = strides or (1,) * x.ndim
    return x[tuple(slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, steps, strict=True))]


@rule("concatenate", 0.5, half=True)
def _concatenate(*xs: Any, dimension: int, **_: Any) -> Any:
    return np.concatenate(xs, dimension)


@rule("stack", 0.5, half=True)
def _stack(*xs: Any, axis: int, **_: Any) -> Any:
    return np.stack(xs, axis)


@rule("unstack", 0, half=True)
def _unstack(x: Any, *, axis: int, **_: Any) -> Any:
    return list(np.moveaxis(x, axis, 0))


@rule("split", 0, half=True)
def _split(x: Any, *, sizes: Any, axis: int, **_: Any) -> Any:
    before, ends = (slice(None),) * axis, list(itertools.accumulate(sizes))
    return [x[(*before, slice(end - n, end))] for n, end in zip(sizes, ends, strict=True)]


@rule("pad", 0.5, half=True)
def _pad(x: Any, value: Any, *, padding_config: Any, **_: Any) -> Any:
    """Holes inside, then edges; a negative edge cuts."""
    if any(hole for _, _, hole in padding_config):
        sizes = [n + max(n - 1, 0) * hole for n, (_, _, hole) in zip(x.shape, padding_config, strict=True)]
        spread = np.full(sizes, value, x.dtype)
        spread[tuple(slice(None, None, hole + 1) for _, _, hole in padding_config)] = x
        x = spread
    if any(lo < 0 or hi < 0 for lo, hi, _ in padding_config):
        edges = zip(x.shape, padding_config, strict=True)
        x = x[tuple(slice(max(-lo, 0), max(n - max(-hi, 0), 0)) for n, (lo, hi, _) in edges)]
    edges = [(max(lo, 0), max(hi, 0)) for lo, hi, _ in padding_config]
    out = np.full([n + lo + hi for n, (lo, hi) in zip(x.shape, edges, strict=True)], value, x.dtype)
    out[tuple(slice(lo, lo + n) for n, (lo, _) in zip(x.shape, edges, strict=True))] = x
    return out


@rule("iota", 0, half=True)
def _iota(*, dtype: Any, shape: Any, dimension: int, **_: Any) -> Any:
    line = np.arange(shape[dimension]).astype(dtype)
    return spread(line.reshape([-1 if d == dimension else 1 for d in range(len(shape))]), shape)


# reductions

_WIDER = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    n = math.prod([x.shape[d] for d in axes])
    if x.dtype.kind not in "fc" or n <= 2 * SUM_IN_ORDER:
        return np.add.reduce(x, axes, x.dtype)
    if n > SUM_IN_SINGLE and x.dtype in _WIDER:
        return np.add.reduce(x, axes, _WIDER[x.dtype])
    left = sorted(axes)
    while left:
        last = first = left.pop()
        while left and left[-1] == first - 1:
            first = left.pop()
        size = math.prod(x.shape[first : last + 1])
        x = _sum_along(x.reshape((*x.shape[:first], size, *x.shape[last + 1 :])), first)
    return x


def _sum_along(x: Any, axis: int) -> Any:
    """In blocks: NumPy adds pairwise along the last axis of memory only."""
    while (n := x.shape[axis]) > 2 * SUM_IN_ORDER and x.strides[axis] != x.itemsize:
        whole, rest = np.split(x, [n // SUM_IN_ORDER * SUM_IN_ORDER], axis)
        blocks = whole.reshape((*x.shape[:axis], n // SUM_IN_ORDER, SUM_IN_ORDER, *x.shape[axis + 1 :]))
        x = np.add.reduce(blocks, axis + 1)
        if rest.shape[axis]:
            x = np.concatenate([x, rest], axis)
    return np.add.reduce(x, axis)


def _extreme(ufunc: Any, least: bool) -> Callable[..., Any]:
    def run(x: Any, axes: tuple[int, ...]) -> Any:
        if x.size:
            return ufunc.reduce(x, axes)
        if x.dtype.kind == "f":
            start = -np.inf if least else np.inf
        elif x.dtype.kind == "b":
            start = not least
        else:
            start = np.iinfo(x.dtype).min if least else np.iinfo(x.dtype).max
        return ufunc.reduce(x, axes, initial=start)

    return run


def _reduction(fn: Callable[..., Any], cost: float) -> Rule:
    return Rule(lambda x, *, axes, **_: fn(x, tuple(axes)) if axes else x, cost)


for _name, _fn, _cost in (
    ("reduce_sum", _sum, 1), ("reduce_max", _extreme(np.maximum, True), 1), ("reduce_min", _extreme(np.minimum, False), 1),
    ("reduce_prod", lambda x, axes: np.multiply.reduce(x, axes, x.dtype), 1),
    ("reduce_and", lambda x, axes: np.bitwise_and.reduce(x, axes), 1),
    ("reduce_or", lambda x, axes: np.bitwise_or.reduce(x, axes), 1),
    ("reduce_xor", lambda x, axes: np.bitwise_xor.reduce(x, axes), 1),
):  # fmt: skip
    RULES[_name] = _reduction(_fn, _cost)
for _name, _fn in (("argmax", np.argmax), ("argmin", np.argmin)):
    RULES[_name] = Rule(lambda x, *, axes, fn=_fn, **_: fn(x, axes[0]), 2)


def _accumulation(fn: Callable[..., Any], wide: bool) -> Rule:
    """Along an axis, single precision in double as PyTorch does."""

    def run(x: Any, *, axis: int, reverse: bool = False, **_: Any) -> Any:
        x = x.astype(_WIDER.get(x.dtype, x.dtype)) if wide else x
        options = {"dtype": x.dtype} if wide else {}
        return np.flip(fn(np.flip(x, axis), axis, **options), axis) if reverse else fn(x, axis, **options)

    return Rule(run, 4)


RULES["cumsum"] = _accumulation(np.add.accumulate, True)
RULES["cumprod"] = _accumulation(np.multiply.accumulate, True)
RULES["cummax"] = _accumulation(np.maximum.accumulate, False)
RULES["cummin"] = _accumulation(np.minimum.accumulate, False)
RULES["cumlogsumexp"] = _accumulation(np.logaddexp.accumulate, True)


# order


def _sort_cost(eqn: Any) -> float:
    return 60.0 * sum(math.prod(v.aval.shape) for v in eqn.invars)


@rule("sort", _sort_cost)
def _sort(*xs: Any, dimension: int, num_keys: int, **_: Any) -> Any:
    if num_keys > 1:
        order = np.lexsort(xs[:num_keys][::-1], axis=dimension)
    else:
        order = np.argsort(xs[0], axis=dimension, kind="stable")
    return [np.take_along_axis(x, order, dimension) for x in xs]


@rule("top_k", _sort_cost)
def _top_k(x: Any, *, k: int, axis: int, **_: Any) -> Any:
    flipped = np.flip(x, axis)  # of equal elements the first comes first
    order = np.flip(np.argsort(flipped, axis=axis, kind="stable"), axis)
    order = np.take(x.shape[axis] - 1 - order, range(k), axis)
    return [np.take_along_axis(x, order, axis), order]


# products


def _product_cost(eqn: Any) -> float:
    a, b = (v.aval for v in eqn.invars)
    (contract, _), _ = eqn.params["dimension_numbers"]
    work = math.prod(eqn.outvars[0].aval.shape) * math.prod(a.shape[d] for d in contract)
    kind = np.dtype(eqn.outvars[0].aval.dtype)
    each = 1.5 if kind.kind in "iub" else 0.4 if kind.kind == "c" else 0.1 if kind == np.float64 else 0.05
    return each * work + math.prod(a.shape) + math.prod(b.shape)


@rule("dot_general", _product_cost)
def _dot_general(a: Any, b: Any, *, dimension_numbers: Any, preferred_element_type: Any = None, **_: Any) -> Any:
    (contract_a, contract_b), (batch_a, batch_b) = dimension_numbers
    if preferred_element_type is not None and np.dtype(preferred_element_type).itemsize > a.itemsize:
        a, b = a.astype(preferred_element_type), b.astype(preferred_element_type)
    free_a = [d for d in range(a.ndim) if d not in contract_a and d not in batch_a]
    free_b = [d for d in range(b.ndim) if d not in contract_b and d not in batch_b]
    batch, rows = [a.shape[d] for d in batch_a], [a.shape[d] for d in free_a]
    inner, columns = [a.shape[d] for d in contract_a], [b.shape[d] for d in free_b]
    m, k, n = math.prod(rows), math.prod(inner), math.prod(columns)
    left, right = a.transpose((*batch_a, *free_a, *contract_a)), b.transpose((*batch_b, *contract_b, *free_b))
    if batch:
        left, right = left.reshape(math.prod(batch), m, k), right.reshape(math.prod(batch), k, n)
    else:
        left, right = left.reshape(m, k), right.reshape(k, n)
    return matmul(left, right).reshape((*batch, *rows, *columns))
