"""`torch.distributed.optim`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer",
        "jaxtorch has process groups of one process only; for several devices use jax.sharding",
    )
)
