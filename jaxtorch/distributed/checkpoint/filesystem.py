"""`torch.distributed.checkpoint.filesystem`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "FileSystemReader FileSystemWriter",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
