"""Tensors where Python expects sequences and numbers: unpacking, `reversed`, `in`, `sorted`, `range`, formats."""

from __future__ import annotations

from typing import Any

from parity import attempt, parity_test


@parity_test
def test_as_a_sequence(torch: Any) -> Any:
    x = torch.arange(6.0).view(3, 2).requires_grad_()
    first, *rest = x
    number = torch.tensor(3)
    backwards = reversed(x)
    backwards[0].sum().backward()
    return [
        first, rest, backwards, list(reversed(torch.arange(3))), reversed(number) is number, x.grad,
        len(x), 2 in torch.arange(3), 5 in torch.arange(3), [a.tolist() for a, _ in zip(x, range(2), strict=False)],
        sorted(torch.tensor([3, 1, 2])), max(torch.tensor([1, 3, 2])), sum(torch.ones(3)), dict(enumerate(torch.arange(2))),
        attempt(lambda: list(number)), attempt(lambda: len(number)), attempt(lambda: "a" in torch.arange(3)),
    ]  # fmt: skip


@parity_test
def test_as_a_number(torch: Any) -> Any:
    two = torch.tensor(2)
    return [
        list(range(two)), ["a", "b", "c"][two], [0] * two, "%d %.2f" % (two, torch.tensor(2.5)), f"{torch.tensor(3.14159):.2f}",  # noqa: UP031
        complex(two), float(torch.ones(1, 1)), bool(torch.zeros(1)), int(torch.tensor(2.7)), two.__index__(),
        attempt(lambda: int(torch.ones(2))), attempt(lambda: bool(torch.ones(2))), attempt(lambda: range(torch.tensor(1.0))),
    ]  # fmt: skip
