"""`torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook`: names that libraries import; using one raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "PowerSGDState powerSGD_hook batched_powerSGD_hook",
        "DistributedDataParallel has the hooks of default_hooks",
    )
)
