"""`torch.distributed.fsdp.wrap`: names that libraries import; using one raises NotImplementedError."""

from __future__ import annotations

from ..._absent import absent as _absent

_REASON = "jaxtorch has no sharded models; DistributedDataParallel averages gradients, and jax.sharding is for several devices"
globals().update(
    _absent(
        __name__,
        "ModuleWrapPolicy CustomPolicy enable_wrap wrap always_wrap_policy lambda_auto_wrap_policy "
        "size_based_auto_wrap_policy transformer_auto_wrap_policy",
        _REASON,
    )
)
