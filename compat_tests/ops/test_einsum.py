"""`einsum`, `tensordot` and `inner`: values, strides, which results are views, graphs, gradients and errors."""

from __future__ import annotations

from typing import Any

import pytest

from parity import attempt, candidate, observe, parity_test, reference

EINSUMS: list[tuple[Any, ...]] = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)), ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("ii->i", (3, 3)), ("ii", (3, 3)), ("iji->ij", (2, 3, 2)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)),
    ("i,j", (2,), (3,)), ("i,i", (2,), (2,)), ("i,i->i", (1,), (3,)), ("i,i->", (1,), (1,)), ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,j->ij", (2, 3), (3,)), ("...ij->...ji", (2, 3, 4)), ("...ij,...jk", (2, 2, 3), (3, 4)), ("...->", (2, 3)),
    ("...i,...i->...", (2, 3), (3,)), ("ij,kl->ijkl", (2, 3), (4, 5)), ("ij,k->k", (2, 3), (3,)), ("b i, b j -> b i j", (2, 3),
    (2, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("ij,jk,lk->il", (2, 3), (3, 4), (5, 4)), ("i,j,k", (1,), (2,), (3,)),
    ("ij,j,k->ik", (2, 3), (3,), (4,)), ("bn,anm,bm->ba", (2, 3), (4, 3, 5), (2, 5)), ("ij,ij,ij->", (2, 3), (2, 3), (2, 3)),
    ("ij,jk", (2, 0), (0, 3)), ("ij,jk", (2, 3), (3, 0)), ("ij,jk", (2, 1), (3, 4)), ("bij,bkj->ik", (2, 3, 4), (1, 5, 4)),
    ("", ()), ("aB,Bc", (2, 3), (3, 4)), ("bthd,bshd->bhts", (2, 3, 2, 4), (2, 5, 2, 4)), ("i...->...", (2, 3)),
    ("ij,jk->ki", (3, 4), (4, 5)), ("bij,bjk->kbi", (2, 3, 4), (2, 4, 5)), ("aij,jkm->kmai", (2, 3, 4), (4, 5, 7)),
    ("aij,jkm->kima", (2, 3, 4), (4, 5, 7)), ("ij,jk->ki", (1, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 1)),
    ("ijm,jk->km", (2, 3, 4), (3, 5)),
]  # fmt: skip

TENSORDOTS: list[tuple[Any, ...]] = [
    ((2, 3), (2, 3), 2), ((2, 3), (3, 2), ([0, 1], [1, 0])), ((2, 1), (3, 4), 1), ((2, 3), (1, 4), 1), ((2, 3), (4, 5), 0),
    ((3,), (3, 4), 1), ((0, 3), (3, 4), 1), ((2, 0), (0, 4), 1), ((), (2,), 0), ((1, 3), (3, 1), 1), ((3,), (3,), 1),
    ((2, 3, 4), (3, 4, 5), 2), ((2, 3, 4), (4, 2), ([0, 2], [1, 0])), ((2, 3, 4), (3, 5), ([-2], [0])), ((1, 3), (2, 3),
    ([0, 1], [0, 1])),
]  # fmt: skip

ERRORS = [
    "ij,jk|2,3", "ij|2,3|3,4", "ijk,jk|2,3|3,4", "ijk...,jk|2,3|3,4", "i,jk|2,3|3,4", "ij,jk->ikz|2,3|3,4", "ij,jk->ii|2,3|3,4",
    "i1,jk|2,3|3,4", "ij,jk-ik|2,3|3,4", "ij,jk->ik->|2,3|3,4", "...ij...|2,3", "ij->...j...|2,3", "i..j|2,3", "ii|2,3", "ij->.|2,3",
    "ij,ij|2,3|3,4", "...i,...j->...ij|2,3|3,4", "ij,jk->I|2,3|3,4", "ij;jk|2,3|3,4", "ij,jk,kl->il|2,3|3,4|5,2",
    "ij,jk->ik|2,3|3,4|4,4",
    "i j . . .|2,3", "ij->j,i|2,3",
]  # fmt: skip


VIEWS = {f"{name}Backward0" for name in ("Clone", "Permute", "ReshapeAlias", "Unsqueeze", "UnsafeView", "View")}


def nodes(fn: Any) -> Any:
    """The graph behind a node, by name, without views: jaxtorch leaves out those that change nothing."""
    if fn is None:
        return None
    below = [f for f, _ in fn.next_functions]
    return nodes(below[0]) if fn.name() in VIEWS else (fn.name(), [nodes(f) for f in below])


def numbers(torch: Any, shape: tuple[int, ...], k: int, dtype: str = "float64") -> Any:
    """A tensor of small whole numbers whose memory is not in order, so that copies show."""
    n = 1
    for s in shape:
        n *= s
    values = (torch.arange(n, dtype=torch.int64) * (7 + k) % 11 - 5).to(getattr(torch, dtype))
    t = values.reshape(tuple(reversed(shape))).permute(tuple(reversed(range(len(shape)))))
    return t.contiguous() if k % 2 else t.clone(memory_format=torch.preserve_format)


def outcome(torch: Any, out: Any, inputs: list[Any]) -> list[Any]:
    made = [out, out._is_view(), any(out._base is t for t in inputs), out.grad_fn.name(), nodes(out.grad_fn)]
    ((out * out).sum()).backward()
    return made + [t.grad.clone(memory_format=torch.contiguous_format) for t in inputs]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: f"{case[0]}-{case[1:]}")
