"""Single members of kinds of faults that no other table has: their values, next to PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from parity import parity_test

INF, NAN = float("inf"), float("nan")


def _holding_itself(make: Any) -> str:
    held: list[Any] = []
    held.append(held)
    try:
        return str(make(held))
    except (ValueError, RecursionError) as error:
        return type(error).__name__


def _pooled(torch: Any, dims: int) -> Any:
    x = torch.linspace(-3, 2, 4**dims).view(1, 1, *[4] * dims).requires_grad_()
    y = getattr(torch.nn.functional, f"lp_pool{dims}d")(x, INF, 2)
    y.sum().backward()
    return y.detach(), x.grad, getattr(torch.nn, f"LPPool{dims}d")(INF, 2)(x.detach())


def _through_views(torch: Any) -> Any:
    found = []
    for _ in range(9):  # first runs, then a compiled one
        w = torch.arange(8, dtype=torch.int32) * 1
        w.view(torch.int16)[1] = 3
        found.append(w.view(torch.uint8).float().sum().item())
    return found


KINDS: dict[str, Any] = {
    **{f"lp_pool{d}d of infinity": lambda torch, d=d: _pooled(torch, d) for d in (1, 2, 3)},
    "as_tensor of a list that holds itself": lambda torch: _holding_itself(torch.as_tensor),
    "tensor of a list that holds itself": lambda torch: _holding_itself(torch.tensor),
    "written through views of other types": _through_views,
    "pairs at infinity, p = 0": lambda torch: torch.nn.functional.pdist(torch.full((2, 2), INF), p=0.0),
    "rows at infinity, p = 0": lambda torch: torch.cdist(torch.full((2, 2), INF), torch.full((2, 2), INF), p=0.0),
    "rows with NaN": lambda torch: torch.tensor([[1.0, NAN], [NAN, 0.0], [1.0, 0.0]]).unique(dim=0),
    "columns with NaN": lambda torch: [
        str(x)
        for x in torch.tensor([[0.0, NAN, 1.0], [NAN, 2.0, 0.0]]).unique(dim=1, return_inverse=True, return_counts=True)
    ],
    "set_ beyond a storage": lambda torch: torch.zeros(2).set_(torch.ones(2).untyped_storage(), 0, (5,)).shape,
    "resize_as_ with preserve_format": lambda torch: (
        torch.zeros(2).resize_as_(torch.ones(3, 2), memory_format=torch.preserve_format).shape
    ),
}


@pytest.mark.parametrize("name", KINDS)
@parity_test
def test_kind(torch: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KINDS[name](torch)
