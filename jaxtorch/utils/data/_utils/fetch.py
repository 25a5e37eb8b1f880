"""Fetchers: from the indices of one task to a collated batch, in the main process and in workers alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any

import numpy as np

from .. import _engine
from ..dataset import Subset, TensorDataset
from . import copying, transport
from .collate import default_collate

__all__ = ["IterableFetcher", "MapFetcher", "create_fetcher"]


class _Fetcher:
    """computes: has a sample or a batch been seen to be computed with tensors?

    beside: are samples made beside one another, so that they are the batch? Not where that has not helped, or where some are kept.
    """

    computes = False
    beside = True
    auto_collation: bool
    _last: Sequence[Any] = ()

    def alone(self, prepare: Callable[..., Any], *args: Any) -> Any:
        """`prepare(*args)`, which makes a sample or a batch; what it records runs now, as a program of its own.

        Otherwise each sample's normalisation would be part of the training step's program, which would be another for each
        size of batch, and for each turn that a random transformation takes.
        """
        if self.computes:
            _engine.run_recorded()
        mark = _engine.recorded()
        made = prepare(*args)
        if _engine.recorded() != mark:
            self.computes = True
            _engine.run_as_data()
        return made

    def fetch(self, index: Any) -> Any:
        """The collated samples of a task; `index` is a list of their keys, or one key without automatic batching."""
        if self.beside and any(row() is not None for row in self._last):
            self.beside = False
        if not (self.beside and self.auto_collation and type(index) is list) or transport.in_worker():
            return self._fetch(index)
        batch = _engine.sample_memory.Batch(len(index), transport.allocate)
        with _engine.sample_memory.making(batch):
            made = self._fetch(index)
        self.beside = batch.used or not batch.made_any()
        self._last = batch.left()
        return made

    def _fetch(self, index: Any) -> Any:
        raise NotImplementedError


class MapFetcher(_Fetcher):
    """Batches of a map-style dataset."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def _fetch(self, index: Any) -> Any:
        dataset, alone = self.dataset, self.alone
        if not self.auto_collation:
            return alone(self.collate_fn, alone(getitem, dataset, index))
        if self.collate_fn is default_collate:
            batch = _gather_rows(dataset, index)
            if batch is not None:
                return batch
        if getattr(dataset, "__getitems__", None):
            return alone(self.collate_fn, alone(dataset.__getitems__, index))
        return alone(self.collate_fn, [alone(getitem, dataset, i) for i in index])


class IterableFetcher(_Fetcher):
    """Batches of an iterable dataset; the index only says how many samples to take."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.samples = iter(dataset)
        self.ended = False

    def _fetch(self, index: Any) -> Any:
        """The next batch, whatever the keys are; StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.alone(self.collate_fn, self.alone(next, self.samples))
        batch = []
        for _ in index:
            try:
                batch.append(self.alone(next, self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self.alone(self.collate_fn, batch)


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
