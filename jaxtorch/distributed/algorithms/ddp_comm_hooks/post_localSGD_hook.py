"""`torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook`: importable; using it raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "PostLocalSGDState post_localSGD_hook",
        "DistributedDataParallel has the hooks of default_hooks",
    )
)
