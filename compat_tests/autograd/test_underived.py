"""Operations that PyTorch has no derivative for: what they give requires a gradient, and backward raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parity import attempt, parity_test

FOUND: dict[str, Callable[[Any, Any], Any]] = {
    "unique": lambda t, x: x.unique(),
    "unique with counts": lambda t, x: x.unique(return_counts=True)[0],
    "unique of rows": lambda t, x: x.unique(dim=0),
    "unique_consecutive": lambda t, x: x.unique_consecutive(),
    "bincount": lambda t, x: t.bincount(t.tensor([0, 1, 1]), weights=x[0]),
    "histogram": lambda t, x: t.histogram(x, 3)[0],
    "edges": lambda t, x: t.histogram(x, 3)[1],
    "binomial": lambda t, x: t.binomial(x, x / 4),
    "floor_divide": lambda t, x: x // 2,
    "heaviside": lambda t, x: t.heaviside(x, x),
}


@pytest.mark.parametrize("name", FOUND)
@parity_test
def test_no_derivative(torch: Any, name: str) -> Any:
    torch.manual_seed(0)
    x = torch.tensor([[3.0, 1.0, 2.0], [2.0, 1.0, 1.0]], requires_grad=True)
    found = FOUND[name](torch, x)
    mixed = (found.sum() * x.sum()).detach()
    raised = attempt(lambda: (found.sum() * x.sum()).backward())
    with torch.no_grad():
        plain = FOUND[name](torch, x.detach() * 1)
    shown = found.detach().clone(), found.requires_grad, type(found.grad_fn).__name__
    return shown, mixed, raised.kind, raised.message, plain.requires_grad, FOUND[name](torch, x.detach()).grad_fn


@pytest.mark.parametrize(
    "name", ["unique", "unique of rows", "unique_consecutive", "bincount", "histogram", "binomial"]
)
@parity_test
def test_no_forward_derivative(torch: Any, name: str) -> Any:
    x = torch.tensor([[3.0, 1.0, 2.0], [2.0, 1.0, 1.0]])
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        return attempt(lambda: FOUND[name](torch, dual)).kind


POWERS: dict[str, Any] = {
    **{f"x**{e}": lambda t, x, e=e: x**e for e in (0, 1, 2, 3, 2.0, 0.5, -1, 5)},
    "square": lambda t, x: x.square(),
    "pow of a tensor": lambda t, x: x.pow(t.tensor([2.0, 1.0])),
    "a product": lambda t, x: x * x,
}


@pytest.mark.parametrize("name", POWERS)
@parity_test
def test_powers_as_often_as_they_have_derivatives(torch: Any, name: str) -> Any:
    """Also where a derivative is the same whatever its argument, as the second of a square is."""
    x = torch.tensor([1.5, 2.0], requires_grad=True)
    y, found = POWERS[name](torch, x), []
    for _ in range(5):
        try:
            (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        except RuntimeError as error:
            return [*found, str(error)[:40]]
        found.append((y.detach(), y.requires_grad))
    return found
