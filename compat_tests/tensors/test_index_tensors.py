"""`x[i]` and `x[i] = y` with index tensors, masks and integer tensors: values, strides, versions and errors are PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch

import jaxtorch as torch
from parity import parity_test

INDICES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda t: t.tensor([2, -1, 0]),
    "rows in two dimensions": lambda t: t.tensor([[0, 1], [2, 3]]),
    "no row": lambda t: t.tensor([], dtype=t.int64),
    "short integers": lambda t: t.tensor([2, -1], dtype=t.int32),
    "mask": lambda t: t.tensor([True, False, True, False]),
    "mask of two dimensions": lambda t: t.arange(12).view(4, 3) % 2 == 0,
    "computed": lambda t: t.arange(4).flip(0) * 1,
    "too large": lambda t: t.tensor([0, 4]),
    "too small": lambda t: t.tensor([0, -5]),
    "short mask": lambda t: t.tensor([True]),
    "mask that does not fit": lambda t: t.ones(3, 3, dtype=t.bool),
    "floats": lambda t: t.tensor([1.0, 2.0]),
    "number": lambda t: t.tensor(2),
    "flag": lambda t: t.tensor(True),
    "float": lambda t: t.tensor(1.0),
    "numbers": lambda t: (t.tensor(1), t.tensor(-1)),
    "number and int": lambda t: (t.tensor(1), slice(None), 1),
    "number too large": lambda t: (t.tensor(9), 0),
    "second number too large": lambda t: (0, t.tensor(7)),
    "too many numbers": lambda t: (t.tensor(0), 0, 0, 0),
    "number and rows": lambda t: (t.tensor(1), t.tensor([2, -1])),
    "rows and number": lambda t: (t.tensor([2, -1]), t.tensor(1)),
    "rows and int": lambda t: (t.tensor([2, -1]), 1),
    "rows and negative int": lambda t: (t.tensor([[2, -1]]), -2),
    "rows and int too large": lambda t: (t.tensor([2, -1]), 3),
    "rows too large and int": lambda t: (t.tensor([2, 4]), 1),
    "rows and flag": lambda t: (t.tensor([2, 1]), True),
    "mask and int": lambda t: (t.tensor([True, False, True, False]), 1),
    "rows and too many": lambda t: (t.tensor([2, 1]), 1, 0, 0),
    "nothing": lambda t: (),
    "numbers of a loop": lambda t: (next(iter(t.arange(1, 3))), next(iter(t.arange(2, 4, dtype=t.int32)))),
}


def told(f: Callable[[], Any]) -> Any:
    """What a call gives, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = f()
        except Exception as error:
            return type(error).__name__, str(error)
    return found.tolist(), found.stride(), str(found.dtype).rpartition(".")[2], found._version


def tensors(t: Any) -> list[Any]:
    whole = t.arange(24.0).view(4, 3, 2)
    return [
        whole,
        whole.transpose(1, 2),
        t.arange(96).view(4, 2, 3, 4)[:, 1],
        t.zeros(4, 3, 0),
        t.tensor(3.0),
        t.zeros(0, 3) + 1,
    ]


@pytest.mark.parametrize("name", INDICES)
def test_reading(name: str):
    for n in range(len(tensors(pytorch))):
        assert told(lambda: tensors(torch)[n][INDICES[name](torch)]) == told(  # noqa: B023
            lambda: tensors(pytorch)[n][INDICES[name](pytorch)]  # noqa: B023
        )


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("value", ["number", "scalar", "row", "misfit"])
def test_writing(name: str, value: str):
    def written(t: Any) -> Any:
        x = t.arange(24.0).view(4, 3, 2).clone()
        given = {"number": 1.5, "scalar": t.tensor(2.0), "row": t.tensor([3.0, 4.0]), "misfit": t.ones(5)}[value]
        x[INDICES[name](t)] = given
        return x

    assert told(lambda: written(torch)) == told(lambda: written(pytorch))


