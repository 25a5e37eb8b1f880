"""`topk(largest=False)` of long rows, which are not sorted: against PyTorch, with infinities, zeros of both signs and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch

SHAPES = [((5, 80), 1, 7), ((80, 5), 0, 2), ((3, 64), -1, 16), ((3, 2, 300), 2, 1), ((63,), 0, 3)]


def content(kind: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    if kind == "nan":
        x.reshape(-1)[rng.integers(0, x.size, x.size // 3)] = np.nan
    elif kind == "infinite":
        x.reshape(-1)[::3] = np.inf
        x.reshape(-1)[:2] = -np.inf
    elif kind == "zeros":
        x[...] = 0.0
        x.reshape(-1)[::2] = -0.0
    return x


@pytest.mark.parametrize("kind", ["plain", "nan", "infinite", "zeros"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "dim", "k"), SHAPES)
def test_smallest(shape: tuple[int, ...], dim: int, k: int, dtype: Any, kind: str) -> None:
    x = content(kind, shape, dtype)
    expected = reference.tensor(x).topk(k, dim, largest=False)[0].numpy()
    for _ in range(3):  # NumPy first, then XLA
        values, at = torch.tensor(x).topk(k, dim, largest=False)
        np.testing.assert_array_equal(values.numpy(), expected)
        np.testing.assert_array_equal(np.take_along_axis(x, at.numpy(), dim), expected)


def test_gradients_of_the_smallest() -> None:
    x = content("plain", (4, 100), np.float64)

    def gradients(lib: Any) -> list[Any]:
        t = lib.tensor(x, requires_grad=True)
        (first,) = lib.autograd.grad(t.topk(5, largest=False)[0].pow(3).sum(), t, create_graph=True)
        (second,) = lib.autograd.grad(first.pow(2).sum(), t)
        return [first.detach().numpy(), second.numpy()]

    for mine, theirs in zip(gradients(torch), gradients(reference), strict=True):
        np.testing.assert_allclose(mine, theirs)
