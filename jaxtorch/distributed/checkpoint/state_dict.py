"""`torch.distributed.checkpoint.state_dict`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "StateDictOptions get_model_state_dict set_model_state_dict get_optimizer_state_dict "
        "set_optimizer_state_dict get_state_dict set_state_dict",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
