"""`torch.distributed.tensor.experimental`: names that libraries import; using one raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "context_parallel implicit_replication",
        "jaxtorch has process groups of one process only; for several devices use jax.sharding",
    )
)
