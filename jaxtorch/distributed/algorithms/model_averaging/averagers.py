"""`torch.distributed.algorithms.model_averaging.averagers`: names that libraries import; using one raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "ModelAverager PeriodicModelAverager",
        "DistributedDataParallel has the hooks of default_hooks",
    )
)
