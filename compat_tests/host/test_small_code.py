"""Small programs of any types as steps in C: their numbers are PyTorch's, and what may differ is left to NumPy and XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from jaxtorch._core.host import native_code, small_code
from jaxtorch._core.record import program
from jaxtorch._core.run import runner
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER
from jaxtorch._core.types.device import cpu

pytestmark = [
    pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs in immediate mode"),
    pytest.mark.skipif(small_code.made_in_c is None, reason="the recorder was not built"),
]

RUNS = PROGRAM_WRITTEN_AFTER + 3
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of float32 alone, too, are to be these steps."""
    monkeypatch.setattr(native_code, "written", lambda plan, passes_only=False: None)


def ran(f: Callable[..., Any], *arrays: Any) -> tuple[list[Any], list[Any]]:
    """The results of the last of so many runs, and the calls of the programs that stay on the host."""
    runner._structures.clear()
    cpu.slot.ran = None
    inputs, outs = [torch.tensor(a) for a in arrays], []
    for _ in range(RUNS):
        outs = f(torch, *inputs)
        program.flush_all()
    outs = outs if isinstance(outs, (tuple, list)) else (outs,)
    return [*outs], [s.call for s in runner._structures.values() if s.on_host]


def same(f: Callable[..., Any], *arrays: Any, calls: int | None = 0, tolerance: float = 1e-6) -> None:
    """Do the steps give what PyTorch gives? `calls`: how many of them are left to NumPy."""
    outs, made = ran(lambda t, x, *rest: f(t, x * 1 if x.dtype != t.bool else x & True, *rest), *arrays)
    assert made, "no program has stayed on the host"
    for call in made:
        assert type(call) is small_code.made_in_c.SmallCall, "it is NumPy's"
    expected = f(pytorch, *map(pytorch.tensor, arrays))
    for x, y in zip(outs, expected if isinstance(expected, (tuple, list)) else (expected,), strict=True):
        found, wanted = x.numpy(), y.numpy()
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    if calls is not None:
        assert sum([_calls(s) for s in runner._structures.values() if s.on_host]) == calls


def _calls(structure: Any) -> int:
    writer = small_code._Writer(structure.plan)
    writer.call(lambda arrays: [])
    return len(writer.waiting)


