"""A gradient that has not come is no array of zeros: what an operation's other results would make of it is not NaN."""

from __future__ import annotations

from typing import Any

import pytest

from parity import parity_test

BASES = {"zeros": [0.0] * 5, "negative": [-1.0, -2.0, -3.0, -1.0, -2.0], "two": [2.0] * 5}
EXPONENTS = ([0.0, 1.0, 2.0, 3.0, 0.5], [-1.0, 1.5, 0.0, 2.0, -2.0])


@pytest.mark.parametrize("exponents", EXPONENTS, ids=["positive", "mixed"])
@pytest.mark.parametrize("bases", BASES.values(), ids=BASES.keys())
@parity_test
def test_second_derivative_by_the_base(torch: Any, bases: list[float], exponents: list[float]) -> Any:
    base = torch.tensor(bases, dtype=torch.float64, requires_grad=True)
    exponent = torch.tensor(exponents, dtype=torch.float64, requires_grad=True)
    slope, other = torch.autograd.grad(base.pow(exponent).sum(), (base, exponent), create_graph=True)
    again = torch.autograd.grad(slope.sum(), base, retain_graph=True)[0]
    return slope.detach(), other.detach(), again


@pytest.mark.parametrize("exponents", EXPONENTS, ids=["positive", "mixed"])
@pytest.mark.parametrize("bases", [BASES["zeros"], BASES["negative"]], ids=["zeros", "negative"])
@parity_test
def test_hessian_with_a_closed_over_exponent(torch: Any, bases: list[float], exponents: list[float]) -> Any:
    base = torch.tensor(bases, dtype=torch.float64)
    exponent = torch.tensor(exponents, dtype=torch.float64, requires_grad=True)
    return torch.autograd.functional.hessian(lambda b: b.pow(exponent).sum(), base)


@parity_test
def test_one_of_two_results(torch: Any) -> Any:
    x = torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    by_x, _ = torch.autograd.grad(torch.xlogy(x, y).sum(), (x, y), create_graph=True)
    return torch.autograd.grad(by_x.sum(), y)
