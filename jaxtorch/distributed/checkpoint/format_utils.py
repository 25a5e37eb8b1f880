"""`torch.distributed.checkpoint.format_utils`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "_EmptyStateDictLoadPlanner _load_state_dict dcp_to_torch_save torch_save_to_dcp",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
