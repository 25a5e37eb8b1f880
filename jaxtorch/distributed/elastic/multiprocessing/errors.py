"""`torch.distributed.elastic.multiprocessing.errors`: names that libraries import; using one raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "ChildFailedError record",
        "jaxtorch has process groups of one process only; for several devices use jax.sharding",
    )
)
