"""Workers' shared memory, which is used again: what the main process holds must stay as it came."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
import jaxtorch.utils.data
from jaxtorch.utils.data._utils import blocks, transport

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="there is no shared memory without names here")

COUNT = 48


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches go by shared memory too: workers are forked, and inherit this."""
    monkeypatch.setattr(transport, "SHARED_MINIMUM", 64)


def numbers(module: Any) -> Any:
    class Numbers(module.utils.data.Dataset):
        def __len__(self) -> int:
            return COUNT

        def __getitem__(self, i: int) -> Any:
            return module.full((5, 7), float(i)), module.full((40,), i, dtype=module.int64)

    return Numbers()


def loader(module: Any, dataset: Any, **options: Any) -> Any:
    return module.utils.data.DataLoader(dataset, **{"batch_size": 2, "num_workers": 2, **options})


def of_one_value(values: Any) -> list[float]:
    """The rows' values: each row must be of one."""
    array = np.asarray(values)
    rows = array.reshape(len(array), -1)
    assert (rows == rows[:, :1]).all()
    return rows[:, 0].tolist()


HOLDING = {
    "all": lambda x: x,
    "arrays": lambda x: x.numpy(),
    "part": lambda x: x[1:, 2:3],
    "flat": lambda x: x.reshape(2, -1).T[3:].T,
    "sums": lambda x: x + 0,
    "numpy parts": lambda x: x.numpy()[:, ::2],
}


@pytest.mark.parametrize("how", HOLDING)
def test_what_is_held_stays(how: str) -> None:
    def run(module: Any) -> list[Any]:
        held = []
        for x, y in loader(module, numbers(module)):
            held.append((HOLDING[how](x), y))
        return [(of_one_value(x), of_one_value(y)) for x, y in held]

    assert run(jaxtorch) == run(torch)


@pytest.mark.parametrize("seed", range(3))
def test_some_are_held(seed: int) -> None:
    rng = random.Random(seed)
    held: list[tuple[int, Any]] = []
    made = loader(jaxtorch, numbers(jaxtorch), persistent_workers=True, prefetch_factor=3)
    for epoch in range(4):
        for i, (x, _) in enumerate(made):
            held.append((i, [x, x.numpy(), x[1:]][rng.randrange(3)]))
            held = [h for h in held if rng.random() < 0.7]
            del x
            if epoch == 1 and i == 5:
                break
        for i, value in held:
            assert set(of_one_value(value)) <= {2.0 * i, 2.0 * i + 1}


def blocks_made(batch: list[Any]) -> Any:
    default = jaxtorch.utils.data.default_collate(batch)
    return *default, transport._lent._made, len(transport._lent._blocks)


def test_memory_is_used_again() -> None:
    made = loader(jaxtorch, numbers(jaxtorch), num_workers=1, collate_fn=blocks_made, persistent_workers=True)
    for _ in range(2):
        counts = [count for *_, count, _ in made]
    assert counts[-1] <= 2 * 4  # two tensors a batch: two batches under way, one here, one being made


def test_what_is_let_go_at_once_is_given_back() -> None:
    made = loader(jaxtorch, numbers(jaxtorch), num_workers=1, collate_fn=blocks_made, persistent_workers=True)
    held = list(made)
    assert held[-1][-2] == COUNT
    del held
    counts = [tracked for *_, tracked in made]
    assert counts[-1] <= 2 * 4
    assert len(made._iterator._workers[0].blocks._blocks) <= 2 * 4


