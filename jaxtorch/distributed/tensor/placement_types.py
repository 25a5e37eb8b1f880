"""How a tensor lies on the devices of a mesh: descriptions. jaxtorch places no tensors by them (see `jax.sharding`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._absent import absent_class as _absent_class

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


DTensorSpec: Any = _absent_class(
    "torch.distributed.tensor.placement_types.DTensorSpec", "jaxtorch has no distributed tensors"
)
