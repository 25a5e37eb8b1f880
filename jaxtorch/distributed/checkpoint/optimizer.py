"""`torch.distributed.checkpoint.optimizer`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "load_sharded_optimizer_state_dict",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
