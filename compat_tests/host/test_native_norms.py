"""Group normalisation in the kernel, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from jaxtorch._core import native
from jaxtorch._core.host import tiering

pytestmark = pytest.mark.skipif(not native.available(), reason="the kernels are not built here")


@pytest.mark.parametrize("parameters", [0, 1, 2])
@pytest.mark.parametrize("shape,groups", [((4, 32, 16, 16), 8), ((2, 6, 70, 33), 3), ((40, 8, 170), 8), ((1, 64, 64, 64), 1),
                                          ((2, 4, 5, 17, 41), 2)])  # fmt: skip
def test_group_norm(shape: tuple[int, ...], groups: int, parameters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, gradients and second derivatives, of numbers with a mean that is not 0."""
    monkeypatch.setattr(tiering, "RUNS", 0)

    def run(t: Any) -> list[Any]:
        rng = np.random.default_rng(groups)
        x = t.from_numpy((3 * rng.standard_normal(shape) + 5).astype(np.float32)).requires_grad_()
        own = [t.from_numpy(rng.standard_normal(shape[1], np.float32)).requires_grad_() for _ in range(parameters)]
        weight = t.from_numpy(rng.standard_normal(shape, np.float32))
        out = t.nn.functional.group_norm(x, groups, *own)
        first = t.autograd.grad((out * weight + 0.1 * out**3).sum(), [x, *own], create_graph=True)
        second = t.autograd.grad(sum((g * g).sum() for g in first), [x, *own[:1]])
        return [r.detach().numpy() for r in (out, *first, *second)]

    for found, expected in zip(run(torch), run(pytorch), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-4 * np.abs(expected).max())


def test_numbers_far_from_their_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean of 1000 times the deviation, and many numbers."""
    monkeypatch.setattr(tiering, "RUNS", 0)
    x = (np.random.default_rng(0).standard_normal((2, 8, 128, 128)) + 1000).astype(np.float32)
    exact = x.astype(np.float64).reshape(2, 2, -1)
    exact = (exact - exact.mean(2, keepdims=True)) / np.sqrt(exact.var(2, keepdims=True) + 1e-5)
    found = torch.nn.functional.group_norm(torch.from_numpy(x), 2).numpy()
    np.testing.assert_allclose(found, exact.reshape(x.shape), atol=1e-3)
    rows = np.full((2, 4, 64, 64), np.nan, np.float32)
    rows[1] = 2.0
    found = torch.nn.functional.group_norm(torch.from_numpy(rows), 2).numpy()
    assert np.isnan(found[0]).all() and (found[1] == 0).all()
