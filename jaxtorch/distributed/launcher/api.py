"""`torch.distributed.launcher.api`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "LaunchConfig elastic_launch",
        "use torch.distributed.run, or torch.multiprocessing.spawn",
    )
)
