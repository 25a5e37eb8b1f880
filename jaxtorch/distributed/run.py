"""`torch.distributed.run`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "main run get_args_parser",
        "jaxtorch has process groups of one process only; for several devices use jax.sharding",
    )
)
