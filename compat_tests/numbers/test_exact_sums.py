"""Sums of many numbers, and what is made of sums, are as exact as PyTorch's, whatever dimensions they go over.

    python compat_tests/numbers/test_exact_sums.py [seed] [cases]

compares as many random shapes, dimensions and element types; `JAXTORCH_COLD_RUNS=0` takes XLA from the first run on.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch

EPSILON = {"float32": 2**-23, "complex64": 2**-23, "float64": 2**-52, "complex128": 2**-52}
SUMS: dict[str, Any] = {
    "sum": lambda x, axes: x.sum(axes),
    "mean": lambda x, axes: x.mean(axes),
    "squares": lambda x, axes: (x * x).sum(axes),
}
SHAPES = [
    (64, 32, 16, 16), (5, 7, 11, 13), (300, 40), (3000, 30), (20, 50, 10), (128, 3, 50, 20), (7, 333, 7, 7),
    (2, 20, 2, 20, 2, 20, 2), (2, 20, 2, 20, 2, 20), (1 << 17,), (60, 40),
]  # fmt: skip


def errors(dtype: str, shape: tuple[int, ...], axes: tuple[int, ...], name: str, seed: int = 0) -> tuple[float, float]:
    """The largest error of PyTorch and of three runs here, in units of the type's precision."""
    numbers = np.random.default_rng(seed).uniform(1, 1.2, shape)
    if dtype.startswith("complex"):
        numbers = numbers * (1 + 0.7j)
    numbers = numbers.astype(dtype)
    exact = SUMS[name](numbers.astype(np.clongdouble if numbers.dtype.kind == "c" else np.longdouble), axes)

    def error(found: Any) -> float:
        return float(np.max(np.abs(np.array(found.numpy()) - exact) / np.abs(exact))) / EPSILON[dtype]

    ours = torch.tensor(numbers)
    return error(SUMS[name](reference.tensor(numbers), axes)), max(error(SUMS[name](ours, axes)) for _ in range(3))


def is_exact(theirs: float, ours: float) -> bool:
    return ours <= max(2 * theirs, 4)


CASES = [
    ("complex64", (64, 32, 16, 16), (0, 1, 2, 3), "sum"),
    ("complex64", (128, 3, 50, 20), (0, 2, 3), "squares"),
    ("complex128", (64, 32, 16, 16), (0, 1, 2, 3), "sum"),
    ("float64", (3000, 30), (0,), "sum"),
    ("float64", (300, 40), (0,), "mean"),
    ("float32", (300, 40), (0,), "sum"),
    ("float64", (2, 20, 2, 20, 2, 20, 2), (1, 3, 5), "sum"),
]


@pytest.mark.parametrize("dtype, shape, axes, name", CASES)
def test_sums_are_exact(dtype: str, shape: tuple[int, ...], axes: tuple[int, ...], name: str) -> None:
    assert is_exact(*errors(dtype, shape, axes, name))


def test_sums_are_exact_in_compiled_programs() -> None:
    """Also in programs with arrays of many dimensions, which XLA's library does not get."""
    code = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_exact_sums import CASES, errors, is_exact
deep = (2, 20, 2, 20, 2, 20, 2)
for case in [*CASES, ("float32", deep, (0, 1, 2, 3, 4, 5, 6), "sum")]:
    assert is_exact(*errors(*case)), (case, errors(*case))
"""
    env = {**os.environ, "JAXTORCH_COLD_RUNS": "0"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def test_running_sums_are_exact() -> None:
    numbers = np.random.default_rng(0).uniform(0.1, 4, 8_000)
    for dtype in ("float32", "complex64"):
        x = (numbers * (1 + 0.3j) if dtype == "complex64" else numbers).astype(dtype)
        wide = reference.tensor(x).to(reference.complex128 if dtype == "complex64" else reference.float64)
        for name in ("cumsum", "logcumsumexp"):
            n = 2_000 if dtype == "complex64" and name == "logcumsumexp" else 8_000  # which may run step by step
            exact = getattr(reference, name)(wide[:n], 0)
            found = reference.tensor(getattr(torch, name)(torch.tensor(x[:n]), 0).numpy())
            assert float(((found - exact).abs() / exact.abs()).max()) < 4 * EPSILON[dtype], (dtype, name)
    x = (1 + (numbers - 2) * 1e-4).astype("complex64")
    exact, found = np.cumprod(x.astype("complex128")), torch.cumprod(torch.tensor(x), 0).numpy()
    assert np.max(np.abs(found - exact) / np.abs(exact)) < 1e-5


def main(seed: int, count: int) -> None:
    """Compare random cases, and print those that are less exact here."""
    rng = np.random.default_rng(seed)
    worse = 0
    for i in range(count):
        shape = SHAPES[rng.integers(len(SHAPES))]
        subsets = [c for n in range(1, len(shape) + 1) for c in itertools.combinations(range(len(shape)), n)]
        case = (
            str(rng.choice([*EPSILON])),
            shape,
            subsets[rng.integers(len(subsets))],
            str(rng.choice([*SUMS])),
        )
        theirs, ours = errors(*case, seed + i)
        if not is_exact(theirs, ours):
            worse += 1
            print(*case, f"PyTorch {theirs:.1f}, here {ours:.1f}", flush=True)
    print(f"{worse} of {count} are less exact")


if __name__ == "__main__":
    main(*[int(a) for a in sys.argv[1:]] or [0, 100])
