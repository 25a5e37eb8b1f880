"""Passes over a DataLoader: what those in this process and those with workers share, and the former."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from . import _engine
from ._utils.fetch import create_fetcher

if TYPE_CHECKING:
    from .dataloader import DataLoader


class _DatasetKind:
    """The two kinds of datasets."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """What fetches the samples of a batch: its `fetch` takes the indices."""
        return create_fetcher(kind == _DatasetKind.Iterable, dataset, auto_collation, collate_fn, drop_last)


class _BaseDataLoaderIter:
    """One pass over a loader: the sampler's state, the base seed, and the count of batches."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        if loader.pin_memory and not _engine.has_accelerator():
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used.",
                stacklevel=4,
            )
        self._num_workers = loader.num_workers
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = _engine.draw_seed(loader.generator)
        self._num_yielded = 0

    def _reset(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._len_called = loader._IterableDataset_len_called

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        if self._len_called is not None and self._num_yielded > self._len_called:
            self._warn_length()
        return data

    def _warn_length(self) -> None:
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._len_called}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Fetches in this process."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._fetcher = create_fetcher(
            self._dataset_kind == _DatasetKind.Iterable,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._sampler_iter))


for _kind in (_DatasetKind, _BaseDataLoaderIter, _SingleProcessDataLoaderIter):
    _kind.__module__ = "jaxtorch.utils.data.dataloader"
