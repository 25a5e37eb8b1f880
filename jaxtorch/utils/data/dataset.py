"""Datasets: map-style, iterable, and the ones made of other datasets."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from abc import ABCMeta
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from . import _engine

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """Maps keys to samples through `__getitem__`; `__len__` and `__getitems__(keys)` are optional."""

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class _RequiresIter(ABCMeta):
    """Refuses to instantiate a class without `__iter__`, with the message of an abstract class."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if getattr(cls, "__iter__", None) is None:
            raise TypeError(f"Can't instantiate abstract class {cls.__name__} with abstract method __iter__")
        return super().__call__(*args, **kwargs)


class IterableDataset(Dataset[T_co], Iterable[T_co], metaclass=_RequiresIter):
    """A stream of samples: subclasses implement `__iter__`. Each worker iterates over its own copy."""

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[_engine.Tensor, ...]]):
    """Rows of tensors with the same first dimension: sample `i` is `(t[i] for t in tensors)`."""

    tensors: tuple[_engine.Tensor, ...]

    def __init__(self, *tensors: _engine.Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[_engine.Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Zips datasets of one length: samples are tuples (positional arguments) or dicts (keywords)."""

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        members = list(args or kwargs.values())
        self._length = len(members[0])
        if any(len(member) != self._length for member in members):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = [_fetch_column(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        columns = [_fetch_column(dataset, indices) for dataset in self.datasets]
        return list(zip(*columns, strict=True))

    def __len__(self) -> int:
        return self._length


def _fetch_column(dataset: Any, indices: list[Any]) -> list[Any]:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class ConcatDataset(Dataset[T_co]):
    """Datasets one after another."""

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Running totals of the lengths."""
        return list(itertools.accumulate(len(member) for member in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        member = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[member - 1] if member else 0
        return self.datasets[member][idx - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of `cumulative_sizes`."""
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after another."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        super().__init__()
        self.datasets = datasets

    def _members(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._members():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._members())


class Subset(Dataset[T_co]):
    """The samples of `dataset` at `indices`."""

    dataset: Any
    indices: Sequence[Any]

    def __init__(self, dataset: Any, indices: Sequence[Any]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset[T], lengths: Sequence[int | float], generator: Any = None) -> list[Subset[T]]:
    """Splits a dataset at random into parts of the given lengths, or fractions that sum to 1.

    The permutation is PyTorch's for the same generator state. ValueError when the lengths do not add up.
    """
    sizes: list[Any] = list(lengths)
    count = len(dataset)  # pyright: ignore[reportArgumentType]
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        sizes = _sizes_of_fractions(count, sizes)
    if sum(sizes) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    if generator is None:
        generator = _engine.default_generator()
    order = _engine.randperm(sum(sizes), generator)
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def _sizes_of_fractions(total: int, fractions: list[float]) -> list[int]:
    for position, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {position} is not between 0 and 1")
    sizes = [math.floor(total * fraction) for fraction in fractions]
    for extra in range(total - sum(sizes)):
        sizes[extra % len(sizes)] += 1
    for position, size in enumerate(sizes):
        if size == 0:
            warnings.warn(
                f"Length of split at index {position} is 0. This might result in an empty dataset.",
                stacklevel=3,
            )
    return sizes
