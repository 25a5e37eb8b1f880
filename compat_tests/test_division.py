"""Quotients are rounded once, as in PyTorch, however a program runs: XLA would multiply by the reciprocal of a number."""

from __future__ import annotations

from typing import Any

import pytest

import jaxtorch
from parity import parity_test

COUNT = 200_000
"""Numbers, so many that XLA runs the programs."""


def _multiples(torch: Any, of: float, dtype: Any = None) -> Any:
    return torch.arange(COUNT, dtype=dtype or torch.float32) * of


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("divisor", [41.0, 47.0, 55.0])
def test_multiples_have_whole_quotients(divisor: float, compiled: bool) -> None:
    def quotients(x: Any, y: Any) -> Any:
        return (x / divisor).floor(), (x / y).floor(), x.div(divisor), x.clone().div_(divisor)

    call: Any = jaxtorch.compile(quotients) if compiled else quotients
    x, y, expected = _multiples(jaxtorch, divisor), jaxtorch.tensor(divisor), jaxtorch.arange(float(COUNT))
    for _ in range(30):
        found = call(x, y)
        float(found[0].sum())
    for one in found:
        assert bool((one == expected).all())


@parity_test
def test_quotients_and_gradients_are_pytorchs_bits(torch: Any) -> Any:
    x = (_multiples(torch, 0.37) - 20_000).requires_grad_()
    found = []
    for divisor in (127.5, 3.0, 0.0, float("inf"), float("nan"), torch.tensor(-7.0)):
        for _ in range(3):
            x.grad = None
            y = x / divisor
            y.sum().backward()
            found.append(x.grad)
        found += [y.detach(), (x / divisor / 7.0).detach(), (3.0 / x).detach()]
    return [t.view(torch.int32)[:1000] * ~t.isnan()[:1000] for t in found]


@parity_test
def test_derivatives_of_quotients(torch: Any) -> Any:
    from_rows = torch.func.vmap(lambda row, y: row / row.sum() + row / y, in_dims=(0, None))
    second = torch.func.hessian(lambda v: (v / v.sum()).pow(3).sum())
    along = torch.func.jvp(lambda v: v / 3.0 + 2.0 / v, (torch.tensor([1.0, 4.0]),), (torch.tensor([1.0, 0.5]),))
    rows = torch.arange(1.0, 7.0).view(2, 3)
    return from_rows(rows, torch.tensor(3.0)), second(torch.tensor([1.0, 2.0])), *along


@parity_test
def test_other_types(torch: Any) -> Any:
    halves = [torch.tensor([1.0, 3.0, 1e-3], dtype=t) / 3 for t in (torch.float16, torch.bfloat16, torch.float64)]
    return *halves, torch.tensor([1 + 2j, -3j]) / (2j), torch.tensor([3, 4]) / 2, torch.tensor([True]) / 2
