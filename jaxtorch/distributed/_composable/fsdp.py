"""`torch.distributed._composable.fsdp`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "fully_shard FSDPModule CPUOffloadPolicy MixedPrecisionPolicy OffloadPolicy UnshardHandle register_fsdp_forward_method",
        "jaxtorch has no sharded models; DistributedDataParallel averages gradients, and jax.sharding is for several devices",
    )
)
