"""`torch.distributed.fsdp`: the settings of sharded models; what would shard one raises NotImplementedError."""

from __future__ import annotations

from ..._absent import absent as _absent
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

__all__ = ["BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
           "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "ShardedOptimStateDictConfig",
           "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType"]  # fmt: skip

_REASON = "jaxtorch has no sharded models; DistributedDataParallel averages gradients, and jax.sharding is for several devices"
globals().update(
    _absent(
        __name__,
        "FullyShardedDataParallel OptimStateKeyType CPUOffloadPolicy FSDPModule fully_shard "
        "MixedPrecisionPolicy OffloadPolicy register_fsdp_forward_method UnshardHandle",
        _REASON,
    )
)
