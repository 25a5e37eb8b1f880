"""`torch.testing`: numbers that `make_tensor` draws, and what follows from the same generator."""

from __future__ import annotations

from typing import Any

from parity import parity_test

_TYPES = "complex64 complex128 float32 float64 bfloat16 float16 int64 uint8 int8 bool".split()


@parity_test
def test_make_tensor(torch: Any) -> Any:
    seen = []
    for kind in ({}, {"low": -2, "high": 5}, {"low": -1, "high": 2, "exclude_zero": True}, {"noncontiguous": True}):
        for name in _TYPES:
            torch.manual_seed(0)
            made = torch.testing.make_tensor(3, 2, dtype=getattr(torch, name), device="cpu", **kind)
            seen += [made, made.stride(), made.storage_offset(), torch.rand(1)]
    return seen


@parity_test
def test_gradgradcheck_draws_its_gradients_from_the_same_numbers(torch: Any) -> Any:
    torch.manual_seed(0)
    x = torch.ones(3, 2, dtype=torch.double, requires_grad=True)
    return torch.autograd.gradgradcheck(lambda x: (x**3, x.sum()), (x,)), torch.rand(2)
