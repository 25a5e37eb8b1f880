"""Complex numbers and types of eight bits at shapes that were not met before: nothing is compiled, and the numbers are PyTorch's."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference
from test_cold import compilations

import jaxtorch as torch
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program

pytestmark = pytest.mark.skipif(program.IMMEDIATE or tiering.RUNS == 0, reason="about recorded programs on NumPy")


def places(t: Any, x: Any) -> Any:
    return t.zeros(x.shape, dtype=t.int64)


MOVED: dict[str, Callable[..., Any]] = {
    "cat": lambda t, x, y: t.cat([x, y]),
    "stack": lambda t, x, y: t.stack([x, y]),
    "movedim": lambda t, x, y: x.movedim(0, 1).contiguous(),
    "view": lambda t, x, y: x[1:].clone(),
    "where": lambda t, x, y: t.where(places(t, x) > 0, x, y),
}
"""For types that nothing is computed in."""
OPERATIONS: dict[str, Callable[..., Any]] = {
    **MOVED,
    "gather": lambda t, x, y: x.gather(0, places(t, x)),
    "roll": lambda t, x, y: t.roll(x, 1, 0),
    "flip": lambda t, x, y: x.flip(0),
    "index": lambda t, x, y: x[t.tensor([1, 0])],
    "diff": lambda t, x, y: t.diff(x),
    "sum": lambda t, x, y: x + x * 2,
    "quotient": lambda t, x, y: x / (y + 1),
    "difference": lambda t, x, y: -x - y,
    "abs": lambda t, x, y: x.abs(),
    "angle": lambda t, x, y: x.angle(),
    "sgn": lambda t, x, y: x.sgn(),
    "total": lambda t, x, y: x.sum(),
    "mean": lambda t, x, y: x.mean(0),
    "prod": lambda t, x, y: x.prod(1),
    "cumsum": lambda t, x, y: x.cumsum(0),
    "cumprod": lambda t, x, y: x.cumprod(1),
    "exp": lambda t, x, y: x.exp(),
    "expm1": lambda t, x, y: x.expm1(),
    "log": lambda t, x, y: x.log(),
    "log1p": lambda t, x, y: x.log1p(),
    "sqrt": lambda t, x, y: x.sqrt(),
    "sine": lambda t, x, y: x.sin() * x.cos(),
    "tanh": lambda t, x, y: x.tanh(),
    "sigmoid": lambda t, x, y: x.sigmoid(),
    "pow": lambda t, x, y: x**2 + x**1.5,
    "reciprocal": lambda t, x, y: x.reciprocal() + x.rsqrt(),
    "matmul": lambda t, x, y: x @ y.mH,
    "einsum": lambda t, x, y: t.einsum("ij,kj->ik", x, y),
    "conj": lambda t, x, y: x.conj() * y,
    "parts": lambda t, x, y: x.real + x.imag,
    "as real": lambda t, x, y: t.view_as_real(x) + 1,
    "complex": lambda t, x, y: t.complex(x.real, y.real),
    "polar": lambda t, x, y: t.polar(x.abs(), y.real),
    "eq": lambda t, x, y: x == y,
    "masked_fill": lambda t, x, y: x.masked_fill(x == y, 1j),
    "scatter": lambda t, x, y: x.scatter(0, places(t, x), y),
    "scatter_add": lambda t, x, y: x.scatter_add(0, places(t, x), y),
    "index_add": lambda t, x, y: x.index_add(0, t.tensor([1]), y[:1], alpha=2),
    "pad": lambda t, x, y: t.nn.functional.pad(x, (1, 2)),
    "tril": lambda t, x, y: x.tril() + y.triu(),
    "norm": lambda t, x, y: x.norm(),
    "var": lambda t, x, y: x.var(1),
    "kron": lambda t, x, y: t.kron(x, y[:2]),
    "solve": lambda t, x, y: t.linalg.solve(x @ x.mH + 9 * t.eye(len(x)), x),
    "eigh": lambda t, x, y: t.linalg.eigvalsh(x @ x.mH),
    "svd": lambda t, x, y: t.linalg.svdvals(x),
    "fft": lambda t, x, y: t.fft.fft(x),
    "rfft": lambda t, x, y: t.fft.irfft(t.fft.rfft(x.real), n=x.shape[1]),
    "conv1d": lambda t, x, y: t.nn.functional.conv1d(x[None, :1], y[None, :1, :2]),
    "setitem": lambda t, x, y: x.clone().index_put_((t.tensor([0]),), y[1]),
    "cast": lambda t, x, y: x.real.to(x.dtype) + x.real.int().to(x.dtype),
}


def content(seed: int, *shape: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((2, *shape))
    return drawn[0] + 1j * drawn[1]


def derivative(t: Any, x: Any, y: Any) -> Any:
    x = x.clone().requires_grad_()
    (x * y).sin().sum().abs().backward()
    return x.grad


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [*OPERATIONS, "derivative"])
def test_new_shapes_of_complex_numbers_compile_nothing(name: str, kind: str) -> None:
    operation = OPERATIONS.get(name, derivative)
    rng = random.Random(name)
    for seed in range(5):
        arrays = [content(2 * seed + k, *shape) for shape in [(rng.randint(2, 30), rng.randint(3, 30))] for k in (0, 1)]
        ours = [torch.tensor(a, dtype=getattr(torch, kind)) for a in arrays]
        with compilations() as compiled:
            found = operation(torch, *ours).tolist()
        assert not compiled
        expected = operation(reference, *[reference.tensor(a, dtype=getattr(reference, kind)) for a in arrays])
        tolerance = 2e-5 if kind == "complex64" else 1e-11
        scale = (
            max(1.0, float(expected.abs().max()))
            if name in ("solve", "svd", "eigh", "kron", "prod", "cumprod")
            else 1.0
        )
        np.testing.assert_allclose(np.array(found), expected.numpy(), rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2"])
def test_new_shapes_of_short_floats_compile_nothing(kind: str) -> None:
    for seed, (name, operation) in enumerate(MOVED.items()):
        arrays = [content(2 * seed + k, 4 + seed, 9).real.astype("float32") for k in (0, 1)]
        with compilations() as compiled:
            ours = [torch.tensor(a).to(getattr(torch, kind)) for a in arrays]
            found = operation(torch, *ours).float().tolist()
        assert not compiled, name
        expected = operation(reference, *[reference.tensor(a).to(getattr(reference, kind)) for a in arrays])
        np.testing.assert_array_equal(np.array(found), expected.float().numpy(), name)


SUMS = [(name, axes) for name in ("sum", "mean") for axes in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2))]


@pytest.mark.parametrize(("operation", "axes"), [*SUMS, ("cumsum", 0), ("cumsum", 1), ("cumsum", 2)])
def test_long_sums_of_complex_numbers_are_exact(operation: str, axes: Any) -> None:
    x = (np.arange(32.0) / 8 + 0.1)[:, None, None] + np.zeros((32, 40, 60)) + 0.7j
    made = torch.tensor(x, dtype=torch.complex64)
    found = getattr(made, operation)(axes) if axes is not None else getattr(made, operation)()
    exact = getattr(np, operation)(x.astype(np.complex64).astype(np.complex128), axes)
    np.testing.assert_allclose(np.array(found.tolist()), exact, rtol=3e-7)


@pytest.mark.parametrize("function", ["log1p", "expm1"])
def test_functions_of_small_complex_numbers_keep_their_digits(function: str) -> None:
    z = np.array([1e-9 + 2e-9j, -3e-8 + 1e-12j, 0.2 - 0.1j, -0.9 + 0.05j, 3 + 4j, 1e-4j, -1e-5 + 0j, 30 - 2j])
    found = np.array(getattr(torch, function)(torch.tensor(z)).tolist())
    expected = getattr(reference, function)(reference.tensor(z)).numpy()
    np.testing.assert_allclose(found.real, expected.real, rtol=1e-12, atol=1e-28)
    np.testing.assert_allclose(found.imag, expected.imag, rtol=1e-12, atol=1e-28)


def test_complex_numbers_of_infinite_parts() -> None:
    parts = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0]
    real, imag = (np.repeat(parts, 6), np.tile(parts, 6))
    found = torch.complex(torch.tensor(real), torch.tensor(imag)).tolist()
    for a, b, z in zip(real, imag, found, strict=True):
        assert [math.copysign(1, a), math.copysign(1, b), repr(float(a)), repr(float(b))] == [
            math.copysign(1, z.real), math.copysign(1, z.imag), repr(z.real), repr(z.imag)
        ]  # fmt: skip
