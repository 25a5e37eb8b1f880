"""`torch.distributed.tensor.parallel`: names that libraries import; using one raises NotImplementedError."""

from __future__ import annotations

from ..._absent import absent as _absent

_REASON = "jaxtorch has no distributed tensors; for several devices use jax.sharding"
globals().update(
    _absent(
        __name__,
        "ColwiseParallel RowwiseParallel SequenceParallel PrepareModuleInput PrepareModuleOutput "
        "ParallelStyle parallelize_module loss_parallel",
        _REASON,
    )
)
