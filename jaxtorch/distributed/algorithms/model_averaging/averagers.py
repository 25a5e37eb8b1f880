"""`torch.distributed.algorithms.model_averaging.averagers`: names that libraries import; using one raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "ModelAverager PeriodicModelAverager",
        "jaxtorch has process groups of one process only; for several devices use jax.sharding",
    )
)
