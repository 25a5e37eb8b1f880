"""Every primitive that the engine runs on NumPy, beside XLA: values, types, shapes, NaN, infinities, the sign of zero."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxtorch._core.compile.context import x64
from jaxtorch._core.host.numpy_program import Doubt, NumpyProgram
from jaxtorch._core.host.numpy_rules import RULES

BF16 = np.dtype(jnp.bfloat16)
FLOATS = [np.dtype(d) for d in ("float32", "float64", "float16")] + [BF16]
INTEGERS = [np.dtype(d) for d in ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")]
BOOL = np.dtype(bool)
NUMBERS = [*FLOATS, *INTEGERS]
TOLERANCE = {"float32": 4e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.49999997, 1.5, 2.5, -2.5, 3.0, 88.0, -88.0, 104.0, 1e-3, -7.25, 1e4, np.inf, -np.inf,
           np.nan]  # fmt: skip


def edges(dtype: np.dtype) -> np.ndarray:
    """Numbers where functions break."""
    if dtype.kind == "b":
        return np.array([True, False, False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = [limits.max, limits.max - 1, 0, 1, 2, 7, 100, limits.min, limits.min + 1, 64, 31, 8]
        return np.array([*values, -1 % (limits.max + 1) if dtype.kind == "u" else -1], dtype)
    return np.array([*SPECIAL, 60000.0 if dtype == np.float16 else 3e38], dtype)


def drawn(dtype: np.dtype, *shape: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed + len(shape))
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        return random.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    return random.normal(size=shape).astype(dtype)


SEEN: set[str] = set()


def check(expected: Any, found: Any, exact: bool = False, loose: float = 1.0, signs: bool = True) -> None:
    assert expected.dtype == found.dtype and expected.shape == found.shape
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(found, expected)
        return
    rtol = 0 if exact else TOLERANCE[expected.dtype.name] * loose
    tiny = float(jnp.finfo(expected.dtype).tiny)  # XLA flushes smaller numbers to zero
    expected, found = expected.astype(np.float64), found.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=max(tiny, rtol * 0.2))
    zero = (expected == 0) & (found == 0)
    if signs:
        np.testing.assert_array_equal(np.signbit(found)[zero], np.signbit(expected)[zero], "the sign of zero")


@pytest.fixture
def compare() -> Iterator[Callable[..., None]]:
    """`compare(fn, *arguments, exact=..., loose=..., signs=...)` notes a function; all are compared, in one program of XLA, when the
    test has ended."""
    noted: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def compare(fn: Callable[..., Any], *args: Any, **options: Any) -> None:
        noted.append((fn, args, options))

    yield compare
    arguments = [args for _, args, _ in noted]
    with x64():
        expected = jax.jit(lambda given: [fn(*args) for (fn, _, _), args in zip(noted, given, strict=True)])(arguments)
        for (fn, args, options), outs in zip(noted, expected, strict=True):
            closed = jax.make_jaxpr(fn)(*args)
            SEEN.update(eqn.primitive.name for eqn in closed.jaxpr.eqns)
            with np.errstate(all="ignore"):
                found = NumpyProgram(closed).run([np.asarray(a) for a in args], careful=True)
            for e, f in zip(jax.tree.leaves(outs), found, strict=True):
                try:
                    check(np.asarray(e), f, **options)
                except AssertionError as error:
                    raise AssertionError(f"{closed.jaxpr}\n{args}\n{error}") from None


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Every edge with every other."""
    a, b = np.meshgrid(edges(dtype), edges(dtype))
    return a.ravel(), b.ravel()


EXACT_UNARY = {"neg": lax.neg, "abs": lax.abs, "sign": lax.sign, "floor": lax.floor, "ceil": lax.ceil, "square": lax.square,
               "sqrt": lax.sqrt}  # fmt: skip
