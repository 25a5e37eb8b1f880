"""affine_grid under the identity, where grid_sample's derivative jumps at every place: the same side as PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from parity import candidate


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(7, 5), (8, 8), (28, 3)])
def test_gradient_of_the_identity(size: tuple[int, int], align_corners: bool, dtype: str):
    image = np.random.default_rng(0).normal(size=(2, 1, *size)).astype(dtype)

    def run(t: Any) -> tuple[Any, Any]:
        theta = t.tensor([[1.0, 0, 0], [0, 1, 0]], dtype=getattr(t, dtype)).repeat(2, 1, 1).requires_grad_()
        grid = t.nn.functional.affine_grid(theta, image.shape, align_corners=align_corners)
        sampled = t.nn.functional.grid_sample(t.from_numpy(image.copy()), grid, align_corners=align_corners)
        sampled.square().sum().backward()
        return grid.detach().numpy(), theta.grad.numpy()

    (grid, gradient), (their_grid, theirs) = run(candidate()), run(torch)
    np.testing.assert_array_equal(grid, their_grid)
    np.testing.assert_allclose(gradient, theirs, rtol=1e-4, atol=1e-4)
