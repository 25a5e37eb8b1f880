"""`torch.distributed.launcher`."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "LaunchConfig elastic_launch launch_agent",
        "python -m jaxtorch -m torch.distributed.run starts processes",
    )
)
