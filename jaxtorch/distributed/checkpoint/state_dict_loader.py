"""`torch.distributed.checkpoint.state_dict_loader`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "load _load_state_dict",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
