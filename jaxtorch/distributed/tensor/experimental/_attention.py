"""`torch.distributed.tensor.experimental._attention`: names that libraries import; using one raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "set_rotate_method",
        "jaxtorch has no distributed tensors; for several devices use jax.sharding",
    )
)
