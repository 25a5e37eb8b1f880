"""Big batches, which several threads copy together, against PyTorch's."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
import jaxtorch.utils.data
from jaxtorch.utils.data._utils import copying, transport


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets small batches be copied in parts, by three threads; the threads that were used are listed."""
    used: list[int] = []
    threads = jaxtorch.get_num_threads()
    in_parts = copying._in_parts

    def spied(count: int, size: int, work: Any) -> None:
        def noted(first: int, end: int) -> None:
            used.append(threading.get_ident())
            work(first, end)

        in_parts(count, size, noted)

    monkeypatch.setattr(copying, "PARALLEL_MINIMUM", 0)
    monkeypatch.setattr(copying, "_in_parts", spied)
    jaxtorch.set_num_threads(3)
    yield used
    jaxtorch.set_num_threads(threads)


def batches(module: Any, samples: np.ndarray, size: int, rows: bool) -> list[Any]:
    values = module.tensor(samples)
    dataset = module.utils.data.TensorDataset(values) if rows else [samples[i] for i in range(len(samples))]
    loader = module.utils.data.DataLoader(dataset, batch_size=size)
    return [(batch[0] if rows else batch).tolist() for batch in loader]


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("shape", [(7, 3), (7, 2, 3), (7, 1, 2, 2), (1, 3), (7, 0), (7, 3, 0)])
def test_parts(parts: list[int], rows: bool, shape: tuple[int, ...]) -> None:
    samples = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert batches(jaxtorch, samples, 5, rows) == batches(torch, samples, 5, rows)
    assert len(parts) == (3 + 2 if shape[0] == 7 else 1)


def test_negative_rows(parts: list[int]) -> None:
    def run(module: Any) -> list[Any]:
        data = module.utils.data
        dataset = data.Subset(data.TensorDataset(module.tensor(np.arange(12.0).reshape(6, 2))), [-1, 2, -6, 5])
        return [x.tolist() for (x,) in data.DataLoader(dataset, batch_size=4)]

    assert run(jaxtorch) == run(torch)
    assert len(parts) == 3


def test_unequal(parts: list[int]) -> None:
    arrays = [np.zeros((2, 2)), np.zeros((2, 3))]
    for module in (torch, jaxtorch):
        with pytest.raises(RuntimeError, match=r"got \[2, 2\] at entry 0 and \[2, 3\] at entry 1"):
            next(iter(module.utils.data.DataLoader(arrays, batch_size=2)))
    assert parts == []


def test_errors_of_other_threads(parts: list[int]) -> None:
    """An error in a part that another thread copies is raised here."""

    def work(first: int, end: int) -> None:
        if first:
            raise MemoryError("of a part")

    with pytest.raises(MemoryError, match="of a part"):
        copying._in_parts(6, 1, work)


def test_the_memory_of_batches_that_nobody_holds_is_used_again_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "KEPT_MINIMUM", 64)
    transport._kept.clear()
    data = jaxtorch.arange(320.0).reshape(40, 8)
    loader = jaxtorch.utils.data.DataLoader(jaxtorch.utils.data.TensorDataset(data), batch_size=4)
    held = [batch[0] for batch in loader]
    rows = [batch[0][1] for batch in loader]  # views hold their batch
    doubled = [batch[0].mul_(2).numpy() for batch in loader]
    assert jaxtorch.equal(jaxtorch.cat(held), data)
    assert jaxtorch.equal(jaxtorch.stack(rows), data[1::4])
    np.testing.assert_array_equal(np.concatenate(doubled), data.numpy() * 2)
    del held, rows, doubled
    places = {batch[0].data_ptr() for batch in loader}
    assert len(places) <= 3
    transport._kept.clear()
