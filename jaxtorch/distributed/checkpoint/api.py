"""`torch.distributed.checkpoint.api`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "CheckpointException",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