UNARY = {"exp": lax.exp, "exp2": lax.exp2, "log": lax.log, "log1p": lax.log1p, "expm1": lax.expm1, "rsqrt": lax.rsqrt,
         "cbrt": lax.cbrt, "sin": lax.sin, "cos": lax.cos, "tan": lax.tan, "asin": lax.asin, "acos": lax.acos,
         "atan": lax.atan, "sinh": lax.sinh, "cosh": lax.cosh, "tanh": lax.tanh, "asinh": lax.asinh, "acosh": lax.acosh,
         "atanh": lax.atanh, "logistic": lax.logistic, "erf": lax.erf, "erfc": lax.erfc}  # fmt: skip
BINARY = {"add": lax.add, "sub": lax.sub, "mul": lax.mul, "max": lax.max, "min": lax.min, "eq": lax.eq, "ne": lax.ne,
          "lt": lax.lt, "le": lax.le, "gt": lax.gt, "ge": lax.ge}  # fmt: skip
BITS = [lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor]
SHIFTS = [lax.shift_left, lax.shift_right_arithmetic, lax.shift_right_logical]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions_of_floating_point_numbers(compare: Any, dtype: np.dtype) -> None:
    for x in (edges(dtype), drawn(dtype, 200) * 3, edges(dtype)[4], drawn(dtype, 0)):
        for name, fn in EXACT_UNARY.items():
            compare(fn, x, exact=name != "sqrt" or dtype.itemsize > 2)
        for name, fn in UNARY.items():
            if name == "exp2" and dtype.itemsize == 2:
                continue  # XLA is wrong by a quarter for large numbers
            compare(fn, x, loose=4 if name in ("exp2", "cbrt") else 1)
        compare(lax.is_finite, x)
    compare(lax.lgamma, np.abs(drawn(dtype, 200)) * 3 + np.asarray(0.1, dtype), loose=4)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_functions_of_integers(compare: Any, dtype: np.dtype) -> None:
    x = edges(dtype)
    for fn in (lax.sign, lax.bitwise_not, *([lax.neg, lax.abs] if dtype.kind == "i" else [])):
        compare(fn, x)
    for n in (0, 1, 2, 3, 7):
        compare(lambda x, n=n: lax.integer_pow(x, n), x)
    compare(lambda x: lax.clamp(np.asarray(1, dtype), x, np.asarray(3, dtype)), x)


@pytest.mark.parametrize("dtype", [*NUMBERS, BOOL], ids=str)
def test_of_two(compare: Any, dtype: np.dtype) -> None:
    a, b = pairs(dtype)
    for name, fn in BINARY.items():
        if dtype != BOOL or name not in ("add", "sub", "mul"):
            compare(fn, a, b, exact=True, signs=name not in ("max", "min"))  # which zero, nobody says
    if dtype.kind in "iub":
        for fn in BITS:
            compare(fn, a, b)
    if dtype.kind in "iu":
        for fn in SHIFTS:
            compare(fn, a, b)
        fine = (b != 0) & ~((b.astype(np.int64) == -1) & (a == np.iinfo(dtype).min))
        compare(lax.div, a[fine], b[fine])
        compare(lax.rem, a[fine], b[fine])
    if dtype in FLOATS:
        compare(lax.div, a, b)
        compare(lax.rem, a, b, exact=dtype.itemsize > 2)
        compare(lax.pow, a, b)
        compare(lax.pow, np.abs(a), np.round(np.nan_to_num(b.astype(np.float64))).clip(-30, 30).astype(np.int32))
        compare(lax.atan2, a, b)
        compare(lax.pow, np.abs(drawn(dtype, 300)), drawn(dtype, 300, seed=1))
        compare(lax.div, drawn(dtype, 300), drawn(dtype, 300, seed=1))
    if dtype in FLOATS and dtype.itemsize > 2:
        compare(lax.nextafter, a, b)


