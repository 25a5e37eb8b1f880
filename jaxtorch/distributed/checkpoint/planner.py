"""`torch.distributed.checkpoint.planner`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "BytesIOWriteData LoadItemType LoadPlan LoadPlanner ReadItem SavePlan SavePlanner TensorWriteData WriteItem WriteItemType",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
