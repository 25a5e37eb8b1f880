"""Numbers beyond an element type's range, and arguments of the wrong Python type, against PyTorch."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import jaxtorch
from parity import attempt, parity_test

VALUES = """u / 300; u / 256; torch.true_divide(s, -200); u / torch.tensor(300); torch.ones(2, dtype=torch.int32) / 2**40; b / 300
    u.div(300, rounding_mode='floor'); 300 / u; torch.ones(2) ** 1e40; u.clamp(min=-5); u.clamp(max=2.5)
    h.addcmul(h, h, value=1e6); torch.where(m, u, -1); torch.where(m, h, 1e6); F.pad(u, (0, 0), value=300)
    F.pad(u, (-1, 0), value=300); F.pad(torch.arange(2), (1, 1), value=2**53 + 1); torch.threshold(h, 1e6, 1.0)
    torch.scalar_tensor(-5, dtype=torch.uint8); torch.arange(300)[280]; torch.ones(300, dtype=torch.uint8).select(0, 200)
    torch.sum(u, dtype=float); u.cumsum(0, dtype=int); torch.ones(2, pin_memory=None); torch.tensor(-0.0, dtype=torch.uint8)
    F.cosine_similarity(torch.full((2,), 3e38), torch.tensor([3e38, 1.0]), 0)
    F.gaussian_nll_loss(h, h, torch.tensor(float('inf')).expand(h.shape))
    torch.arange(2**63 - 3, 2**63 - 1); torch.arange(2**63 - 3, 2**63 - 1, dtype=torch.int32)
    torch.arange(-2**63, 0, 2**62, dtype=torch.float32)
    torch.clamp(torch.ones(2), min=float('-inf')); b.pow_(True)
    torch.ones(2, dtype=torch.bfloat16).fill_(2**63); b.fill_(2**63); torch.full((2,), 2**63, dtype=torch.bool)
    torch.ones(2, dtype=torch.uint64) * 2**63; torch.where(m, torch.ones(2, dtype=torch.uint64), 2**63)
    torch.result_type(torch.ones(2, dtype=torch.uint16), 1j); torch.ones(2, dtype=torch.uint16) * 1j; c * (2**64 - 1)"""
REFUSED = """u.clamp(max=300); u.clamp_min(-300); u.clamp_(max=300); s.clamp(0, 300); h.clamp(max=1e6)
    torch.ones(2).clamp(-1e39, 1e39); torch.ones(2, dtype=torch.int32).clamp(max=2**31); F.pad(u, (1, 1), value=300)
    F.pad(u, (1, 1), value=-1); F.pad(h, (1, 1), value=1e6); F.pad(torch.arange(2), (1, 1), value=float('nan'))
    torch.constant_pad_nd(u, (1, 1), 300); torch.where(m, u, 300); torch.where(m, 300, u)
    torch.where(m, torch.ones(2), 1e40); torch.threshold(u, 3, 300); F.hardtanh(s, -200, 300); F.hardtanh(h, -1e6, 1e6)
    u ** 300; h ** 1e6; u.pow_(300); torch.add(u, 1, alpha=300); torch.add(h, h, alpha=1e6); torch.sub(u, u, alpha=-300)
    torch.rsub(u, 1, alpha=300); torch.addcmul(u, u, u, value=300); torch.addcdiv(*[torch.ones(2)] * 3, value=1e40)
    torch.addmm(*[u.expand(2, 2)] * 3, beta=300); u.index_add(0, torch.tensor([0]), u[:1], alpha=300)
    torch.tensor(-0.5, dtype=torch.uint8); torch.tensor([-1.0], dtype=torch.uint8); torch.scalar_tensor(1e40)
    torch.ones(2, requires_grad=0); torch.ones(2, pin_memory=0); torch.tensor(1.0, requires_grad=1)
    torch.tensor(1.0, pin_memory=None); torch.rand(2, requires_grad=0); torch.arange(2.0, requires_grad=1)
    torch.ones_like(u, requires_grad=0); u.new_zeros(2, requires_grad=0); torch.eye(2, requires_grad=1)
    torch.nn.Parameter(torch.ones(2), requires_grad=0); torch.softmax(torch.ones(2), 0, dtype=3)
    torch.cumsum(u, 0, dtype=3); F.one_hot(torch.tensor([0, 1]), 2.5)
    b * 2**63; b + 2**63; b / 2**63; b == 2**63; 2**63 - b; torch.where(m, b, 2**63); b.clamp(2**63); torch.result_type(b, 2**63)
    torch.promote_types(torch.bool, torch.uint64); torch.promote_types(torch.complex64, torch.uint32)
    b + torch.ones(2, dtype=torch.uint64); c * torch.ones(2, dtype=torch.uint16)
    h.sum(10**30); h.roll(-(10**30)); h.reshape(2**63); h.repeat(10**30); h.cumsum(10**30); h.expand(1, 2).tril(10**30)
    u.chunk(10**30); u.split(2**63); torch.tensor_split(u, 10**30); u.narrow(0, 0, 2**64); u.flatten(2**63)
    torch.arange(2**63, 2**63 + 2)
    torch.arange(2**63 - 1, 2**63 + 1); torch.arange(0, 2**64, 2**62); torch.arange(0, 1e30, 1e29, dtype=torch.int32)
    torch.ones(2, dtype=torch.complex64, requires_grad=True).cumsum(0, dtype=torch.int64)
    torch.ones(2, dtype=torch.complex64, requires_grad=True).sum(dtype=torch.bool)
    h.softmax(10**30); h.unsqueeze(10**30); h.topk(10**30); F.one_hot(torch.tensor([0]), 10**30); h.norm(dtype=torch.int64)
    h.norm('nuc', dtype=torch.int64)
    torch.jit.trace(lambda x: {'k': x + 1}, (h,)); torch.jit.trace(lambda x: (x, {'k': x + 1}), (h,))"""


def calls(text: str) -> list[str]:
    return [line.strip() for line in text.replace("\n", ";").split(";") if line.strip()]


def evaluated(torch: Any, call: str) -> Any:
    u, s, h = (torch.tensor([1, 2], dtype=getattr(torch, d)) for d in ("uint8", "int8", "float16"))
    m, b, c = torch.tensor([True, False]), torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.complex64)
    return eval(call, {"torch": torch, "F": torch.nn.functional, "u": u, "s": s, "h": h, "m": m, "b": b, "c": c})


@pytest.mark.parametrize("call", calls(VALUES))
@parity_test
def test_values(torch: Any, call: str) -> Any:
    return evaluated(torch, call)


@pytest.mark.parametrize("call", calls(REFUSED))
@parity_test
def test_refused(torch: Any, call: str) -> Any:
    error = attempt(lambda: evaluated(torch, call))
    return error.kind, "without overflow" in error.message


@parity_test
def test_a_number_is_checked_each_time(torch: Any) -> Any:
    """Numbers are inputs of recorded programs, so an entry that exists does not say that they fit."""
    x = torch.ones(3, dtype=torch.uint8)
    seen = []
    for limit in (100, 255, 256):
        seen.append(attempt(lambda limit=limit: x.clamp(max=limit)))
        seen.append(attempt(lambda limit=limit: torch.add(x, x, alpha=limit)))
    return [getattr(item, "kind", item) for item in seen]


@parity_test
def test_numbers_of_64_bits_without_a_sign_again_and_again(torch: Any) -> Any:
    """A program seen again is compiled, with its numbers as inputs."""
    x, c = torch.ones(3), torch.ones(3, dtype=torch.complex64)
    return [(x * n, c + n, x.exp() * n + 1.5) for _ in range(4) for n in (2**63, 2**64 - 1)]


@parity_test
def test_mvlgamma_of_large_dimensions(torch: Any) -> Any:
    return [torch.mvlgamma(torch.tensor([30.0, 50.5], dtype=torch.float64), p) for p in (1, 2, 7, 50)]


def test_mvlgamma_is_refused_before_it_is_computed() -> None:
    """PyTorch would want 4 TB for this."""
    with pytest.raises(RuntimeError, match="can't be cast"):
        jaxtorch.ones(2, dtype=jaxtorch.int8).mvlgamma_(2**40)


@parity_test
def test_floats_beyond_the_type_they_are_reduced_in(torch: Any) -> Any:
    """`dtype=` casts first, as `to` does: low bits of what is too large, the smallest number for NaN."""
    x = torch.tensor([float("nan"), 1e30, 3e9, 300.0, -1.0])
    reductions = (torch.sum, torch.nansum, torch.prod, partial(torch.cumsum, dim=0), partial(torch.cumprod, dim=0))
    types = (torch.int64, torch.int32, torch.uint8, torch.int8)
    return [f(part, dtype=d) for f in reductions for part in (x[:1], x[1:2], x[2:3], x[3:]) for d in types]
