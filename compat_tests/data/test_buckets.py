"""`jaxtorch.interop.PadToBuckets`: batches of many lengths in few shapes."""

from __future__ import annotations

import pytest

import jaxtorch as torch
from jaxtorch.interop import PadToBuckets
from jaxtorch.nn.utils.rnn import pad_sequence
from jaxtorch.utils.data import DataLoader


def rows() -> list[torch.Tensor]:
    return [torch.arange(n + 1) for n in range(1, 13)]


def together(samples):
    inputs = pad_sequence([s[:-1] for s in samples], batch_first=True)
    targets = pad_sequence([s[1:] for s in samples], batch_first=True, padding_value=-100)
    return {"inputs": inputs, "targets": targets, "n": len(samples)}


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_take_the_sizes_of_buckets(workers: int):
    collate = PadToBuckets([4, 8, 16], value=[0, -100], collate_fn=together)
    batches = list(DataLoader(rows(), batch_size=2, collate_fn=collate, num_workers=workers))
    assert [tuple(b["inputs"].shape) for b in batches] == [(2, 4), (2, 4), (2, 8), (2, 8), (2, 16), (2, 16)]
    assert batches[0]["targets"].tolist() == [[1, -100, -100, -100], [1, 2, -100, -100]]
    assert batches[0]["inputs"].tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]] and batches[0]["n"] == 2


def test_the_batch_dimension_and_tensors_without_it():
    collate = PadToBuckets([4], dim=0, value=9)
    x, y = collate([(torch.ones(2), 1), (torch.ones(2), 2), (torch.ones(2), 3)])
    assert x.tolist() == [[1, 1], [1, 1], [1, 1], [9, 9]] and y.tolist() == [1, 2, 3, 9]
    assert PadToBuckets([4])([1.0, 2.0]).tolist() == [1.0, 2.0]


def test_errors_name_the_sizes():
    with pytest.raises(ValueError, match="size 5 in dimension 0, larger than the largest bucket 4"):
        PadToBuckets([2, 4], dim=0)([1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match="growing order"):
        PadToBuckets([4, 2])
    with pytest.raises(ValueError, match="negative"):
        PadToBuckets([4], dim=-1)