@parity_test
def test_einsum(torch: Any, case: tuple[Any, ...]) -> Any:
    equation, *shapes = case
    inputs = [numbers(torch, s, k).requires_grad_() for k, s in enumerate(shapes)]
    return outcome(torch, torch.einsum(equation, *inputs), inputs)


@pytest.mark.parametrize("k", range(2))
@pytest.mark.parametrize("case", TENSORDOTS, ids=str)
@parity_test
def test_tensordot(torch: Any, case: tuple[Any, ...], k: int) -> Any:
    a, b = (numbers(torch, s, k).requires_grad_() for s in case[:2])
    return outcome(torch, torch.tensordot(a, b, case[2]), [a, b])


@parity_test
def test_inner_and_outer(torch: Any) -> Any:
    made = []
    for name, *shapes in [("inner", (2, 3), (4, 3)), ("inner", (3,), (3,)), ("inner", (), (3,)), ("outer", (2,), (3,))]:
        a, b = (numbers(torch, s, k).requires_grad_() for k, s in enumerate(shapes))
        made += outcome(torch, getattr(torch, name)(a, b), [a, b])
    return made


@parity_test
def test_element_types(torch: Any) -> Any:
    x, v = torch.arange(6, dtype=torch.int32).reshape(2, 3), torch.ones(3)
    small = x.to(torch.int8)
    calls = [
        lambda: torch.einsum("ij->i", x), lambda: torch.einsum("ij,k->i", x, x[0]), lambda: torch.einsum("ij,j->ij", x, v),
        lambda: torch.einsum("ij,j->i", x, v), lambda: torch.einsum("i,i,i", v, v, x[0]), lambda: torch.einsum("ij,kj->ik", x, x),
        lambda: torch.tensordot(x, x, 2), lambda: torch.tensordot(x, x.t().contiguous(), ([0, 1], [1, 0])),
        lambda: torch.tensordot(x, v, 1), lambda: torch.inner(small, small), lambda: torch.einsum("ij,ij->", small, small),
        lambda: torch.tensordot(x > 0, (x > 0).t().contiguous(), ([0, 1], [1, 0])), lambda: torch.inner(x, v),
    ]  # fmt: skip
    return [attempt(call) for call in calls]


@parity_test
def test_autocast(torch: Any) -> Any:
    y = torch.ones(2, 3)
    with torch.autocast("cpu", torch.bfloat16):
        made = [
            torch.tensordot(y, y, 2), torch.tensordot(y, y.t(), 1), torch.inner(y, y), torch.inner(y[0], y[0]),
            torch.einsum("ij,kj->ik", y, y), torch.einsum("ij,ij->ij", y, y), torch.einsum("ij,jk->ik", y, y.t().bfloat16()),
        ]  # fmt: skip
    return made


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    """Types and texts."""
    seen = []
    for torch in (reference(), candidate()):
        equation, *shapes = case.split("|")
        inputs = [torch.ones([int(n) for n in s.split(",")]) for s in shapes]
        seen.append(attempt(lambda: torch.einsum(equation, *inputs)))  # noqa: B023
    assert (seen[0].kind, seen[0].message) == (seen[1].kind, seen[1].message)


@parity_test
def test_lists_of_subscripts(torch: Any) -> Any:
    a, b = numbers(torch, (2, 3), 0), numbers(torch, (3, 4), 1)
    calls = [
        lambda: torch.einsum(a, [0, 1], b, [1, 2]), lambda: torch.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        lambda: torch.einsum(a, [..., 1], [1, ...]), lambda: torch.einsum(a, [0, 60]), lambda: torch.einsum(a, [0, -1]),
        lambda: torch.einsum(a, [0, 1], b), lambda: torch.einsum("ij"), lambda: torch.einsum(a), lambda: torch.einsum(5, a),
        lambda: torch.einsum("ij,jk->ik", a, 3), lambda: torch.einsum("ij,jk->ik", [a, b]), lambda: torch.einsum(a, [0, 1], [0, 0]),
        lambda: torch.tensordot(a, b, "a"), lambda: torch.tensordot(a, b, ([1, 1], [0, 0])),
        lambda: torch.tensordot(a, b, ([5], [0])),
        lambda: torch.tensordot(a, b, ([0], [0])), lambda: torch.tensordot(a, b, torch.tensor([[1], [0]])),
    ]  # fmt: skip
    return [attempt(call) for call in calls]


def test_the_order_of_three() -> None:
    """Without opt_einsum from left to right, which the memory of the result shows."""
    seen = []
    for torch in (reference(), candidate()):
        x, y, z = torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 5)
        planned = torch.einsum("ij,jk,kl->il", x, y, z)
        torch.backends.opt_einsum.enabled = False
        try:
            seen.append(
                (planned.stride(), torch.einsum("ij,jk,kl->il", x, y, z).stride(), observe(torch, planned).shape)
            )
        finally:
            torch.backends.opt_einsum.enabled = True
    assert seen[0] == seen[1] and seen[0][0] != seen[0][1]