BASES: dict[str, Callable[[Any, Any], Any]] = {
    "fresh": lambda t, x: x,
    "pending": lambda t, x: x * 2,
    "turned": lambda t, x: x.transpose(0, 2),
    "part": lambda t, x: x[1:, ::2],
    "pending and turned": lambda t, x: (x + 1).transpose(0, 1),
    "expanded": lambda t, x: x[:1].expand(4, 5, 6),
    "graded": lambda t, x: x.requires_grad_(),
    "shared": lambda t, x: t.from_numpy(x.numpy()),
    "nothing": lambda t, x: x[:, :0],
}
ROWS: dict[str, Callable[[Any], Any]] = {
    "one and int": lambda t: (t.tensor([1, 0, -1]), 1),
    "int twice": lambda t: (t.tensor([1, 0]), 1, -1),
    "int between": lambda t: (t.tensor([1, 0]), 1, t.tensor([2])),
    "two": lambda t: (t.tensor([1, 0]), t.tensor([[0], [1]])),
    "three": lambda t: (t.tensor([1, 0]),) * 3,
    "two dimensions and ints": lambda t: (t.tensor([[1, 0], [0, 1], [1, 1]]), 0, 1),
    "pending": lambda t: (t.tensor([1, 0]) * 1, 1),
    "too many": lambda t: (t.tensor([1, 0]), 0, 0, 0),
    "too large": lambda t: (t.tensor([1, 0]), 99),
    "too small": lambda t: (t.tensor([-99, 0]), 0),
    "one": lambda t: t.tensor([1, 1, 0]),
    "in two dimensions": lambda t: t.tensor([[1, 0]]),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("base", BASES)
def test_rows_and_numbers_together(base: str, rows: str):
    """Read, written and read again, of tensors of any layout: values, strides, and which errors there are."""

    def run(t: Any) -> list[Any]:
        found: list[Any] = []
        for _ in range(2):
            x = BASES[base](t, t.arange(120.0).reshape(4, 5, 6))
            index = ROWS[rows](t)
            try:
                y = x[index]
                found.append((y.shape, y.stride(), y.tolist(), y.requires_grad))
                with t.no_grad():
                    x = x + 0
                    x[index] = y + 1
                    x[index] = -2.5
                    found.append(x[index].tolist())
                found.append(x.tolist())
            except (IndexError, RuntimeError) as error:
                found.append((type(error), str(error)))
        return found

    assert run(torch) == run(pytorch)


def test_indices_are_looked_at_again_for_another_size():
    index = torch.tensor([1, 3])
    assert (torch.arange(8.0).reshape(4, 2) * 1)[index, 1].tolist() == [3, 7]
    with pytest.raises(IndexError, match="out of bounds"):
        (torch.arange(6.0).reshape(3, 2) * 1)[index, 1].tolist()
    x = torch.zeros(3)
    with pytest.raises(IndexError, match="out of bounds"):
        x[index] = 1.0
        x.tolist()
    index[1] = 2
    x[index] = 1.0
    assert x.tolist() == [0, 1, 1]


def test_what_was_read_is_a_copy():
    x = torch.arange(4.0)
    y, z = x[torch.tensor([1, 2])], x[torch.tensor([True, False, False, True])]
    y[0], z[1] = 10, 20
    assert x.tolist() == [0, 1, 2, 3] and y.tolist() == [10, 2] and z.tolist() == [0, 20]


def test_gradients_of_rows():
    found = []
    for t in (torch, pytorch):
        x = t.arange(6.0).view(3, 2).requires_grad_()
        (x[t.tensor([0, 2, 0])] ** 2).sum().backward()
        with t.no_grad():
            assert not x[t.tensor([1])].requires_grad
        found.append(x.grad.tolist())
    assert found[0] == found[1]


def test_a_part_that_is_written_in_place():
    """`x[i] += y` writes through the view and then to the same place once more, which changes nothing but counts."""

    def ran(t: Any) -> Any:
        x = t.arange(6)
        y, found = x.view(2, 3), []
        y[0, 1] += 10
        y[0] += 1
        row = y[1]
        y[1] += row
        found.append((x.tolist(), y._version))
        y[1] = row
        found.append((x.tolist(), row.tolist(), y._version, row._version))
        row += 1
        y[0, ::2] *= 3
        part = y[:, 1]
        y[:, 0] = part
        return [*found, (x.tolist(), row.tolist(), part.tolist(), x._version)]

    assert ran(torch) == ran(pytorch)


def test_a_write_that_changes_nothing_is_one_to_backward():
    for t in (torch, pytorch):
        saved, x = t.exp(t.zeros(3)), t.ones(3, requires_grad=True)
        y = x * saved
        saved[1] = saved[1]
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


PERMUTED = {
    "one": lambda torch, x, i: x[i.t()],
    "one of a vector": lambda torch, x, i: x[0, 0][i.t()],
    "behind": lambda torch, x, i: x[:, i.t()],
    "two": lambda torch, x, i: x[i.t(), i.t() + 1],
    "two that broadcast": lambda torch, x, i: x[i.t(), torch.tensor([0, 1])],
    "apart": lambda torch, x, i: x[i.t(), :, torch.tensor([0, 1])],
    "different": lambda torch, x, i: x[i.t(), i.t().contiguous()],
    "of a permuted tensor": lambda torch, x, i: x.permute(2, 0, 1)[i.t()],
    "expanded": lambda torch, x, i: x[i[:1].t().expand(3, 2)],
    "three dimensions": lambda torch, x, i: x[i.view(1, 2, 3).permute(2, 0, 1)],
    "with a mask": lambda torch, x, i: x[torch.tensor([True, False, True, False]), i[:, :2].t()],
    "int32": lambda torch, x, i: x[i.int().t()],
    "computed": lambda torch, x, i: (x + 1)[(i * 1).t()],
    "of a leaf": lambda torch, x, i: x.requires_grad_()[i.t()],
    "steps": lambda torch, x, i: x[i[0, ::2]],
}


@pytest.mark.parametrize("name", PERMUTED)
@parity_test
def test_strides_follow_those_of_index_tensors(torch: Any, name: str) -> Any:
    x, i = torch.arange(4.0 * 5 * 6).view(4, 5, 6), torch.tensor([[0, 1, 2], [3, 2, 0]])
    return PERMUTED[name](torch, x, i)
