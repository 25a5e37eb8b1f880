"""The DataLoader: checks its arguments, and iterates in this process or with workers."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from ..._utils import ExceptionWrapper as ExceptionWrapper
from . import _engine, _utils  # noqa: F401
from ._iterators import _BaseDataLoaderIter, _DatasetKind, _SingleProcessDataLoaderIter
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
_T = TypeVar("_T")
_collate_fn_t = Callable[[list[_T]], Any]
_worker_init_fn_t = Callable[[int], None]

_FROZEN_ATTRIBUTES = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class _InfiniteConstantSampler(Sampler[None]):
    """The index sampler of an iterable dataset: None for ever."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _get_distributed_settings() -> tuple[int, int]:
    """The number of processes, and the one that this is."""
    dist = sys.modules.get(f"{__name__.partition('.')[0]}.distributed")
    return (dist.get_world_size(), dist.get_rank()) if dist is not None and dist.is_initialized() else (1, 0)


def _sharding_worker_init_fn(worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int) -> None:
    """In a worker of a loader of another package: call the function that the program gave. There are no DataPipes to divide."""
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


def _check_batching(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    """ValueError for options of workers that are out of range, or given without workers."""
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches, with PyTorch's arguments, errors, order and random draws.

    Worker processes are forked by default on Linux. A forked worker cannot run JAX: operations on tensors in
    the dataset run on NumPy there, or raise an error naming the operation; `multiprocessing_context="spawn"`
    lifts that limit for a picklable dataset. `pin_memory` is accepted and has no effect.
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    batch_sampler: Any
    prefetch_factor: int | None
    _iterator: Any = None
    __initialized: bool = False  # subclasses that exchange the sampler lift the ban under this name

    def __init__(
        self,
        dataset: Dataset[T_co] | Sequence[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: _collate_fn_t[Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: _worker_init_fn_t | None = None,
        multiprocessing_context: BaseContext | str | None = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            _refuse_for_iterable("shuffle", shuffle, bool(shuffle) or shuffle not in (False, None))
            _refuse_for_iterable("sampler", sampler, sampler is not None)
            _refuse_for_iterable("batch_sampler", batch_sampler, batch_sampler is not None)
        else:
            self._dataset_kind = _DatasetKind.Map
            shuffle = bool(shuffle)
        _check_batching(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # pyright: ignore[reportArgumentType]
            else:
                sampler = SequentialSampler(dataset)  # pyright: ignore[reportArgumentType]
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self.__initialized = True
        if pin_memory and pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,"
                f"ignore pin_memory_device='{pin_memory_device}'.",
                stacklevel=2,
            )
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The context that workers are started with; None for the default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: BaseContext | str | None) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                    f"but got num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                        f"but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying "
                    f"the start method, but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FROZEN_ATTRIBUTES:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _with_workers()(self)

    def __iter__(self) -> Any:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        """Batches in an epoch; TypeError when the dataset or the sampler has no length.

        For an iterable dataset this is its `__len__` over the batch size: an estimate with several workers.
        """
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warns when there are more workers than processors."""
        if not self.num_workers:
            return
        if hasattr(os, "sched_getaffinity"):
            processors: int | None = len(os.sched_getaffinity(0))
        else:
            processors = os.cpu_count()
        if processors is None:
            suggestion = "DataLoader is not able to compute a suggested max number of worker in current system."
        elif self.num_workers > processors:
            suggestion = (
                f"Our suggested max number of worker in current system is {processors}, which is smaller "
                "than what this DataLoader is going to create."
            )
        else:
            return
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} Please "
            "be aware that excessive worker creation might get DataLoader running slow or even freeze, lower "
            "the worker number to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


def _refuse_for_iterable(option: str, value: Any, given: bool) -> None:
    if given:
        raise ValueError(
            f"DataLoader with IterableDataset: expected unspecified {option} option, but got {option}={value}"
        )


def _with_workers() -> Any:
    """The iterator with workers."""
    from ._multiprocess import _MultiProcessingDataLoaderIter  # with what it needs as large as all the rest

    return _MultiProcessingDataLoaderIter


def __getattr__(name: str) -> Any:
    """The iterator with workers, which libraries look for here; it is in the module that few programs need."""
    if name == "_MultiProcessingDataLoaderIter":
        return _with_workers()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
