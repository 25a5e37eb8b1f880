"""Products of a matrix with a vector as a multiplication and a sum, against XLA's own and PyTorch's."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import torch as reference
from jax import lax

import jaxtorch as torch
from jaxtorch._core.compile import channels_last, matvec

# shapes, contracted dimensions, batch dimensions
PRODUCTS = {
    "row and matrix": ((1, 6), (6, 5), ((1,), (0,)), ((), ())),
    "row and transposed matrix": ((1, 6), (5, 6), ((1,), (1,)), ((), ())),
    "matrix and column": ((5, 6), (6, 1), ((1,), (0,)), ((), ())),
    "transposed matrix and column": ((6, 5), (6, 1), ((0,), (0,)), ((), ())),
    "matrix and vector": ((5, 6), (6,), ((1,), (0,)), ((), ())),
    "vector and matrix": ((6,), (5, 6), ((0,), (1,)), ((), ())),
    "batch of rows": ((4, 1, 6), (4, 6, 5), ((2,), (1,)), ((0,), (0,))),
    "batch, later dimensions": ((6, 4, 3), (1, 6, 4, 3), ((0,), (1,)), ((1, 2), (2, 3))),
    "two contracted": ((2, 3, 5), (1, 3, 2), ((0, 1), (2, 1)), ((), ())),
    "inner products": ((4, 6), (4, 6), ((1,), (1,)), ((0,), (0,))),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name: str, dtype: str) -> None:
    a_shape, b_shape, contracted, batch = PRODUCTS[name]
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        a, b = (rng.standard_normal(s).astype(dtype) for s in (a_shape, b_shape))

        def fn(a: Any, b: Any) -> Any:
            return lax.dot_general(a, b, (contracted, batch))

        assert channels_last.needs_rewriting(jax.make_jaxpr(jax.jit(fn))(a, b).jaxpr)
        assert "dot_general" not in str(jax.make_jaxpr(channels_last.rewritten_for_cpu(fn))(a, b))
        got, expected = jax.jit(channels_last.rewritten_for_cpu(fn))(a, b), fn(a, b)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [((2, 6), (6, 5)), ((1, 1), (1, 5)), ((1, 6), (6, 1)), ((1, 256), (256, 1 + matvec.MATVEC_ELEMENTS // 256))],
    ids=["two rows", "nothing summed", "one result", "large"],
)
def test_others_stay(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b = np.ones(a_shape, np.float32), np.ones(b_shape, np.float32)
    assert not channels_last.needs_rewriting(jax.make_jaxpr(lambda a, b: a @ b)(a, b).jaxpr)


def _sequence(torch: Any) -> tuple[list[float], Any]:
    """A network that goes through a sequence with a batch of one, trained; compiled from the second step on."""
    torch.manual_seed(0)
    cell, out = torch.nn.Linear(12, 8), torch.nn.Linear(8, 3)
    optimizer = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    xs, losses = torch.randn(5, 1, 4), []
    for _ in range(4):
        hidden = torch.zeros(1, 8)
        for x in xs:
            hidden = torch.tanh(cell(torch.cat([x, hidden], 1)))
        loss = torch.nn.functional.cross_entropy(out(hidden), torch.tensor([1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, cell.weight.detach().numpy()


def test_training_with_a_batch_of_one() -> None:
    (losses, weight), (expected, expected_weight) = _sequence(torch), _sequence(reference)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(weight, expected_weight, rtol=1e-5, atol=1e-6)