@pytest.mark.parametrize("old", [*NUMBERS, BOOL], ids=str)
def test_casts(compare: Any, old: np.dtype) -> None:
    for new in [*NUMBERS, BOOL]:
        x = np.concatenate([edges(old), drawn(old, 50)])
        if old in FLOATS and new not in FLOATS:
            x = drawn(old, 50) * 3
            x = np.abs(x) if new.kind == "u" else x
        by_way_of_single = new.itemsize == 2 and new in FLOATS and old.itemsize == 8
        compare(lambda x, new=new: lax.convert_element_type(x, new), x, exact=not by_way_of_single)


@pytest.mark.parametrize(
    "fn, args",
    [
        (lax.div, (np.array([3, 4]), np.array([1, 0]))),
        (lax.rem, (np.array([3, -(2**63)]), np.array([1, -1]))),
        (lambda a: lax.convert_element_type(a, np.int32), (np.array([1.0, np.nan]),)),
        (lambda a: lax.convert_element_type(a, np.int8), (np.array([1.0, 128.0]),)),
        (lambda a: lax.convert_element_type(a, np.uint8), (np.array([1.0, -1.0]),)),
        (lax.lgamma, (np.array([1.0, -1.0]),)),
        (lambda a: a.at[1].apply(jnp.sin), (np.array([1.0, 2.0]),)),
    ],
)
def test_what_they_do_not_do_alike_is_left_to_xla(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with x64():
        program = NumpyProgram(jax.make_jaxpr(fn)(*args))
    with pytest.raises(Doubt):
        program.run(list(args), careful=True)


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int64), np.dtype(np.uint8), BOOL], ids=str)
def test_moves(compare: Any, dtype: np.dtype) -> None:
    x, y, line = drawn(dtype, 3, 4), drawn(dtype, 3, 4, seed=5), drawn(dtype, 4)
    zero = np.zeros((), dtype)
    for fn in (
        lambda x, y: lax.broadcast_in_dim(x, (2, 3, 5, 4), (1, 3)),
        lambda x, y: lax.reshape(x, (2, 6)),
        lambda x, y: lax.reshape(x, (2, 6), (1, 0)),
        lambda x, y: lax.squeeze(lax.reshape(x, (1, 12, 1)), (0, 2)),
        lambda x, y: lax.transpose(x, (1, 0)),
        lambda x, y: lax.rev(x, (1,)),
        lambda x, y: lax.slice(x, (1, 0), (3, 4), (1, 2)),
        lambda x, y: lax.concatenate([x, y, x], 1),
        lambda x, y: jnp.stack([x, y], 1),
        lambda x, y: lax.split(x, (1, 3), 1),
        lambda x, y: lax.pad(x, zero, ((1, 2, 0), (0, 1, 2))),
        lambda x, y: lax.pad(x, zero, ((-1, 2, 0), (1, -3, 1))),
        lambda x, y: lax.stop_gradient(x),
        lambda x, y: jnp.copy(x),
        lambda x, y: lax.select_n(y > x, x, y),
        lambda x, y: lax.select_n(y[0, 0] > x[0, 0], x, y),
        lambda x, y: lax.dynamic_slice(x, (1, 9), (2, 2)),
        lambda x, y: lax.dynamic_slice(x, (-5, 1), (2, 2)),
        lambda x, y: lax.dynamic_update_slice(x, y[:2, :2], (2, -1)),
        lambda x, y: lax.iota(dtype, 5) if dtype != BOOL else x,
        lambda x, y: lax.broadcasted_iota(np.int32, (2, 3), 1),
        lambda x, y: lax.optimization_barrier(x),
        lambda x, y: list(lax.unstack_p.bind(x, axis=1)) if hasattr(lax, "unstack_p") else x,
    ):
        compare(fn, x, y, exact=True)
    compare(lambda x: lax.broadcast_in_dim(x, (0, 4), (1,)), line, exact=True)
    if dtype.itemsize > 1 and dtype.kind != "b":
        compare(lambda x: lax.bitcast_convert_type(x, f"int{8 * dtype.itemsize}"), x, exact=True)
        compare(lambda x: lax.bitcast_convert_type(x, f"uint{4 * dtype.itemsize}"), x, exact=True)
    if dtype.itemsize < 8 and dtype.kind != "b":
        compare(lambda x: lax.bitcast_convert_type(x, f"uint{16 * dtype.itemsize}"), x.reshape(-1, 2), exact=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_clamp_round_powers(compare: Any, dtype: np.dtype) -> None:
    x = np.concatenate([edges(dtype), drawn(dtype, 40)])
    for low in (1, np.nan):
        compare(lambda x, low=low: lax.clamp(np.asarray(low, dtype), x, np.asarray(3, dtype)), x, exact=True)
    for method in (lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN):
        compare(lambda x, m=method: lax.round(x, m), x, exact=True)
    for n in (0, 1, 2, 3, 7, -1, -3):
        compare(lambda x, n=n: lax.integer_pow(x, n), x, loose=2)


AXES = [(0,), (1,), (0, 2), (0, 1, 2), ()]


@pytest.mark.parametrize("dtype", [*NUMBERS, BOOL], ids=str)
def test_reductions(compare: Any, dtype: np.dtype) -> None:
    x = drawn(dtype, 3, 4, 5)
    broken = x.copy()
    if dtype in FLOATS:
        broken[1, 2, 3], broken[0, 0, 0] = np.nan, -np.inf
    arrays = [x, broken, drawn(dtype, 3, 0, 5)]
    kinds: dict[Any, list[Any]] = {"b": [lax.reduce_and_p, lax.reduce_or_p, lax.reduce_max_p]}
    numeric = [lax.reduce_max_p, lax.reduce_min_p, lax.reduce_prod_p]
    for primitive in kinds.get(dtype.kind, numeric):
        for axes in AXES:
            for a in arrays:
                extra = {"out_sharding": None} if primitive in (lax.reduce_max_p, lax.reduce_min_p) else {}
                compare(lambda x, p=primitive, axes=axes, e=extra: p.bind(x, axes=axes, **e), a, loose=4)
    if dtype == BOOL:
        return
    for axes in AXES:
        for a in arrays:
            compare(lambda x, axes=axes: jnp.sum(x, axes, dtype=dtype), a, loose=4)
    if dtype.kind in "iu":
        compare(lambda x: lax.reduce_xor(x, (1,)), x)
    for a in arrays[:2]:
        for axis in range(3):
            compare(lambda x, axis=axis: lax.argmax(x, axis, np.int64), a)
            compare(lambda x, axis=axis: lax.argmin(x, axis, np.int32), a)


def test_long_sums_are_accurate() -> None:
    x = np.random.default_rng(0).random((100_000, 3)).astype(np.float32)
    for fn in (lambda x: jnp.sum(x, 0), lambda x: jnp.sum(x.T, 1), jnp.sum):
        with x64():
            program = NumpyProgram(jax.make_jaxpr(fn)(x))
        (found,) = program.run([x], careful=True)
        exact = np.sum(x, 0 if found.ndim else None, np.float64)
        np.testing.assert_allclose(found, exact, rtol=2e-6)


@pytest.mark.parametrize("dtype", [d for d in NUMBERS if d.itemsize > 1], ids=str)
def test_along_an_axis(compare: Any, dtype: np.dtype) -> None:
    x = drawn(dtype, 4, 30)
    for fn in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin):
        for axis in (0, 1):
            for reverse in (False, True):
                compare(lambda x, fn=fn, axis=axis, reverse=reverse: fn(x, axis, reverse), x, loose=20)
    if dtype in FLOATS:
        compare(lambda x: lax.cumlogsumexp(x, 1), x, loose=20)


