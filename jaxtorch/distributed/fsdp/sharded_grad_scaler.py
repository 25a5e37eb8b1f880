"""`torch.distributed.fsdp.sharded_grad_scaler`: names that libraries import; using one raises NotImplementedError."""

from __future__ import annotations

from ..._absent import absent as _absent

_REASON = "jaxtorch has no sharded models; DistributedDataParallel averages gradients, and jax.sharding is for several devices"
globals().update(
    _absent(
        __name__,
        "ShardedGradScaler",
        _REASON,
    )
)
