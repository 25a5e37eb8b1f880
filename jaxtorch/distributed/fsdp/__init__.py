"""`torch.distributed.fsdp`: names that libraries import; using one raises NotImplementedError."""

from __future__ import annotations

from ..._absent import absent as _absent

_REASON = "jaxtorch has no sharded models; DistributedDataParallel averages gradients, and jax.sharding is for several devices"
globals().update(
    _absent(
        __name__,
        "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel "
        "LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision OptimStateDictConfig "
        "OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy "
        "StateDictConfig StateDictSettings StateDictType CPUOffloadPolicy FSDPModule fully_shard "
        "MixedPrecisionPolicy OffloadPolicy register_fsdp_forward_method UnshardHandle",
        _REASON,
    )
)
