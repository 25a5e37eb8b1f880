"""`torch.distributed._tensor`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent
from ..tensor.placement_types import Partial, Placement, Replicate, Shard  # noqa: F401

globals().update(
    _absent(
        __name__,
        "DTensor  DeviceMesh distribute_tensor distribute_module",
        "jaxtorch has process groups of one process only; for several devices use jax.sharding",
    )
)
