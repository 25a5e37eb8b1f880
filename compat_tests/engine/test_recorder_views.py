"""Views made in C: the same tensors as Python makes, of everything that a basic index, an iteration or `unbind` may be asked of."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from jaxtorch._core.dispatch import recorder
from jaxtorch._core.record import program
from jaxtorch._core.record.program import IMMEDIATE
from jaxtorch._core.tensor import indexing, views
from jaxtorch._core.types import grad_mode

IN_C = indexing.viewed_in_c, indexing.rows_in_c, views.several_in_c, views.put_in_c
pytestmark = [
    pytest.mark.skipif(IN_C[0] is None, reason="the recorder was not built"),
    pytest.mark.skipif(IMMEDIATE, reason="nothing is recorded in immediate mode"),
]
NAMES = "seen depth silent multi no_grad placed own loose".split()


def use(made: Any) -> None:
    indexing.viewed_in_c, indexing.rows_in_c, views.several_in_c, views.put_in_c = made


@pytest.fixture(autouse=True)
def as_in_a_new_process() -> Iterator[None]:
    program.flush_all()
    threads, program._threads = program._threads, {0: None}
    watched = grad_mode.watch[:]
    grad_mode.watch.clear()
    recorder.begin()
    yield
    program._threads = threads
    grad_mode.watch[:] = watched
    recorder.begin()


@pytest.fixture
def answers() -> list[Any]:
    """What C said to each call since."""
    said: list[Any] = []

    def through(call: Any) -> Any:
        def run(*args: Any) -> Any:
            said.append(call(*args))
            return said[-1]

        return run

    use([through(call) for call in IN_C])
    return said


def fresh(t: Any) -> Any:
    return t.arange(24.0).reshape(4, 6)


def part(t: Any) -> Any:
    return fresh(t)[1:, 2:]


def turned(t: Any) -> Any:
    return fresh(t).T


def pending(t: Any) -> Any:
    return fresh(t) * 2


def pending_part(t: Any) -> Any:
    return (fresh(t) * 2)[1:]


def written(t: Any) -> Any:
    x = fresh(t)
    y = x[:2]
    x[0] = -1.0
    return y


def detached(t: Any) -> Any:
    return fresh(t).requires_grad_().detach()


def silent(t: Any) -> Any:
    return fresh(t).data


def shared(t: Any) -> Any:
    return t.from_numpy(np.arange(24.0).reshape(4, 6))


def graded(t: Any) -> Any:
    return fresh(t).requires_grad_() * 1


def integers(t: Any) -> Any:
    return t.arange(24).reshape(4, 6)


def computed(t: Any) -> Any:
    x = fresh(t)
    for _ in range(3):
        y = (x @ x.T + 1).exp().log()
        y.tolist()
    return y  # pyright: ignore[reportPossiblyUnboundVariable]


BASES = [fresh, part, turned, pending, pending_part, written, detached, silent, shared, graded, integers, computed]
INDICES: list[Callable[[Any], Any]] = [
    lambda x: [x[1]], lambda x: [x[-1]], lambda x: [x[1, 2]], lambda x: [x[:, 1]], lambda x: [x[0:2, ::2]],
    lambda x: [x[None, 1]], lambda x: [x[1][2]],
    lambda x: [x[..., 1:][1]], lambda x: [*x], lambda x: [*x[1]], lambda x: [*x.unbind(1)],
    lambda x: [*x.split(2)], lambda x: [*x.chunk(2, 1)],
    lambda x: [x[1:1]], lambda x: [*x[1:1].unbind(1)], lambda x: [*x[1:1]],
]  # fmt: skip


def told(x: Any, views_of: Any) -> list[Any]:
    """What there is to compare of views of `x`."""
    found = []
    for v in views_of:
        alias, value = v._alias, v._read()
        first = alias.base is x if x._alias is None or x._alias.base is None else alias.base is x._alias.base
        guard = value.guard and (value.guard[0] is alias.version, *value.guard[1:])
        slots = [getattr(alias, name) for name in NAMES if name != "silent"]
        found.append(
            (
                v._layout,
                v._rg,
                v._index,
                v._ver,
                alias.chain,
                slots,
                first,
                guard,
                value.aval,
                v.stride(),
                v.storage_offset(),
                v.tolist(),
            )
        )
    return found


@pytest.mark.parametrize("mode", ["grad", "no_grad"])
@pytest.mark.parametrize("take", range(len(INDICES)))
@pytest.mark.parametrize("base", BASES, ids=lambda f: f.__name__)
def test_views_are_those_that_python_makes(base: Any, take: int, mode: str) -> None:
    found = []
    for made in ((None,) * 4, IN_C):
        use(made)
        with torch.set_grad_enabled(mode == "grad"):
            for _ in range(2):  # the second time recipes are known
                x = base(torch)
                rows = told(x, INDICES[take](x))
        found.append(rows)  # pyright: ignore[reportPossiblyUnboundVariable]
    assert found[0] == found[1]
    with pytorch.set_grad_enabled(mode == "grad"):
        theirs = INDICES[take](base(pytorch))
    if base is not computed:
        assert [(t.stride(), t.storage_offset(), t.requires_grad, t.tolist()) for t in theirs] == [
            (r[9], r[10], r[1], r[11]) for r in found[1]
        ]


@pytest.mark.parametrize("base", [fresh, part, turned, pending, pending_part, computed], ids=lambda f: f.__name__)
def test_c_makes_what_is_common(base: Any, answers: list[Any]) -> None:
    for _ in range(2):
        x = base(torch)
        del answers[:]
        views_of = [x[1], x[1, 2], *x, *x.unbind(1)]
    assert len(answers) >= 4 or base is pending
    assert sum(a is None for a in answers) <= 1  # rows of what is pending are recorded
    del views_of  # pyright: ignore[reportPossiblyUnboundVariable]


def test_what_is_unusual_is_left_to_python(answers: list[Any]) -> None:
    for base in (silent, shared, graded):
        x = base(torch)
        for _ in range(2):
            assert len([x[1], x[1, 2], *x]) == 2 + len(x)
    with torch.inference_mode():
        y = fresh(torch)
        assert y[1].is_inference() and next(iter(y)).is_inference()
        y[1]
    assert len(answers) > 6 and not any(answers)


def test_writes_and_views_agree_with_pytorch() -> None:
    def run(t: Any) -> list[Any]:
        x = t.zeros(5, 4)
        v = t.arange(20.0).reshape(5, 4)
        seen = []
        for i, row in enumerate(x):
            row += v[i]
            x[i, 0] += x[i - 1, 1]
            seen.append((row.tolist(), row._version, x[i]._version))
        for a, b in zip(x, x.unbind(0), strict=True):
            b.mul_(2)
            seen.append(a.tolist())
        big = x.T
        for column in big:
            column -= column.mean()
        return [*seen, x.tolist(), big[1].tolist(), x._version]

    assert run(torch) == run(pytorch)


def overwritten(t: Any, x: Any) -> list[Any]:
    """Writes through views of `x`, and what tensors that share its memory show of it."""
    seen, early = [], [x[0], x[:, 1], x.T, x[1:]]
    for k in range(3):
        for i in range(x.shape[0]):
            x[i] += k + i
            x[i, 1] *= 2
            x[i, ::2] = x[i, 1]
        row = x[1]
        row.sub_(3)
        row[2:] -= row[0]
        x.T[1] += 1
        x.clamp_(-50, 50)
        x[:2].neg_()
        seen += [v.tolist() for v in early] + [row.tolist(), x.tolist(), x._version, row._version, x[0]._version]
    whole = x.view(-1) if x.is_contiguous() else x[:]
    whole += 1
    folded = x.unfold(1, 3, 1)
    folded[0, 0] = 9
    return [*seen, whole.tolist(), whole._version, x.tolist(), early[3].tolist()]


@pytest.mark.parametrize("mode", ["grad", "no_grad"])
@pytest.mark.parametrize("base", [b for b in BASES if b is not graded], ids=lambda f: f.__name__)
def test_what_is_written_through_views(base: Any, mode: str) -> None:
    with pytorch.set_grad_enabled(mode == "grad"):
        theirs = overwritten(pytorch, base(pytorch))
    with torch.set_grad_enabled(mode == "grad"):
        for made in ((None,) * 4, IN_C, IN_C):
            use(made)
            ours = overwritten(torch, base(torch))
            assert base is computed or ours == theirs


def test_writes_to_what_backward_needs_are_seen() -> None:
    for made in ((None,) * 4, IN_C, IN_C):
        use(made)
        for change in (lambda x: x[1].add_(1), lambda x: x[0].view(-1)[2:].mul_(2), lambda x: x.view(-1).zero_()):
            w = torch.ones(4, 6, requires_grad=True)
            x = torch.arange(24.0).reshape(4, 6) + 1
            row = x[0]
            y, z = (w * x).sum(), (w[0] * row).sum()
            change(x)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.backward()
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                z.backward()
        w = torch.ones(6, requires_grad=True)
        x = torch.arange(24.0).reshape(4, 6)
        x[1] += 1
        part = x[1]
        part += 1
        (w * part).sum().backward()
        assert w.grad.tolist() == x[1].tolist()


def test_c_writes_what_is_common(answers: list[Any]) -> None:
    x, v = torch.zeros(6), torch.ones(6)
    for _ in range(2):
        for i in range(6):
            x[i] += v[i]
    del answers[:]
    for i in range(6):
        x[i] += v[i]
    assert len(answers) == 24 and None not in answers and False not in answers
    assert x.tolist() == [3.0] * 6


def test_a_view_of_several_refuses_what_pytorch_refuses() -> None:
    for t in (torch, pytorch):
        x = t.zeros(3, 2)
        first, *_ = x
        first.add_(t.ones(2))  # no gradient has a part in it
        w = t.ones(2, requires_grad=True)
        second = next(iter(x))
        with pytest.raises(
            RuntimeError, match=r"is a view and is being modified inplace|output of a function that returns"
        ):
            second.mul_(w)


@pytest.mark.usefixtures("few_objects")
def test_nothing_is_kept_or_lost() -> None:
    def run(x: Any) -> None:
        for row in x:
            row[1]
        assert len([x[1], x[:, 1], *x.unbind(1)]) == 8
        x[1] += 1

    x = fresh(torch)
    for _ in range(3):
        for _ in range(100):
            run(x)
        x.tolist()
        program.flush_all()
    gc.collect()
    before = [
        sys.getrefcount(o) for o in (x._value, x._alias, x._alias.version, x._alias.storage, None, True, x._value.aval)
    ]
    objects = len(gc.get_objects())
    for _ in range(100):
        run(x)
    x.tolist()
    program.flush_all()
    gc.collect()
    after = [
        sys.getrefcount(o) for o in (x._value, x._alias, x._alias.version, x._alias.storage, None, True, x._value.aval)
    ]
    assert all(abs(a - b) < 50 for a, b in zip(before, after, strict=True))
    assert len(gc.get_objects()) - objects < 100
