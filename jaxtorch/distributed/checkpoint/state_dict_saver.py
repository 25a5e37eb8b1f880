"""`torch.distributed.checkpoint.state_dict_saver`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "async_save save save_state_dict",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
