"""`torch.nn.parallel.comm`: tensors of several GPUs. Models run on one device here, so nothing is spread over others."""

from ..._private_names.absent import absent as _absent

_functions = _absent(
    __name__,
    "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter",
    "models run on one device; torch.nn.parallel.scatter and gather put parts of a batch on devices",
)
globals().update(_functions)
