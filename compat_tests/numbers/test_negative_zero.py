"""0.0 and -0.0 are equal, so whatever remembers a number by itself has to tell them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch
from jaxtorch._core.define.op import registry
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER

ROWS = np.array([[1.0, -2.0], [float("nan"), 0.0]], np.float32)
CALLS: dict[str, Any] = {
    "pad": lambda t, x, n: t.nn.functional.pad(x, (1, 1), value=n),
    "nan_to_num": lambda t, x, n: t.nan_to_num(x, nan=n),
    "threshold": lambda t, x, n: t.nn.functional.threshold(x, 0.5, n),
    "leaky_relu": lambda t, x, n: t.nn.functional.leaky_relu(x, n),
    "leaky_relu, a NumPy number": lambda t, x, n: t.nn.functional.leaky_relu(x, np.float64(n)),
    "times": lambda t, x, n: x * n,
    "add": lambda t, x, n: t.zeros(2).neg() + n,
    "new_full": lambda t, x, n: x.new_full((2, 3), n),
    "masked_fill": lambda t, x, n: x.masked_fill(x > 0, n),
    "where": lambda t, x, n: t.where(x > 0, x, n),
    "a complex number": lambda t, x, n: t.full((2,), complex(n, n)).real.contiguous(),
    "assigned": lambda t, x, n: x.clone().index_fill_(0, t.tensor([1]), n),
}


def signs(x: Any) -> tuple[Any, Any]:
    array = x.numpy()
    return array.tolist().__repr__(), (np.signbit(array) & ~np.isnan(array)).tolist()


@pytest.mark.parametrize("numbers", [(0.0, -0.0), (-0.0, 0.0)])
@pytest.mark.parametrize("name", CALLS)
def test_the_sign_of_a_zero_that_is_given_counts(name: str, numbers: tuple[float, float]) -> None:
    """However often the same has run, with the one or the other."""
    call = CALLS[name]
    expected = [signs(call(reference, reference.tensor(ROWS), n)) for n in numbers]
    assert expected[0] != expected[1]
    for op in ("constant_pad_nd", "nan_to_num", "threshold", "leaky_relu"):
        registry[op].forget()  # as in a new process
    for _ in range(PROGRAM_WRITTEN_AFTER + 3):
        assert [signs(call(torch, torch.tensor(ROWS), n)) for n in numbers] == expected


def test_nan_is_always_the_same_number() -> None:
    """It does not equal itself: each call was another one, built and kept anew."""
    x, entries = torch.tensor(ROWS), registry["constant_pad_nd"].entries
    torch.nn.functional.pad(x, (1, 1), value=float("nan"))
    before = len(entries)
    for _ in range(3):
        for nan in (float("nan"), -float("nan"), np.float64("nan"), np.nan):
            assert torch.nn.functional.pad(x, (1, 1), value=nan)[0, 0].isnan()
    assert len(entries) <= before + 1  # the second is that of NumPy's numbers


class Factor:
    n: Any = 0.0


@pytest.mark.parametrize("given", ["attribute", "argument", "array"])
def test_a_captured_call_is_made_anew_for_the_other_zero(given: str) -> None:
    factor, array = Factor(), np.zeros(1)

    @torch.compile
    def times(x: Any, n: Any) -> Any:
        n = factor.n if given == "attribute" else array[0].item() if given == "array" else n
        return torch.nn.functional.leaky_relu(x, n.real if isinstance(n, complex) else n) * 1

    x = torch.tensor([1.0, -2.0])
    for n in [0.0, 0.0, 0.0, -0.0, -0.0, 0.0, -0.0, complex(0.0, 0.0), complex(-0.0, 0.0), complex(0.0, 0.0)] * 2:
        factor.n, array[0] = n, n.real
        expected = signs(reference.nn.functional.leaky_relu(reference.tensor([1.0, -2.0]), n.real))
        assert signs(times(x, n)) == expected
