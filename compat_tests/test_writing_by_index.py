"""Writing through index arrays and masks: which values fit, and which error comes first."""

from __future__ import annotations

from typing import Any

import pytest

from parity import attempt, parity_test

INDICES = """T([0, 7]); T([5]); B; T([True, False]); (T([0, 1]), T([0, 1, 2])); (T([0, 9]), T([0, 1])); T([-9]); T([0.5]); T([3]) + 4
    B & B; T([], dtype=torch.long)"""
LISTS = "[0, 7]; [5]; [True, False, True]; (slice(None), [0, 7]); ([0, 7],)"
VALUES = """T([1.0, 2, 3]); T([1.0]); T(1.0); T([1, 2, 3]); T([1]); T(1); T([1, 2]); T([1.0, 2]); T([[5]]); T([True])
    T([1.0, 2], dtype=torch.float64)"""


def listed(text: str) -> list[str]:
    return [e.strip() for line in text.splitlines() for e in line.split("; ")]


def made(torch: Any, text: str) -> Any:
    return eval(text, {"torch": torch, "T": torch.tensor, "B": torch.tensor([True, False, True])})


def known(x: Any) -> Any:
    """The tensor, once its values are there: an index that is computed is looked at no earlier."""
    x.detach().sum().item()
    return x


def told(found: Any) -> Any:
    return (found.kind, found.message.split("(the operation")[0].strip()) if hasattr(found, "kind") else found


@pytest.mark.parametrize("shape", [(3,), (3, 3), (0,)])
@pytest.mark.parametrize("index", listed(INDICES))
@parity_test
def test_index_put(torch: Any, index: str, shape: tuple[int, ...]) -> Any:
    at = made(torch, index)
    at = at if isinstance(at, tuple) else (at,)
    seen = []
    for value in listed(VALUES):
        v = made(torch, value)
        for accumulate in (False, True):
            seen.append(told(attempt(lambda v=v, a=accumulate: known(torch.zeros(shape).index_put_(at, v, a)))))
            leaf = torch.zeros(shape, requires_grad=True)
            seen.append(told(attempt(lambda v=v, a=accumulate, leaf=leaf: known(leaf.index_put(at, v, accumulate=a)))))
    return seen


@pytest.mark.parametrize("shape", [(3,), (3, 3), (0,)])
@pytest.mark.parametrize("index", listed(INDICES) + listed(LISTS))
@parity_test
def test_assignment(torch: Any, index: str, shape: tuple[int, ...]) -> Any:
    def assigned(value: Any) -> Any:
        x = torch.zeros(shape)
        x[made(torch, index)] = value
        return known(x)

    values = [made(torch, v) for v in listed(VALUES)] + [3, 2.5, True]
    return [told(attempt(lambda v=v: assigned(v))) for v in values]


@parity_test
def test_no_index_at_all(torch: Any) -> Any:
    return [attempt(lambda v=v: torch.zeros(3).index_put_((), v)).kind for v in (torch.ones(3), torch.tensor(1))]
