"""`torch.distributed.checkpoint.storage`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "StorageReader StorageWriter WriteResult",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
