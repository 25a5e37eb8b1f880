"""`torch.distributed._functional_collectives`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "all_reduce all_gather_tensor all_to_all_single all_to_all_single_autograd reduce_scatter_tensor "
        "broadcast wait_tensor AsyncCollectiveTensor",
        "use the collectives of torch.distributed, or of torch.distributed.nn.functional",
    )
)
