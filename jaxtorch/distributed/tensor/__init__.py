"""`torch.distributed.tensor`: names that libraries import; using one raises NotImplementedError."""

from __future__ import annotations

from ..._absent import absent as _absent
from .placement_types import Partial, Placement, Replicate, Shard  # noqa: F401

_REASON = "jaxtorch has no distributed tensors; for several devices use jax.sharding"
globals().update(
    _absent(
        __name__,
        "DTensor distribute_tensor distribute_module ones empty full rand randn zeros",
        _REASON,
    )
)