@pytest.mark.parametrize("dtype", [*NUMBERS, BOOL], ids=str)
def test_order(compare: Any, dtype: np.dtype) -> None:
    x = np.concatenate([edges(dtype), edges(dtype)[::-1], drawn(dtype, 40)])
    places = np.arange(len(x))
    compare(lambda x, i: lax.sort((x, i), num_keys=1), x, places, exact=True)
    compare(lambda x, i: lax.sort((i // 9, x), num_keys=2), x, places, exact=True)
    compare(lambda x: lax.sort(x), x.reshape(2, -1), exact=True)
    if dtype != BOOL:
        compare(lambda x: lax.top_k(x, 5), x.reshape(2, -1), exact=True)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_products(compare: Any, dtype: np.dtype) -> None:
    def dot(a: Any, b: Any, contract: Any, batch: Any = ((), ()), wide: Any = None) -> None:
        compare(lambda a, b: lax.dot_general(a, b, (contract, batch), preferred_element_type=wide), a, b, loose=8)

    a, b = drawn(dtype, 3, 4, 5), drawn(dtype, 5, 3, 2, seed=3)
    dot(a, b, ((2,), (0,)))
    dot(a, b, ((2, 0), (0, 1)))
    dot(a, b, ((2,), (0,)), ((0,), (1,)))
    dot(a[0, 0], b[:, 0, 0], ((0,), (0,)))
    dot(a[0], b[:, 0, 0], ((1,), (0,)))
    dot(a[:, :0], b, ((2,), (0,)))
    dot(a[..., :0], b[:0], ((2,), (0,)))
    if dtype.itemsize < 4:
        dot(a, b, ((2,), (0,)), wide=np.float32 if dtype in FLOATS else np.int32)
    if dtype in FLOATS:  # 0 * NaN and 0 * inf are NaN
        broken = a.copy()
        broken[0, 1, 2], broken[1, 0, 0] = np.nan, np.inf
        zeros = np.zeros_like(b)
        dot(broken, zeros, ((2,), (0,)))
        dot(broken[0], zeros[:, 0, 0], ((1,), (0,)))
        dot(zeros[:, 0, 0], broken[0], ((0,), (1,)))
        dot(np.eye(40, dtype=dtype), np.full((40, 40), np.inf, dtype), ((1,), (0,)))


INDEX_MODES = [lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP]


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int64), np.dtype(np.uint8), BOOL], ids=str)
@pytest.mark.parametrize("mode", INDEX_MODES, ids=str)
def test_gather(compare: Any, dtype: np.dtype, mode: Any) -> None:
    x = drawn(dtype, 4, 5, 6)

    def gather(indices: Any, sizes: Any, **numbers: Any) -> None:
        d = lax.GatherDimensionNumbers(**numbers)
        compare(lambda x, i: lax.gather(x, i, d, sizes, mode=mode), x, np.asarray(indices), exact=True)

    rows = [[0], [3], [-1], [9], [2]]
    gather(rows, (1, 5, 6), offset_dims=(1, 2), collapsed_slice_dims=(0,), start_index_map=(0,))
    gather(rows, (1, 2, 6), offset_dims=(0, 1), collapsed_slice_dims=(0,), start_index_map=(1,))
    gather([[0, 1], [3, 4], [2, 7]], (2, 1, 3), offset_dims=(0, 2), collapsed_slice_dims=(1,), start_index_map=(0, 1))
    gather([[[2, 0, 1]]], (1, 1, 1), offset_dims=(), collapsed_slice_dims=(0, 1, 2), start_index_map=(1, 0, 2))
    gather(np.zeros((0, 1), int), (1, 5, 6), offset_dims=(1, 2), collapsed_slice_dims=(0,), start_index_map=(0,))
    gather(np.array([[0], [255]], np.uint8), (1, 5, 6), offset_dims=(1, 2), collapsed_slice_dims=(0,),
           start_index_map=(0,))  # fmt: skip
    gather([[[1], [2]], [[0], [6]], [[3], [3]], [[4], [0]]], (1, 1, 6), offset_dims=(2,), collapsed_slice_dims=(1,),
           start_index_map=(1,), operand_batching_dims=(0,), start_indices_batching_dims=(0,))  # fmt: skip


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int64), np.dtype(np.uint8)], ids=str)
def test_scatter(compare: Any, dtype: np.dtype) -> None:
    x = drawn(dtype, 4, 5, 6)

    def scatter(indices: Any, shape: tuple[int, ...], mode: Any, **numbers: Any) -> None:
        d = lax.ScatterDimensionNumbers(**numbers)
        updates = drawn(dtype, *shape, seed=7)
        indices = np.asarray(indices)
        for fn in (lax.scatter, lax.scatter_add, lax.scatter_sub, lax.scatter_mul, lax.scatter_min, lax.scatter_max):
            compare(lambda x, i, u, fn=fn: fn(x, i, u, d, mode=mode), x, indices, updates, loose=4)

    for mode in INDEX_MODES:
        rows = [[0], [3], [-1], [9], [3]]
        scatter(rows, (5, 5, 6), mode, update_window_dims=(1, 2), inserted_window_dims=(0,),
                scatter_dims_to_operand_dims=(0,))  # fmt: skip
        scatter(rows, (2, 5, 6), mode, update_window_dims=(0, 2), inserted_window_dims=(0,),
                scatter_dims_to_operand_dims=(1,))  # fmt: skip
        scatter([[2, 0, 1], [2, 0, 1], [9, 0, 0]], (3,), mode, update_window_dims=(), inserted_window_dims=(0, 1, 2),
                scatter_dims_to_operand_dims=(1, 0, 2))  # fmt: skip
        scatter([[1], [2], [6], [0]], (4, 6), mode, update_window_dims=(1,), inserted_window_dims=(1,),
                scatter_dims_to_operand_dims=(1,), operand_batching_dims=(0,),
                scatter_indices_batching_dims=(0,))  # fmt: skip
        scatter(np.zeros((0, 1), int), (0, 5, 6), mode, update_window_dims=(1, 2), inserted_window_dims=(0,),
                scatter_dims_to_operand_dims=(0,))  # fmt: skip


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int64)], ids=str)
def test_windows(compare: Any, dtype: np.dtype) -> None:
    x = drawn(dtype, 2, 9, 8)
    zero = np.zeros((), dtype)
    low, high = (-np.inf, np.inf) if dtype in FLOATS else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for begin, fn in ((zero, lax.add), (np.asarray(low, dtype), lax.max), (np.asarray(high, dtype), lax.min)):
        for strides, padding, holes, spread in (
            ((1, 1, 1), "VALID", (1, 1, 1), (1, 1, 1)),
            ((1, 2, 3), ((0, 0), (1, 2), (0, 1)), (1, 1, 1), (1, 1, 1)),
            ((1, 2, 1), ((0, 0), (1, 1), (2, 0)), (1, 2, 1), (1, 1, 2)),
            ((1, 1, 1), "VALID", (1, 1, 1), (1, 9, 1)),
        ):
            compare(
                lambda x, b=begin, f=fn, s=strides, p=padding, h=holes, w=spread: lax.reduce_window(
                    x, b, f, (1, 3, 2), s, p, h, w
                ),
                x,
                loose=4,
            )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_convolutions(compare: Any, dtype: np.dtype) -> None:
    def convolve(x: Any, w: Any, strides: Any, padding: Any, *, layout: Any = None, **options: Any) -> None:
        compare(
            lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout, **options),
            x, w, loose=20,
        )  # fmt: skip

    x, w = drawn(dtype, 2, 4, 7, 8), drawn(dtype, 6, 4, 3, 2, seed=2)
    convolve(x, w, (1, 1), "VALID")
    convolve(x, w, (2, 1), [(1, 2), (0, 1)])
    convolve(x, w, (1, 1), [(-1, 2), (0, 1)], lhs_dilation=(2, 3), rhs_dilation=(2, 1))
    convolve(x, w[:, :2], (1, 2), "SAME", feature_group_count=2)
    convolve(drawn(dtype, 4, 4, 7, 8), w, (1, 1), "SAME", batch_group_count=2)
    convolve(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), (1, 1), "SAME", layout=("NHWC", "HWIO", "NHWC"))
    convolve(x, w.transpose(1, 2, 3, 0), (1, 1), "VALID", layout=("NCHW", "IHWO", "HWCN"))
    convolve(drawn(dtype, 2, 4, 2), drawn(dtype, 3, 4, 3), (1,), "VALID")
    convolve(drawn(dtype, 2, 4, 3, 4, 5), drawn(dtype, 3, 4, 2, 2, 2), (1, 2, 1), "VALID")