def numbers(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    if dtype.startswith("float"):
        found = RNG.standard_normal(shape).astype(dtype)
        found.reshape(-1)[::7] = np.resize([np.nan, np.inf, -np.inf, 0.0, -0.0], found.reshape(-1)[::7].shape)
        return found
    return RNG.integers(0 if dtype == "uint8" else -50, 50, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("name", "add sub mul maximum minimum eq ne lt le gt ge fmod".split())
def test_two_numbers(name: str, dtype: str):
    x, y = numbers(dtype, 5, 1, 4), numbers(dtype, 3, 1)
    if name == "fmod":
        y[y == 0] = 3
    same(lambda t, x, y: getattr(t, name)(x, y), x, y)
    same(lambda t, x, y: getattr(t, name)(x[:, 0].t(), y[0]), x, y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name", "neg abs sign exp log log1p expm1 tanh sigmoid sqrt rsqrt erf sin cos tan floor ceil square isfinite isnan".split()
)  # fmt: skip
def test_one_number(name: str, dtype: str):
    x = numbers(dtype, 6, 5)
    if name in ("sin", "cos", "tan"):
        x = np.nan_to_num(x, posinf=2, neginf=-3)
    same(lambda t, x: getattr(t, name)(x), x, tolerance=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "eq", "lt"])
def test_flags(name: str):
    x, y = numbers("bool", 4, 5), numbers("bool", 5)
    same(lambda t, x, y: getattr(t, name)(x, y), x, y)
    same(lambda t, x, y: (~x, x.any(1), x.all(0), x.sum(), x.float().mean(), t.where(x, y, ~y)), x, y)


@pytest.mark.parametrize("old", ["float32", "float64", "int64", "int32", "uint8", "bool"])
def test_types(old: str):
    x = np.nan_to_num(numbers(old, 7, 3), posinf=4, neginf=-4)
    calls = None if old == "uint8" else 0
    same(lambda t, x: (x.float(), x.double(), x.long(), x.int(), x.bool()), x, calls=calls)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
def test_rows(dtype: str):
    x = numbers(dtype, 4, 6, 3)
    for dim in (0, 1, 2):
        same(
            lambda t, x, d=dim: (x.sum(d), x.amax(d), x.amin(d), x.argmax(d), x.argmin(d), x.cumsum(d)),
            x,
            tolerance=1e-5,
        )
    same(
        lambda t, x: (x.sum((0, 2)), x.amax((1, 2), keepdim=True), x.argmax(), x.max(1).values, x.min(2)[1]),
        x,
        tolerance=1e-5,
    )
    same(
        lambda t, x: (x.cummax(1)[0], x.flip(0).cumsum(0), x.prod(1)),
        np.nan_to_num(x, posinf=1, neginf=2),
        tolerance=1e-4,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
def test_order(dtype: str):
    x = numbers(dtype, 5, 17)
    same(lambda t, x: (*t.sort(x, dim=1, stable=True), *t.sort(x, dim=0, stable=True, descending=True)), x)
    distinct = RNG.permutation(5 * 17).reshape(5, 17).astype(dtype)
    same(lambda t, x: (*x.topk(4, 1), *x.t().topk(3, 0), x.argsort(1)), distinct)
    same(lambda t, x: x.topk(17, 1)[0], distinct)


def test_slices_at_numbers():
    x, y = numbers("float32", 6, 4), numbers("float32", 4)

    def read(t: Any, x: Any, y: Any) -> Any:
        return [(x + 0)[i] + x[i + 1, 1:3].sum() for i in range(4)]

    def write(t: Any, x: Any, y: Any) -> Any:
        z, n = x.clone(), t.zeros(3, 3, dtype=t.int64)
        for i in range(4):
            z[i] = y * i
            z[i + 1, 2] += 1.5
            z[:, 1:3] *= 2
            n[i % 3, 1] += 1
        return z, n

    same(read, x, y)
    same(write, x, y)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8"])
def test_gather_and_scatter(dtype: str):
    x, rows = numbers(dtype, 6, 4), RNG.integers(0, 6, (5,))
    columns, places = RNG.integers(0, 4, (6, 2)), RNG.integers(0, 6, (3, 4))
    apart, calls = RNG.permuted(np.tile(np.arange(4), (6, 1)), axis=1)[:, :2], None if dtype == "uint8" else 0
    same(lambda t, x, i, j: (x.gather(1, j), t.index_select(x, 0, i), t.take(x, i)), x, rows, columns, calls=calls)
    same(lambda t, x, i, j: x.scatter(1, j, x[:, :2]), x, rows, apart, calls=calls)
    if dtype in ("float32", "int64"):
        x = np.nan_to_num(x, posinf=1, neginf=2)
        same(lambda t, x, p: x.scatter_add(0, p, x[:3] * 2), x, places, tolerance=1e-5)
        same(lambda t, x, i: x.index_add(0, i, x[:5]), x, rows, tolerance=1e-5)
        same(lambda t, x, i: t.nn.functional.embedding(i, x.float()), x, rows)


def test_joining_and_cutting():
    x = numbers("float32", 4, 6)
    same(lambda t, x: (t.cat([x, x[:2] * 2]), t.stack([x, x + 1], 1), *x.split(4, 1), *x.unbind(0)), x)
    same(
        lambda t, x: (
            t.nn.functional.pad(x, (1, 2, 0, 3), value=1.5),
            x.flip(1),
            x.roll(1, 0),
            t.arange(6) + x.t()[:, 0],
        ),
        x,
    )
    same(lambda t, x: (x.reshape(3, 8).t().reshape(24), x.t()[::2], x.tril(), x.diagonal() * 2), x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products(dtype: str):
    x, w = RNG.standard_normal((5, 7)).astype(dtype), RNG.standard_normal((7, 4)).astype(dtype)
    close = 1e-5 if dtype == "float32" else 1e-12
    same(lambda t, x, w: (x @ w, w.t() @ x.t(), x @ w[:, 0], x[0] @ w, x[0].dot(w[:, 1])), x, w, tolerance=close)
    same(lambda t, x, w: t.einsum("bij,bjk->bik", x.reshape(5, 1, 7), w.expand(5, 7, 4)), x, w, tolerance=close)
    large = RNG.standard_normal((40, 40)).astype(dtype)
    same(lambda t, x: x @ x, large, calls=1, tolerance=1e-4)


def test_what_is_left_to_numpy():
    x = RNG.standard_normal((4, 4)).astype(np.float32)
    same(lambda t, x: t.linalg.inv(x @ x.t() + t.eye(4)) * 2, x, calls=None, tolerance=1e-4)
    same(lambda t, x: (x.to(t.int8) + 1, x.half() * 2), x * 3, calls=None, tolerance=1e-3)


def test_what_is_left_to_xla():
    """An integer divided by zero is XLA's to say, as it was before the program had steps."""
    x = np.array([7, -7, 5], np.int64)
    outs, calls = ran(lambda t, x, y: (x * 1) // y, x, np.array([2, 2, -1], np.int64))
    assert type(calls[0]) is small_code.made_in_c.SmallCall and outs[0].tolist() == [3, -4, -5]
    large = torch.tensor([np.nan, 1e30], dtype=torch.float32)
    for _ in range(RUNS):
        found = (large * 1).long()
        program.flush_all()
    assert (
        found.tolist() == [0, np.iinfo(np.int64).max]
        or found.tolist() == pytorch.tensor([np.nan, 1e30]).long().tolist()
    )


def test_inputs_of_any_layout():
    """An array that is not dense is read by its strides, and one of another size than expected is left to NumPy, as before."""
    one = np.ones((3, 4), np.float32)
    _, (call,) = ran(lambda t, x, y: (x + y).long(), one, one)
    for given in (
        np.arange(12, dtype=np.float32).reshape(4, 3).T,
        np.arange(24, dtype=np.float32).reshape(3, 8)[:, ::-2],
    ):
        np.testing.assert_array_equal(call([given, one])[0], (given + 1).astype(np.int64))
        np.testing.assert_array_equal(call([one, given])[0], (given + 1).astype(np.int64))
    np.testing.assert_array_equal(call([one, np.float32(2).reshape(1, 1)])[0], one * 3)


def test_a_program_within_itself():
    """What NumPy's rules set going may run the same program, whose scratch memory is in use then."""
    one, two = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32)
    _, (call,) = ran(lambda t, x, y: (x * y).logcumsumexp(1) + x, one, one)
    wanted = [np.log(np.cumsum(np.exp(x), 1)) + x for x in (one, two)]
    (structure,) = [s for s in runner._structures.values() if s.on_host]
    step = next(
        s for k, _, _ in structure.plan.steps for s in k.numpy_program.steps if s.name.startswith("cumlogsumexp")
    )
    inner: list[Any] = []

    def fn(x: Any, **params: Any) -> Any:
        if not inner:
            inner.append(None)
            inner[0] = busy([two, one])[0]
        return step.fn(x, **params)

    kernel = next(k for k, _, _ in structure.plan.steps if step in k.numpy_program.steps)
    at = kernel.numpy_program.steps.index(step)
    kernel.numpy_program.steps[at] = step._replace(fn=fn)
    try:
        busy = small_code.written(structure.plan, call)
    finally:
        kernel.numpy_program.steps[at] = step
    np.testing.assert_allclose(busy([one, one])[0], wanted[0], rtol=1e-6)
    np.testing.assert_allclose(inner[0], wanted[1], rtol=1e-6)
