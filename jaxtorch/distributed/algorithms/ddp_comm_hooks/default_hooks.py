"""`torch.distributed.algorithms.ddp_comm_hooks.default_hooks`: names that libraries import; using one raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "allreduce_hook fp16_compress_hook bf16_compress_hook fp16_compress_wrapper bf16_compress_wrapper",
        "jaxtorch has process groups of one process only; for several devices use jax.sharding",
    )
)
