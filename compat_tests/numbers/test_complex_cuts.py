"""Complex functions on the two sides of their cuts, which the sign of a zero tells apart: `sqrt(-4 - 0j)` is `-2j`."""

from __future__ import annotations

from typing import Any

import pytest

from parity import parity_test

PARTS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 1e5, -1e5)
FUNCTIONS = "sqrt rsqrt log log2 log10 log1p asin acos atan asinh acosh atanh angle".split()
POWERS = (0.5, -0.5, 1 / 3, 1.5)


def values(torch: Any, dtype: str) -> Any:
    """Numbers on all sides of both axes, but for the poles."""
    found = [complex(a, b) for a in PARTS for b in PARTS if (abs(a), abs(b)) not in ((0, 0), (1, 0), (0, 1))]
    return torch.tensor(found, dtype=getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
@parity_test
def test_functions(torch: Any, name: str, dtype: str) -> Any:
    return [getattr(torch, name)(values(torch, dtype)) for _ in range(3)]


@pytest.mark.parametrize("power", POWERS)
@parity_test
def test_powers(torch: Any, power: float) -> Any:
    x = values(torch, "complex128")
    return [x**power for _ in range(3)], x ** torch.tensor(power, dtype=torch.float64)


@pytest.mark.parametrize("name", FUNCTIONS)
@parity_test
def test_gradients(torch: Any, name: str) -> Any:
    x = torch.tensor([complex(0.3, 0.7), complex(-2, 0.5), complex(2, -3), complex(-0.4, -0.1)], dtype=torch.complex128)
    x.requires_grad_()
    result = getattr(torch, name)(x)
    weight = torch.arange(1.0, 5, dtype=torch.float64)
    return torch.autograd.grad((result.real * weight if result.is_complex() else result * weight).sum(), x)


@parity_test
def test_conjugates_of_negative_numbers(torch: Any) -> Any:
    x = torch.tensor([-4 + 0j, -9 + 0j]).conj()
    return x.sqrt(), x.resolve_conj().sqrt(), x.acosh(), torch.linalg.norm(x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["exp", "exp2"])
@parity_test
def test_powers_of_minus_infinity(torch: Any, name: str, dtype: str) -> Any:
    inf = float("inf")
    found = [complex(-inf, b) for b in (0.0, 1.0, -2.0, inf, -inf, float("nan"))]
    x = torch.tensor(found, dtype=getattr(torch, dtype))
    return [getattr(torch, name)(x).abs() for _ in range(3)]


@parity_test
def test_two_to_infinity(torch: Any) -> Any:
    return torch.exp2(torch.tensor([complex(float("inf"), 0.0), complex(2.0, 1.0)])).real
