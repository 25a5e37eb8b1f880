"""`torch.distributed.checkpoint`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "FileSystemReader FileSystemWriter save load async_save save_state_dict load_state_dict",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
