"""`torch.distributed.utils`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "_sync_module_states _verify_param_shape_across_processes",
        "jaxtorch has process groups of one process only; for several devices use jax.sharding",
    )
)
