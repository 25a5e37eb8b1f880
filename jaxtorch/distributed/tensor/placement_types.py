"""How a tensor lies on the devices of a mesh: descriptions. jaxtorch places no tensors by them (see `jax.sharding`)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Is it cut, along `dim` where that is given?"""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Has every device all of it?"""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Has every device a summand of it?"""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension of the tensor."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """The length of the piece that device `rank` of `num_chunks` has of this length, and where it begins."""
        whole = -(-curr_local_size // num_chunks)
        begin = min(whole * rank, curr_local_size)
        return min(whole, curr_local_size - begin), begin

    def _local_shard_size_and_offset(self, curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        return self.local_shard_size_and_offset(curr_local_size, num_chunks, rank)


@dataclass(frozen=True)
class Replicate(Placement):
    """All of it on every device."""


@dataclass(frozen=True)
class Partial(Placement):
    """What the devices hold has yet to be reduced."""

    reduce_op: str = "sum"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Cut along a dimension that is cut on another dimension of the mesh too."""

    split_factor: int = 1
