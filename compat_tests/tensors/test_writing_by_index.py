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


OVERLAPS = """x[x] = x.flip(0); x.index_put_((x,), x.flip(0)); x.index_put_((x[:2],), x[:2] * 0); x[x[1:]] = 0; x[x > 1] = 7
    x[x.clone()] = 3; x.index_fill_(0, x, 1); x.scatter_(0, x, 1); x.scatter_(0, x.clone(), x); x.scatter_add_(0, x.clone(), x)
    x.put_(x, x.clone()); x.put_(x.clone(), x); x.index_add_(0, x, x.clone()); x.index_add_(0, x.clone(), x)
    x.index_copy_(0, x, x.clone()); x.index_copy_(0, x.clone(), x); x[:2].index_add_(0, x[:2], x[2:])
    x[:2].index_add_(0, x[:2].clone(), x[2:])
    x[::2].index_add_(0, x[:2].clone(), x[1::2]); x[:2][x[2:] - 2] = 9; x.scatter_reduce_(0, x.clone(), x, 'sum'); m[m] = False
    x[:2].scatter_(0, x[:2].clone(), x[1:3]); e.index_add_(0, e, e); x.view(2, 2).index_fill_(1, x[:2], 5)"""


@pytest.mark.parametrize("line", listed(OVERLAPS))
@parity_test
def test_indices_and_sources_in_the_memory_that_is_written(torch: Any, line: str) -> Any:
    x, m, e = torch.arange(4), torch.tensor([True, False]), torch.zeros(0, dtype=torch.int64)
    found = attempt(lambda: exec(line, {"x": x, "m": m, "e": e}))
    return getattr(found, "kind", None), x, m


@parity_test
def test_a_number_where_a_tensor_is_needed(torch: Any) -> Any:
    at = (torch.tensor([0]),)
    found = attempt(lambda: torch.index_put(torch.ones(2), at, 1.0)), attempt(lambda: torch.ones(2).index_put_(at, 1))
    return [x.kind for x in found]


@pytest.mark.parametrize("line", [line for line in listed(OVERLAPS) if line.startswith("x[x")])
@parity_test
def test_the_same_where_the_content_is_known(torch: Any, line: str) -> Any:
    x = known(torch.tensor([3, 1, 0, 2]))
    found = attempt(lambda: exec(line, {"x": x}))
    return getattr(found, "kind", None), x


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "bfloat16", "complex64"])
@parity_test
def test_the_same_places_again_and_again(torch: Any, dtype: str) -> Any:
    x = torch.zeros(6, 4, dtype=getattr(torch, dtype))
    rows, columns = torch.tensor([0, -1, 2]), torch.tensor([[1], [3], [1]])
    view, versions = x[1:], []
    for value in (1, 0.75, True, torch.tensor(3).to(x.dtype), torch.tensor([1, 0, 1]).to(x.dtype)):
        for at in (rows, (rows, rows), (columns, rows), (rows, columns)):
            y = x.clone()
            for z in (x, y, y.T):
                found = attempt(lambda z=z, at=at, value=value: z.__setitem__(at, value))
                versions.append((getattr(found, "kind", None), z._version))
        rows[1] = rows[1] - 1 if rows[1] > -4 else 1
    return x, view, versions


@parity_test
def test_places_that_are_out_of_range_from_the_second_write_on(torch: Any) -> Any:
    x, at = torch.zeros(4, 3), known(torch.tensor([1, 2]))
    x[at] = 1
    narrow, found = torch.zeros(2, 3), []
    for target, places in (
        (x, at),
        (narrow, at),
        (x, at + 1),
        (x, known(at + 2)),
        (x, (at, known(at + 1))),
        (x, -at * 2),
    ):
        found.append(told(attempt(lambda t=target, p=places: t.__setitem__(p, 2.0))))
        known(target)
    return x, found  # PyTorch has written some of the others by then


@parity_test
def test_a_leaf_and_what_backward_has_saved(torch: Any) -> Any:
    w, at = torch.ones(3, requires_grad=True), known(torch.tensor([0, 2]))
    x = torch.zeros(3)
    y = (w * x).sum()
    x[at] = 4.0
    found = [getattr(attempt(y.backward), "kind", None), getattr(attempt(lambda: w.__setitem__(at, 1.0)), "kind", None)]
    z = w * 2
    z[at] = w[at] * 3
    z.sum().backward()
    return found, w.grad, z


@pytest.mark.parametrize("computed", [False, True])
@parity_test
def test_reading_and_writing_at_masks_and_at_several_index_tensors(torch: Any, computed: bool) -> Any:
    def maybe(x: Any) -> Any:
        return x + 0 if computed else known(x + 0)

    x, seen = maybe(torch.arange(12.0).reshape(4, 3)), []
    rows, columns = maybe(torch.tensor([0, -1, 2])), maybe(torch.tensor([[1], [-3]]))
    for mask in (torch.tensor([True, False, True, True]), torch.arange(12).reshape(4, 3) % 4 == 1, torch.zeros(4) > 0):
        mask = mask if computed else known(mask)
        y = maybe(x)
        seen.append((x[mask], maybe(x)[mask], x.T[:, mask] if mask.ndim == 1 else x.T[mask.T]))
        y[mask] *= 2
        seen.append(y)
        for value in (
            torch.ones(3),
            torch.ones(2),
            torch.ones(3, dtype=torch.int64),
            torch.ones(1),
            torch.ones(1, 1, 3),
        ):
            z = maybe(x)
            found = attempt(lambda z=z, mask=mask, value=value: z.__setitem__(mask, value))
            seen.append((getattr(found, "kind", None), z, z._version))
    for at in (
        (rows, rows[:1]),
        (rows, columns),
        (rows,),
        (columns, rows % 3),
        (rows, columns, rows),
        (rows, None, rows % 3),
    ):
        found = attempt(lambda at=at: (x[at], maybe(x)[at], x[at].is_contiguous()))
        seen.append(told(found) if hasattr(found, "kind") else found)
    wrong = (rows + 4, (rows, rows + 1), (rows - 4, rows), x[0] > 0, rows.to(torch.int16), (rows, rows.float()))
    seen.append([getattr(attempt(lambda at=at: known(maybe(x)[at])), "kind", None) for at in wrong])
    return seen


@parity_test
def test_distinct_elements(torch: Any) -> Any:
    seen = []
    for x in (torch.tensor([3, 1, 3, 2, 2]), torch.tensor([0.0, -0.0, float("nan"), 2, float("nan"), 2]), torch.zeros(0),
              torch.tensor(5), torch.tensor([[True, False], [True, True]])):  # fmt: skip
        for of in (torch.unique, torch.unique_consecutive):
            for inverse in (False, True):
                for counts in (False, True):
                    found = of(x, return_inverse=inverse, return_counts=counts)
                    seen.append(found if isinstance(found, tuple) else (found,))
    return seen
