"""`torch.distributed.utils`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "_sync_module_states _verify_param_shape_across_processes",
        "use the collectives of torch.distributed, or of torch.distributed.nn.functional",
    )
)
