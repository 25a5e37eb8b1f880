"""`torch.distributed.checkpoint.default_planner`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "DefaultLoadPlanner DefaultSavePlanner",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