def test_loops(compare: Any) -> None:
    xs = drawn(np.dtype(np.float32), 5, 3)
    for reverse in (False, True):
        for n in (5, 0):
            compare(
                lambda xs, reverse=reverse: lax.scan(
                    lambda c, x: (c * 0.5 + x, (jnp.sum(c), x > c)), jnp.ones(3, np.float32), xs, reverse=reverse
                ),
                xs[:n],
            )
    for i in (-1, 0, 1, 7):
        compare(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos], x), np.asarray(i), xs)
    compare(lambda x: lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] * x), (0, x))[1], xs)


def test_inner_calls(compare: Any) -> None:
    x = drawn(np.dtype(np.float32), 5)

    @jax.custom_jvp
    def special(x: Any) -> Any:
        return x * 2

    special.defjvp(lambda p, t: (special(p[0]), t[0]))
    compare(lambda x: (jax.nn.relu(x), special(x), jax.checkpoint(jnp.sin)(x), jax.jit(lambda y: y)(x)), x)


def test_every_rule_was_compared(request: pytest.FixtureRequest, run_python: Any) -> None:
    """By this file's other tests; a worker of several has run some of them only, so it runs them in a process of their own."""
    config = request.config
    if not config.getoption("--whole") or config.getoption("keyword") or any("::" in a for a in config.args):
        pytest.skip("a part of this file runs; --whole runs all of it")
    if "PYTEST_XDIST_WORKER" in os.environ:
        run_python("-m", "pytest", "-q", "-p", "no:xdist", "--whole", str(request.path))
        return
    elsewhere = {
        name for name, rule in RULES.items() if rule.run.__module__.endswith(("numpy_linalg", "numpy_recurrent"))
    }
    untested = (
        set(RULES) - SEEN - elsewhere - {"platform_index", "real", "imag", "conj", "complex", "copy_p", "add_any"}
    )
    assert untested == set()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2), (0,)])