def test_sizes_that_change() -> None:
    class Longer(jaxtorch.utils.data.Dataset):
        def __len__(self) -> int:
            return COUNT

        def __getitem__(self, i: int) -> Any:
            return jaxtorch.full((20 + i // 2,), float(i))

    made = loader(jaxtorch, Longer(), num_workers=1, collate_fn=lambda b: blocks_made([(x,) for x in b]))
    held = [(x, tracked) for x, _, tracked in made]
    assert [v for x, _ in held for v in of_one_value(x)] == [float(i) for i in range(COUNT)]


def test_large_blocks_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "KEPT_MAXIMUM", 100)
    made = loader(jaxtorch, numbers(jaxtorch), num_workers=1, collate_fn=blocks_made)
    for i, (x, y, _, tracked) in enumerate(made):
        assert of_one_value(x) == of_one_value(y) == [2.0 * i, 2.0 * i + 1]
        assert tracked <= 2


def test_what_the_worker_holds() -> None:
    """A batch that the worker keeps, and changes after it was sent, or sends twice."""

    class Kept:
        batch: Any = None

        def __call__(self, samples: list[Any]) -> Any:
            if self.batch is None:
                self.batch = jaxtorch.utils.data.default_collate(samples)[0]
            else:
                self.batch += 1
            return self.batch

    got = list(loader(jaxtorch, numbers(jaxtorch), num_workers=1, collate_fn=Kept(), prefetch_factor=8))
    assert [of_one_value(x) for x in got] == [[i, i + 1.0] for i in range(COUNT // 2)]


def test_batches_that_the_worker_keeps() -> None:
    class Keeps:
        def __init__(self) -> None:
            self.batches: list[Any] = []

        def __call__(self, samples: list[Any]) -> Any:
            self.batches.append(jaxtorch.utils.data.default_collate(samples)[0])
            return self.batches[-1], [of_one_value(x + 0) for x in self.batches]

    for i, (_, kept) in enumerate(loader(jaxtorch, numbers(jaxtorch), num_workers=1, collate_fn=Keeps())):
        assert kept == [[2.0 * n, 2.0 * n + 1] for n in range(i + 1)]


def test_one_memory_twice() -> None:
    def twice(samples: list[Any]) -> Any:
        x = jaxtorch.utils.data.default_collate(samples)[0]
        return x, x, x.numpy(), np.full((8, 8), of_one_value(x)[0]), np.full((8, 8), of_one_value(x)[1])

    held = list(loader(jaxtorch, numbers(jaxtorch), collate_fn=twice))
    for i, (x, again, array, first, second) in enumerate(held):
        expected = [2.0 * i, 2.0 * i + 1]
        assert of_one_value(x) == of_one_value(again) == of_one_value(array) == expected
        assert (first == expected[0]).all()
        assert (second == expected[1]).all()


def test_a_fork_keeps_what_it_sees() -> None:
    """A worker of another loader reads a batch that this process lets go of meanwhile."""
    first = iter(loader(jaxtorch, numbers(jaxtorch), num_workers=1, prefetch_factor=2))
    batch = next(first)[0]

    class Of:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __len__(self) -> int:
            return COUNT

        def __getitem__(self, i: int) -> Any:
            return self.tensor + 0

    dataset = Of(batch)
    other = iter(loader(jaxtorch, dataset, num_workers=1, batch_size=1, prefetch_factor=1))
    assert of_one_value(next(other)[0]) == [0, 1]
    dataset.tensor = None
    del batch
    for _ in range(COUNT // 2 - 1):
        next(first)
    for x in other:
        assert of_one_value(x[0]) == [0, 1]


def test_both_sides_of_a_block() -> None:
    lent, borrowed = blocks.Lent(), blocks.Borrowed()

    def passed(value: int) -> tuple[Any, int | None]:
        block = lent.holding(np.full(100, value, np.uint8))
        new = None if block.descriptor is None else os.dup(block.descriptor)
        borrowed.dropped(lent.dropped())
        data = borrowed.arrived(block.number, 100, new)
        lent.sent([block])
        return data, block.number

    a, first = passed(1)
    b, second = passed(2)
    assert (first, second) == (0, 1)
    lent.came_back(*borrowed.news())
    c, third = passed(3)
    assert third == 2, "the others are held"
    assert (a[0], b[0], c[0]) == (1, 2, 3)
    view = a[3:5]
    del a, b
    lent.came_back(*borrowed.news())
    assert passed(4)[1] == second, "a view of the first is held"
    blocks._before_fork()
    del view
    free, forgotten = borrowed.news()
    assert forgotten == [first, third]
    lent.came_back(free, forgotten)
    assert passed(5)[1] == second
    assert c[0] == 3
