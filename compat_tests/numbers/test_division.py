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


@parity_test
def test_means_of_equal_numbers_are_those_numbers(torch: Any) -> Any:
    F, found = torch.nn.functional, []
    for n in (7, 41, 97):
        for dtype in (torch.float32, torch.float64):
            rows = torch.arange(50, dtype=dtype)[:, None].expand(50, n)
            x, leaf = torch.full((1, 1, 3 * n), 3.0, dtype=dtype), torch.zeros(1, 1, n, dtype=dtype, requires_grad=True)
            F.avg_pool1d(leaf, n).sum().mul(n).add(leaf.mean() * n).backward()  # XLA's own windows are long ones
            found += [rows.mean(1) - rows[:, 0], rows.nanmean(1) - rows[:, 0], rows.var(1), rows.std(1), leaf.grad - 2]
            found += [torch.ones(n, dtype=dtype).mean() - 1, F.mse_loss(rows[2], rows[0]) - 4, rows[:9].cov()]
            index, table = torch.zeros(1, n, dtype=torch.int64), torch.full((3, 2), 3.0, dtype=dtype)
            found += [
                F.embedding_bag(index, table, mode="mean") - 3,
                F.avg_pool1d(x, n) - 3,
                *(F.adaptive_avg_pool1d(x, size) - 3 for size in (1, 2, 3)),
            ]
    return [bool((one == 0).all()) for one in found]


@parity_test
def test_rounded_quotients(torch: Any) -> Any:
    found = []
    for step in (41.0, 0.3, 47.0):
        x = torch.arange(20_000) * step
        found += [torch.div(x, step, rounding_mode=mode) for mode in ("trunc", "floor")]
        found += [torch.div((x[:40] / 7).half(), step, rounding_mode="trunc"), torch.histc(x, 100, 0, 20_000 * step)]
    for dtype in (torch.float32, torch.float64):
        found += [torch.round(torch.arange(5000, dtype=dtype) * 0.0035, decimals=d) for d in (1, 2, 3, -1)]
    return [str(one.tolist()) for one in found]  # every bit


@parity_test
def test_logarithms_of_powers_are_whole(torch: Any) -> Any:
    twos = [torch.tensor([2.0**n for n in range(-126, 128)], dtype=t).log2() for t in (torch.float32, torch.float64)]
    tens = [
        torch.tensor([float(f"1e{n}") for n in range(-37, 39)], dtype=t).log10() for t in (torch.float32, torch.float64)
    ]
    odd = torch.tensor([0.0, -1.0, float("inf"), float("nan"), 0.7, 3.0, 1e-30, 7e37])
    return *twos, *tens, twos[0].floor(), tens[0].floor(), tens[1].floor(), odd.log2(), odd.log10(), odd.half().log2()
