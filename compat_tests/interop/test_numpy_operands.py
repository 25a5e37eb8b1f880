"""NumPy's numbers and arrays where a program hands them to a tensor: assigned, next to an operator, as sizes."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
import pytest

import jaxtorch as torch
from parity import parity_test

NUMBERS = [
    np.float64(1.5),
    np.float32(1.5),
    np.float16(1),
    np.int64(2),
    np.uint8(2),
    np.bool_(True),
    np.complex128(1),
    np.complex64(1),
]


def outcome(call: Any) -> Any:
    """What a call gives, with its type, or the exception that it raises."""
    try:
        found = call()
    except (TypeError, RuntimeError, ValueError) as error:
        return type(error).__name__
    return found, type(found).__name__, getattr(found, "dtype", None)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64"])
@parity_test
def test_numbers_assigned_to_elements(torch: Any, dtype: str) -> Any:
    seen = []
    for number in NUMBERS:
        for index in ((0, 1), 0, slice(1, None), torch.tensor([True, False])):
            x = torch.zeros(2, 3, dtype=getattr(torch, dtype))
            seen += [outcome(lambda x=x, i=index, n=number: x.__setitem__(i, n)), x]
    return seen


ARRAYS = [
    np.array(2.0), np.array(2), np.array([1.0, 2, 3]), np.array([1, 2, 3]), np.array([1, 2, 3], dtype=np.float32),
    np.array([True, False, True]),
]  # fmt: skip
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.matmul, operator.lt,
    operator.and_, operator.iadd, operator.imul,
]  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@parity_test
def test_operators_leave_arrays_to_numpy(torch: Any, op: Any) -> Any:
    x, leaf = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3, requires_grad=True)
    seen = []
    for t in (x, leaf):
        for a in ARRAYS:
            seen += [outcome(partial(op, t.clone(), a)), outcome(partial(op, a, t.clone()))]
    return seen


@parity_test
def test_whole_numbers_are_sizes(torch: Any) -> Any:
    sizes = [np.int64(2), np.int32(2), np.uint8(2), np.array(2)]
    return [[torch.Tensor(n).shape, torch.Tensor(n, 2).shape, torch.ones(4).view(n, -1).shape] for n in sizes]


@parity_test
def test_a_size_that_is_no_whole_number(torch: Any) -> Any:
    told = []
    for size in (1.5, np.float64(2), "2", None):
        x = torch.ones(4)
        for call in (x.view, x.reshape, x.expand, x.new_zeros, torch.zeros, torch.ones, torch.empty):
            with pytest.raises(TypeError) as error:
                call(2, size)
            told.append(str(error.value))
    return told


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@parity_test
def test_one_number_of_another_type_through_a_mask(torch: Any, dtype: str) -> Any:
    mask, seen = np.array([True, False]), []
    places = [mask, [True, False], (mask, 0), (0, [False, True]), (mask, slice(None)), (slice(None), mask)]
    for place in [*places, (mask, [0, 1]), (mask, mask), (None, mask), [0], True]:
        for value in (torch.tensor(3), torch.tensor([3.5]), torch.ones(2, 2), torch.ones(2)):
            x = torch.zeros(2, 2, dtype=getattr(torch, dtype))

            def call(x: Any = x, place: Any = place, value: Any = value) -> Any:
                x[place] = value
                return x

            seen.append(outcome(call))
    mask[0] = False  # what was recorded has the mask as it was
    return seen


def test_sizes_that_numpy_gives_are_no_others_sizes() -> None:
    """Types are shared by all tensors of a shape, whoever was the first to have it."""
    assert torch.zeros(3).resize_(np.int64(1399)).shape == (1399,)
    assert repr(torch.zeros(1399).shape) == "torch.Size([1399])"
    assert [type(n) for n in torch.zeros(1399).shape] == [int]


OTHERS = [
    *ARRAYS, np.array([1, 2]), np.array(["a", "b", "c"]), np.array([1, "a", None], dtype=object), np.array([1.0, 2, 3])[::-1],
    np.array([1, 2, 3], np.uint16), np.array([1, 2, 3]).view(type("Sub", (np.ndarray,), {})), np.zeros(0), np.array([1 + 0j, 2, 3]),
    np.float32(2), 2, 2.5, [1, 2, 3], (1, 2, 3), "a", None,
]  # fmt: skip


@pytest.mark.parametrize("op", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
@parity_test
def test_comparisons_with_what_is_no_tensor(torch: Any, op: Any) -> Any:
    """An array is compared as a tensor by `==` alone."""
    seen = []
    for t in (
        torch.tensor([1.0, 2.0, 3.0]),
        torch.tensor(2.0),
        torch.tensor([True, False, True]),
        torch.ones(3, requires_grad=True),
    ):
        for other in OTHERS:
            seen += [outcome(partial(op, t, other)), outcome(partial(op, other, t))]
            seen.append(outcome(lambda t=t, other=other: other in [t]) if op is operator.eq else 0)
    return seen
