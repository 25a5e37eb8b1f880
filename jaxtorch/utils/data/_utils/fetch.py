"""Fetchers: from the indices of one task to a collated batch, in the main process and in workers alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _engine
from ..dataset import Subset, TensorDataset
from . import copying, transport
from .collate import default_collate

__all__ = ["IterableFetcher", "MapFetcher", "create_fetcher"]


class MapFetcher:
    """Batches of a map-style dataset."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """The collated samples at `index`, a list of keys (or one key without automatic batching)."""
        dataset = self.dataset
        if not self.auto_collation:
            return self.collate_fn(dataset[index])
        if self.collate_fn is default_collate:
            batch = _gather_rows(dataset, index)
            if batch is not None:
                return batch
        if getattr(dataset, "__getitems__", None):
            return self.collate_fn(dataset.__getitems__(index))
        return self.collate_fn([dataset[i] for i in index])


class IterableFetcher:
    """Batches of an iterable dataset; the index only says how many samples to take."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.samples = iter(dataset)
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch; StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = []
        for _ in index:
            try:
                batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self.collate_fn(batch)


def create_fetcher(
    iterable: bool, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
) -> MapFetcher | IterableFetcher:
    """The fetcher for a dataset of this kind."""
    if iterable:
        return IterableFetcher(dataset, auto_collation, collate_fn, drop_last)
    return MapFetcher(dataset, auto_collation, collate_fn)


def _gather_rows(dataset: Any, index: Any) -> list[Any] | None:
    """The batch of a plain TensorDataset in one gather a tensor, or None where the general path is needed.

    Equal to collating `dataset[i]` for each `i`. Only for the exact classes: subclasses may differ.
    """
    while type(dataset) is Subset:
        indices = dataset.indices
        try:
            index = [indices[i] for i in index]
        except (TypeError, IndexError):
            return None
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or type(index) is not list or not dataset.tensors or not index:
        return None
    arrays = []
    for value in dataset.tensors:
        array = _engine.plain_host_array(value)
        if array is None or array.ndim == 0:
            return None
        arrays.append(array)
    size = min(len(array) for array in arrays)
    if not all(type(i) is int and -size <= i < size for i in index):
        return None
    rows = np.array(index, dtype=np.intp)
    batch = []
    for array in arrays:
        out = transport.allocate((len(index), *array.shape[1:]), array.dtype)
        copying.take(array, rows, out)
        batch.append(_engine.from_host(out))
    return batch
