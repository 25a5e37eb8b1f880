"""Tensors of more dimensions than NumPy's arrays have: PyTorch computes with them, but reduces over none of their dimensions."""

from __future__ import annotations

from typing import Any

import pytest

from parity import attempt, parity_test

MANY = [1] * 70


@parity_test
def test_what_is_computed(torch: Any) -> Any:
    x = torch.arange(3.0).view([3, *MANY])
    y = torch.tensor(2.0).expand(MANY)
    leaf = torch.arange(2.0).requires_grad_()
    (leaf.view([2, *MANY]) * 3).exp().sum().backward()
    changed = torch.zeros([2, *MANY])
    changed.add_(1)[0] = 5
    return [
        x.shape, x.sum(), (x + x).view(-1), x.squeeze(), x.roll(1, 0).flatten(), x.max(), x.transpose(0, 5).shape, y.sum(),
        y.unsqueeze(0).dim(), torch.ones([1] * 64).unsqueeze(0).mul(2).reshape(1), leaf.grad, changed.reshape(2),
        torch.cumsum(x, 0).view(3), x.amax(), x.std(), x.sort(0, descending=True)[0].view(3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    "amax amin aminmax sum mean prod std var any all argmax argmin max min norm logsumexp count_nonzero nansum flip".split(),
)
@parity_test
def test_reductions_over_a_dimension(torch: Any, name: str) -> Any:
    x = torch.ones([2, *MANY])
    if name == "flip":
        return [attempt(lambda: x.flip(0))]
    return [attempt(lambda d=d: getattr(torch, name)(x, dim=d)) for d in (0, -1, 65)]


@parity_test
def test_as_many_as_reductions_take(torch: Any) -> Any:
    x = torch.arange(2.0).view([2] + [1] * 63)
    return x.sum(0).shape, x.amax(0).view(1), x.max(0)[1].view(1)
