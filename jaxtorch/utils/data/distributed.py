"""The sampler that deals a dataset out to the processes of a group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

from . import _engine
from .sampler import Sampler

__all__ = ["DistributedSampler"]

T_co = TypeVar("T_co", covariant=True)


class DistributedSampler(Sampler[T_co]):
    """Every `num_replicas`-th index, beginning at `rank`; the order is shuffled from `seed + epoch`.

    The list is padded from its beginning to a multiple of `num_replicas`, or cut to one with `drop_last`.
    Without `num_replicas` and `rank` they come from the default process group; ValueError when there is none.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            group = _engine.process_group()
            if group is None:
                raise ValueError(
                    "Default process group has not been initialized, please make sure to call init_process_group."
                )
            num_replicas = group.get_world_size() if num_replicas is None else num_replicas
            rank = group.get_rank() if rank is None else rank
        assert num_replicas is not None and rank is not None
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[T_co]:
        size = len(self.dataset)
        if self.shuffle:
            indices = _engine.randperm(size, _engine.seeded_generator(self.seed + self.epoch))
        else:
            indices = list(range(size))
        if not self.drop_last and indices:
            repeats = math.ceil(self.total_size / len(indices))
            indices = indices * repeats
        indices = indices[: self.total_size]
        if len(indices) != self.total_size:
            raise AssertionError(f"Number of indices ({len(indices)}) does not match total_size ({self.total_size})")
        return iter(indices[self.rank : self.total_size : self.num_replicas])  # pyright: ignore[reportReturnType]

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Chooses another shuffle, the same on all processes."""
        self.epoch = epoch