def test_whole_rows_along_an_axis(axis: int, batch: tuple[int, ...]) -> None:
    """Numbers of rows, inside and outside, clipped, filled and dropped; read, written and added to."""
    rng = np.random.RandomState(0)
    shape = (4, 5, 3)
    x, row = rng.randn(*shape).astype(np.float32), (slice(None),) * axis
    given = np.float32(rng.randn(*shape[:axis], *batch, *shape[axis + 1 :]))
    for low, high in ((0, shape[axis]), (-7, 9)):
        i = rng.randint(low, high, batch)
        for mode in ("clip", "fill"):
            drops = "drop" if mode == "fill" else mode
            for fn in (
                lambda x, i, y, m=mode: jnp.take(x, i, axis=axis, mode=m),
                lambda x, i, y, m=drops: x.at[(*row, i)].add(y, mode=m),
                lambda x, i, y: jnp.moveaxis(x, axis, 0).at[i.reshape(-1)[:1]].get(mode="clip"),
                lambda x, i, y: jax.vmap(lambda k: jnp.moveaxis(x, axis, 0)[k], out_axes=-1)(i.reshape(-1)),
            ):
                with jax.enable_x64(True):
                    closed = jax.make_jaxpr(fn)(x, i, given)
                    expected = np.asarray(jax.jit(fn)(x, i, given))
                found = NumpyProgram(closed).run([x, np.asarray(i), given], False)[0]
                assert found.shape == expected.shape
                np.testing.assert_allclose(found, expected, rtol=1e-5)
